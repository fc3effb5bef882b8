/*
 * program_share.c - stores once what several streams do.
 *
 * The replicas of a job do the same ops, each with comms and events of its own:
 *
 *   stream 0   ops      work, record 0, wait 0, comm 0 ...
 *   stream 9   ops      as stream 0
 *              targets     -,       70,     70,     41 ...
 *
 * An op takes 24 bytes, a target 4. Replicas that are replayed side by side also read the same ops,
 * which then stay in the processor's caches.
 *
 * Invariant: an array of ops that several streams have does not change. A stream that gets one more
 * op first makes it its own.
 */
#include "sim/engine/program_private.h"

static OrrStream *stream_at(const OrrProgram *program, guint32 stream) {
  return &g_array_index(program->streams, OrrStream, stream);
}

static guint32 target_of(const OrrStream *stream, guint op) {
  return stream->targets ? stream->targets[op] : g_array_index(stream->ops, OrrOp, op).target;
}

guint32 orr_program_target(const OrrProgram *program, guint32 stream, guint op) {
  return target_of(stream_at(program, stream), op);
}

/* A routine belongs to one stream, so calls are never alike. */
static gboolean are_alike(const OrrOp *a, const OrrOp *b) {
  return a->kind == b->kind && a->kind != ORR_OP_CALL && a->label == b->label && a->tag == b->tag &&
         a->duration_s == b->duration_s;
}

static gboolean do_the_same(const OrrStream *a, const OrrStream *b) {
  if (a->ops->len != b->ops->len || a->ops->len == 0 || a->outer || b->outer) return FALSE;
  for (guint i = 0; i < a->ops->len; i++)
    if (!are_alike(&g_array_index(a->ops, OrrOp, i), &g_array_index(b->ops, OrrOp, i)))
      return FALSE;
  return TRUE;
}

static guint32 *targets_of(const OrrStream *stream) {
  guint32 *targets = g_new(guint32, stream->ops->len);
  for (guint i = 0; i < stream->ops->len; i++) targets[i] = target_of(stream, i);
  return targets;
}

void orr_program_share(OrrProgram *program, guint32 stream, guint32 like) {
  if (stream >= program->streams->len || like >= program->streams->len || stream == like) return;
  OrrStream *it = stream_at(program, stream), *other = stream_at(program, like);
  if (it->is_shared || !do_the_same(it, other)) return;
  it->targets = targets_of(it);
  g_array_unref(it->ops);
  it->ops = g_array_ref(other->ops);
  it->is_shared = other->is_shared = TRUE;
}

void orr_program_unshare(OrrStream *stream) {
  GArray *own = g_array_copy(stream->ops);
  for (guint i = 0; stream->targets && i < own->len; i++)
    g_array_index(own, OrrOp, i).target = stream->targets[i];
  g_clear_pointer(&stream->targets, g_free);
  g_array_unref(stream->ops);
  stream->ops = own;
  stream->is_shared = FALSE;
}

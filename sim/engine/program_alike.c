/*
 * program_alike.c - whether two programs replay alike, to the last bit: the same ops, joined in the
 * same order, over links that carry the same weights and bandwidths. Which links these are, and
 * what anything is called, does not matter.
 *
 * An engine has the kept links in the order of their numbers (executor.c, add_links), so two
 * programs are alike where the n-th kept link of one stands where the n-th of the other does.
 * Programs with faults, slow or lost lanes, or other paths from some date on are never alike.
 */
#include "sim/base/random.h"
#include "sim/engine/program_private.h"

#define AT(array, type, i) (&g_array_index((array), type, (i)))

/* The place of each link among those that are kept; newly allocated. */
static guint32 *ranks_of(const OrrProgram *program) {
  guint32 *ranks = g_new0(guint32, program->links->len + 1), n = 0;
  for (guint i = 0; i < program->links->len; i++) {
    ranks[i] = n;
    n += AT(program->links, OrrProgramLink, i)->stands_for > 0;
  }
  ranks[program->links->len] = n;
  return ranks;
}

static gboolean is_plain(const OrrProgram *program) {
  return program->sealed && program->faults->len + program->slowdowns->len + program->losses->len +
                                    program->epochs->len ==
                                0;
}

static guint64 hash_double(double value) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

guint64 orr_program_replay_hash(const OrrProgram *program) {
  g_autofree guint32 *ranks = ranks_of(program);
  guint64 hash = orr_random_hash3(program->streams->len, program->comms->len, program->labels->len);
  for (guint32 path = 0; path < orr_use_rows_n(&program->kept); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->kept, path, &n);
    for (guint i = 0; i < n; i++)
      hash = orr_random_hash3(hash, (guint64)path << 32 | ranks[uses[i].link], uses[i].weight);
  }
  for (guint i = 0; i < program->links->len; i++) {
    const OrrProgramLink *link = AT(program->links, OrrProgramLink, i);
    if (link->stands_for > 0) hash = orr_random_hash3(hash, hash_double(link->bandwidth), 1);
  }
  return hash;
}

static gboolean same_rows(const OrrProgram *a, const OrrProgram *b) {
  g_autofree guint32 *ranks_a = ranks_of(a), *ranks_b = ranks_of(b);
  gboolean same = ranks_a[a->links->len] == ranks_b[b->links->len] &&
                  orr_use_rows_n(&a->kept) == orr_use_rows_n(&b->kept);
  for (guint32 path = 0; same && path < orr_use_rows_n(&a->kept); path++) {
    guint n, n_b;
    const OrrLinkUse *uses = orr_use_rows_get(&a->kept, path, &n);
    const OrrLinkUse *uses_b = orr_use_rows_get(&b->kept, path, &n_b);
    same = n == n_b;
    for (guint i = 0; same && i < n; i++)
      same = ranks_a[uses[i].link] == ranks_b[uses_b[i].link] && uses[i].weight == uses_b[i].weight;
  }
  return same;
}

/* Of the kept links, in their order; there are as many. */
static gboolean same_bandwidths(const OrrProgram *a, const OrrProgram *b) {
  guint k = 0;
  for (guint i = 0; i < a->links->len; i++) {
    const OrrProgramLink *link = AT(a->links, OrrProgramLink, i);
    if (link->stands_for == 0) continue;
    while (AT(b->links, OrrProgramLink, k)->stands_for == 0) k++;
    if (AT(b->links, OrrProgramLink, k++)->bandwidth != link->bandwidth) return FALSE;
  }
  return TRUE;
}

static gboolean same_op(const OrrOp *x, guint32 target_x, const OrrOp *y, guint32 target_y) {
  return x->kind == y->kind && x->label == y->label && x->tag == y->tag &&
         x->duration_s == y->duration_s && target_x == target_y;
}

static gboolean same_stream(const OrrProgram *a, const OrrProgram *b, guint32 stream) {
  const OrrStream *x = AT(a->streams, OrrStream, stream), *y = AT(b->streams, OrrStream, stream);
  gboolean same = x->lane == y->lane && x->quiet == y->quiet && x->of_host == y->of_host &&
                  x->ops->len == y->ops->len;
  for (guint i = 0; same && i < x->ops->len; i++)
    same = same_op(AT(x->ops, OrrOp, i), orr_program_target(a, stream, i), AT(y->ops, OrrOp, i),
                   orr_program_target(b, stream, i));
  return same;
}

static gboolean same_routine(const OrrRoutine *a, const OrrRoutine *b) {
  gboolean same = a->stream == b->stream && a->helper == b->helper && a->n_ops == b->n_ops;
  for (guint i = 0; same && a->ops != b->ops && i < a->n_ops; i++)
    same = same_op(&a->ops[i], a->ops[i].target, &b->ops[i], b->ops[i].target);
  return same;
}

static gboolean same_streams(const OrrProgram *a, const OrrProgram *b) {
  gboolean same = a->streams->len == b->streams->len && a->routines->len == b->routines->len;
  for (guint i = 0; same && i < a->streams->len; i++) same = same_stream(a, b, i);
  for (guint i = 0; same && i < a->routines->len; i++)
    same = same_routine(orr_program_routine(a, i), orr_program_routine(b, i));
  return same;
}

static gboolean same_comms(const OrrProgram *a, const OrrProgram *b) {
  gboolean same = a->comms->len == b->comms->len && a->phases->len == b->phases->len;
  for (guint i = 0; same && i < a->comms->len; i++) {
    const OrrComm *x = AT(a->comms, OrrComm, i), *y = AT(b->comms, OrrComm, i);
    same = x->n_members == y->n_members && x->first_phase == y->first_phase &&
           x->n_phases == y->n_phases;
  }
  for (guint i = 0; same && i < a->phases->len; i++) {
    const OrrPhase *x = AT(a->phases, OrrPhase, i), *y = AT(b->phases, OrrPhase, i);
    same = x->latency_s == y->latency_s && x->bytes == y->bytes && x->path == y->path;
  }
  return same;
}

static gboolean same_interference(const OrrInterference *x, const OrrInterference *y) {
  return x->compute_by_comm == y->compute_by_comm && x->compute_by_copy == y->compute_by_copy &&
         x->comm_by_compute == y->comm_by_compute && x->comm_by_copy == y->comm_by_copy &&
         x->copy_by_compute == y->copy_by_compute && x->copy_by_comm == y->copy_by_comm;
}

static gboolean same_lanes(const OrrProgram *a, const OrrProgram *b) {
  gboolean same = a->lanes->len == b->lanes->len && a->labels->len == b->labels->len;
  for (guint i = 0; same && i < a->lanes->len; i++) {
    const OrrLane *x = AT(a->lanes, OrrLane, i), *y = AT(b->lanes, OrrLane, i);
    same =
        x->multiplicity == y->multiplicity && same_interference(&x->interference, &y->interference);
  }
  for (guint i = 0; same && i < a->labels->len; i++)
    same = AT(a->labels, OrrLabel, i)->fixed_share == AT(b->labels, OrrLabel, i)->fixed_share;
  return same;
}

static gboolean same_repeat(const OrrProgramRepeat *a, const OrrProgramRepeat *b) {
  return a->from == b->from && a->to == b->to && a->times == b->times;
}

gboolean orr_program_replay_alike(const OrrProgram *a, const OrrProgram *b) {
  return is_plain(a) && is_plain(b) && a->n_events == b->n_events &&
         a->uncontended == b->uncontended && same_repeat(&a->repeat, &b->repeat) &&
         same_rows(a, b) && same_bandwidths(a, b) && same_lanes(a, b) && same_comms(a, b) &&
         same_streams(a, b);
}

static gboolean same_memory(const GArray *a, const GArray *b) {
  return a->len == b->len &&
         (a->len == 0 ||
          memcmp(a->data, b->data, a->len * g_array_get_element_size((GArray *)a)) == 0);
}

void orr_program_share_built(OrrProgram *program, const OrrProgram *like) {
  if (program->comms != like->comms && same_memory(program->comms, like->comms)) {
    g_array_unref(program->comms);
    program->comms = g_array_ref(like->comms);
  }
  for (guint i = 0; i < MIN(program->routines->len, like->routines->len); i++) {
    OrrRoutine *routine = AT(program->routines, OrrRoutine, i);
    const OrrRoutine *other = orr_program_routine(like, i);
    if (routine->ops == other->ops || !same_routine(routine, other)) continue;
    g_rc_box_release(routine->ops);
    routine->ops = g_rc_box_acquire(other->ops);
  }
}

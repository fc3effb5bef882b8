/*
 * program.c - builds and queries a program.
 *
 * Building never fails: orr_program_seal reports errors (an index that does not exist, a comm
 * without its members), so that builders need no error paths.
 */
#include "sim/engine/program_private.h"

#define LINK(program, i) (&g_array_index((program)->links, OrrProgramLink, i))
#define STREAM(program, i) (&g_array_index((program)->streams, OrrStream, i))

/* Life */

void orr_use_rows_init(OrrUseRows *rows) {
  rows->starts = g_array_new(FALSE, FALSE, sizeof(guint32));
  rows->uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  orr_use_rows_end_row(rows);
}

void orr_use_rows_clear(OrrUseRows *rows) {
  g_clear_pointer(&rows->starts, g_array_unref);
  g_clear_pointer(&rows->uses, g_array_unref);
}

void orr_use_rows_end_row(OrrUseRows *rows) { g_array_append_val(rows->starts, rows->uses->len); }

static guint hash_label(gconstpointer key) {
  const OrrLabel *label = key;
  return g_str_hash(label->name) * 31 + g_str_hash(label->category);
}

static gboolean equal_labels(gconstpointer a, gconstpointer b) {
  const OrrLabel *x = a, *y = b;
  return g_str_equal(x->name, y->name) && g_str_equal(x->category, y->category);
}

static void clear_stream(gpointer data) {
  OrrStream *stream = data;
  g_array_unref(stream->ops);
  g_free(stream->targets);
  g_clear_pointer(&stream->outer, g_array_unref);
}

static void clear_routine(gpointer routine) { g_rc_box_release(((OrrRoutine *)routine)->ops); }

OrrProgram *orr_program_new(void) {
  OrrProgram *program = g_new0(OrrProgram, 1);
  program->names = g_string_chunk_new(4096);
  program->links = g_array_new(FALSE, FALSE, sizeof(OrrProgramLink));
  program->lanes = g_array_new(FALSE, FALSE, sizeof(OrrLane));
  program->streams = g_array_new(FALSE, FALSE, sizeof(OrrStream));
  g_array_set_clear_func(program->streams, clear_stream);
  program->labels = g_array_new(FALSE, FALSE, sizeof(OrrLabel));
  program->label_index = g_hash_table_new_full(hash_label, equal_labels, g_free, NULL);
  program->comms = g_array_new(FALSE, FALSE, sizeof(OrrComm));
  program->phases = g_array_new(FALSE, FALSE, sizeof(OrrPhase));
  program->newest = g_array_new(FALSE, TRUE, sizeof(guint32));
  program->routines = g_array_new(FALSE, FALSE, sizeof(OrrRoutine));
  g_array_set_clear_func(program->routines, clear_routine);
  program->faults = g_array_new(FALSE, FALSE, sizeof(OrrFault));
  program->slowdowns = g_array_new(FALSE, FALSE, sizeof(OrrSlowdown));
  program->losses = g_array_new(FALSE, FALSE, sizeof(OrrLoss));
  program->epochs = g_array_new(FALSE, FALSE, sizeof(OrrEpoch));
  program->reroutes = g_array_new(FALSE, FALSE, sizeof(OrrReroute));
  orr_use_rows_init(&program->paths);
  return program;
}

void orr_program_free(OrrProgram *program) {
  if (program == NULL) return;
  GArray *arrays[] = {program->links,     program->lanes,  program->streams, program->labels,
                      program->comms,     program->phases, program->newest,  program->faults,
                      program->slowdowns, program->losses, program->epochs,  program->reroutes,
                      program->routines};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++) g_array_unref(arrays[i]);
  orr_use_rows_clear(&program->paths);
  orr_use_rows_clear(&program->kept);
  g_free(program->seconds_a_byte);
  g_hash_table_unref(program->label_index);
  g_string_chunk_free(program->names);
  g_free(program);
}

/* Building */

static const char *keep_name(OrrProgram *program, const char *name) {
  return g_string_chunk_insert(program->names, name);
}

guint32 orr_program_link(OrrProgram *program, const char *name, double bandwidth_bytes_per_s) {
  ORR_APPEND(program->links, OrrProgramLink,
             {.name = keep_name(program, name), .bandwidth = bandwidth_bytes_per_s});
  return program->links->len - 1;
}

guint32 orr_program_link_named_by(OrrProgram *program, OrrLinkNamer namer, gconstpointer user,
                                  guint32 number, double bandwidth_bytes_per_s) {
  const OrrProgramLink link = {.number = number, .bandwidth = bandwidth_bytes_per_s};
  program->namer = namer;
  program->namer_user = user;
  g_array_append_val(program->links, link);
  return program->links->len - 1;
}

static void name_link(OrrProgram *program, OrrProgramLink *link) {
  g_autofree char *name = program->namer(program->namer_user, link->number);
  link->name = keep_name(program, name);
}

void orr_program_name_links(OrrProgram *program) {
  for (guint i = 0; i < program->links->len; i++)
    if (!LINK(program, i)->name) name_link(program, LINK(program, i));
}

guint32 orr_program_lane(OrrProgram *program, const char *name, guint32 multiplicity) {
  ORR_APPEND(program->lanes, OrrLane,
             {keep_name(program, name), multiplicity, orr_interference_none()});
  return program->lanes->len - 1;
}

guint32 orr_program_stream(OrrProgram *program, guint32 lane, const char *name) {
  ORR_APPEND(program->streams, OrrStream,
             {.name = g_string_chunk_insert_const(program->names, name),
              .lane = lane,
              .ops = g_array_new(FALSE, FALSE, sizeof(OrrOp))});
  return program->streams->len - 1;
}

guint32 orr_program_label(OrrProgram *program, const char *name, const char *category) {
  OrrLabel asked = {name, category, 0};
  gpointer found;
  if (g_hash_table_lookup_extended(program->label_index, &asked, NULL, &found))
    return GPOINTER_TO_UINT(found);
  OrrLabel label = {keep_name(program, name), keep_name(program, category), 0};
  guint32 index = program->labels->len;
  g_array_append_val(program->labels, label);
  g_hash_table_insert(program->label_index, g_memdup2(&label, sizeof label),
                      GUINT_TO_POINTER(index));
  return index;
}

guint32 orr_program_event(OrrProgram *program) { return program->n_events++; }

guint32 orr_program_path(OrrProgram *program, const OrrLinkUse *uses, guint n_uses) {
  if (n_uses > 0) g_array_append_vals(program->paths.uses, uses, n_uses);
  orr_use_rows_end_row(&program->paths);
  return orr_use_rows_n(&program->paths) - 1;
}

static gboolean are_equal(const OrrPhase *a, const OrrPhase *b, guint n) {
  for (guint i = 0; i < n; i++)
    if (a[i].latency_s != b[i].latency_s || a[i].bytes != b[i].bytes || a[i].path != b[i].path)
      return FALSE;
  return TRUE;
}

/* Where the program keeps @phases. A step makes the same comm for each micro-batch, so a comm takes
 * the phases of the comm that began with the same path before it, if they are equal. */
static guint32 keep_phases(OrrProgram *program, const OrrPhase *phases, guint n) {
  const guint32 end = program->phases->len, path = n > 0 ? phases[0].path : ORR_NO_PATH;
  if (path >= orr_use_rows_n(&program->paths)) {
    if (n > 0) g_array_append_vals(program->phases, phases, n);
    return end;
  }
  if (path >= program->newest->len) g_array_set_size(program->newest, path + 1);
  guint32 *newest = &g_array_index(program->newest, guint32, path);
  if (*newest > 0 && *newest - 1 + n <= end &&
      are_equal(&g_array_index(program->phases, OrrPhase, *newest - 1), phases, n))
    return *newest - 1;
  g_array_append_vals(program->phases, phases, n);
  *newest = end + 1;
  return end;
}

guint32 orr_program_comm(OrrProgram *program, guint32 n_members, const OrrPhase *phases,
                         guint n_phases) {
  const OrrComm comm = {n_members, keep_phases(program, phases, n_phases), n_phases};
  g_array_append_val(program->comms, comm);
  return program->comms->len - 1;
}

static void append_op(OrrProgram *program, guint32 stream, OrrOp op) {
  if (stream >= program->streams->len) {
    program->n_lost++;
    return;
  }
  OrrStream *it = STREAM(program, stream);
  if (it->is_shared) orr_program_unshare(it);
  g_array_append_val(it->ops, op);
}

void orr_program_work(OrrProgram *program, guint32 stream, double duration_s, guint32 label,
                      gint32 tag) {
  append_op(program, stream,
            (OrrOp){.duration_s = duration_s, .label = label, .tag = tag, .kind = ORR_OP_WORK});
}

void orr_program_join(OrrProgram *program, guint32 stream, guint32 comm, guint32 label,
                      gint32 tag) {
  append_op(program, stream,
            (OrrOp){.label = label, .target = comm, .tag = tag, .kind = ORR_OP_COMM});
}

void orr_program_record(OrrProgram *program, guint32 stream, guint32 event) {
  append_op(program, stream, (OrrOp){.target = event, .tag = -1, .kind = ORR_OP_RECORD});
}

void orr_program_wait(OrrProgram *program, guint32 stream, guint32 event) {
  append_op(program, stream, (OrrOp){.target = event, .tag = -1, .kind = ORR_OP_WAIT});
}

void orr_program_beside(OrrProgram *program, guint32 stream, guint32 comm, guint32 label,
                        gint32 tag) {
  append_op(program, stream,
            (OrrOp){.label = label, .target = comm, .tag = tag, .kind = ORR_OP_BESIDE});
}

void orr_program_meet(OrrProgram *program, guint32 stream) {
  append_op(program, stream, (OrrOp){.tag = -1, .kind = ORR_OP_MEET});
}

void orr_program_call(OrrProgram *program, guint32 stream, guint32 routine, guint32 label,
                      gint32 tag) {
  append_op(program, stream,
            (OrrOp){.label = label, .target = routine, .tag = tag, .kind = ORR_OP_CALL});
}

void orr_program_fault(OrrProgram *program, double at_s, guint32 link, double factor) {
  ORR_APPEND(program->faults, OrrFault, {at_s, link, factor});
}

void orr_program_interfere(OrrProgram *program, guint32 lane, const OrrInterference *factors) {
  if (lane < program->lanes->len)
    g_array_index(program->lanes, OrrLane, lane).interference = *factors;
  else
    program->n_lost++;
}

void orr_program_quiet_stream(OrrProgram *program, guint32 stream) {
  if (stream < program->streams->len)
    STREAM(program, stream)->quiet = TRUE;
  else
    program->n_lost++;
}

void orr_program_host_stream(OrrProgram *program, guint32 stream) {
  if (stream < program->streams->len)
    STREAM(program, stream)->of_host = TRUE;
  else
    program->n_lost++;
}

void orr_program_slow_lane(OrrProgram *program, double at_s, guint32 lane, double factor) {
  ORR_APPEND(program->slowdowns, OrrSlowdown, {at_s, lane, factor});
}

void orr_program_slow_share(OrrProgram *program, guint32 label, double share) {
  if (label < program->labels->len)
    g_array_index(program->labels, OrrLabel, label).fixed_share = 1 - share;
  else
    program->n_lost++;
}

void orr_program_lose_lane(OrrProgram *program, double at_s, guint32 lane) {
  ORR_APPEND(program->losses, OrrLoss, {at_s, lane, 1});
}

void orr_program_epoch(OrrProgram *program, double at_s) {
  ORR_APPEND(program->epochs, OrrEpoch, {at_s, program->reroutes->len});
}

void orr_program_reroute(OrrProgram *program, guint32 comm, const OrrPhase *phases,
                         guint n_phases) {
  OrrReroute reroute = {comm, program->phases->len, n_phases};
  if (n_phases > 0) g_array_append_vals(program->phases, phases, n_phases);
  g_array_append_val(program->reroutes, reroute);
}

void orr_program_repeat(OrrProgram *program, guint32 from, guint32 to, guint32 times) {
  program->repeat = (OrrProgramRepeat){from, to, times};
}

void orr_program_keep_link(OrrProgram *program, guint32 link) {
  if (link < program->links->len)
    LINK(program, link)->keep = TRUE;
  else
    program->n_lost++;
}

void orr_program_share_link(OrrProgram *program, guint32 link) {
  orr_program_keep_link(program, link);
  if (link < program->links->len) LINK(program, link)->is_shared = TRUE;
}

/* Queries */

guint orr_program_n_lanes(const OrrProgram *program) { return program->lanes->len; }

guint orr_program_n_streams(const OrrProgram *program) { return program->streams->len; }

guint orr_program_n_labels(const OrrProgram *program) { return program->labels->len; }

guint orr_program_n_comms(const OrrProgram *program) { return program->comms->len; }

guint orr_program_n_paths(const OrrProgram *program) { return orr_use_rows_n(&program->paths); }

guint orr_program_n_uses(const OrrProgram *program) { return program->paths.uses->len; }

guint orr_program_n_links(const OrrProgram *program) { return program->links->len; }

guint orr_program_n_kept_links(const OrrProgram *program) {
  guint n = 0;
  for (guint i = 0; i < program->links->len; i++) n += LINK(program, i)->stands_for > 0;
  return n;
}

guint64 orr_program_n_ops(const OrrProgram *program) {
  guint64 sum = 0;
  for (guint i = 0; i < program->streams->len; i++) {
    guint n, n_called;
    const OrrOp *ops = orr_program_ops(program, i, &n);
    for (guint k = 0; k < n; k++) {
      if (ops[k].kind == ORR_OP_CALL && orr_program_routine_ops(program, ops[k].target, &n_called))
        sum += n_called;
      else
        sum++;
    }
  }
  return sum;
}

const char *orr_program_lane_name(const OrrProgram *program, guint32 lane) {
  return g_array_index(program->lanes, OrrLane, lane).name;
}

guint32 orr_program_multiplicity(const OrrProgram *program, guint32 lane) {
  return g_array_index(program->lanes, OrrLane, lane).multiplicity;
}

guint32 orr_program_stream_lane(const OrrProgram *program, guint32 stream) {
  return STREAM(program, stream)->lane;
}

const char *orr_program_stream_name(const OrrProgram *program, guint32 stream) {
  return STREAM(program, stream)->name;
}

char *orr_program_stream_title(const OrrProgram *program, guint32 stream) {
  const OrrStream *it = STREAM(program, stream);
  return g_strdup_printf("%s/%s", orr_program_lane_name(program, it->lane), it->name);
}

const OrrOp *orr_program_ops(const OrrProgram *program, guint32 stream, guint *ret_n) {
  GArray *ops = STREAM(program, stream)->ops;
  *ret_n = ops->len;
  return (const OrrOp *)(void *)ops->data;
}

const char *orr_program_label_name(const OrrProgram *program, guint32 label) {
  return g_array_index(program->labels, OrrLabel, label).name;
}

const char *orr_program_label_category(const OrrProgram *program, guint32 label) {
  return g_array_index(program->labels, OrrLabel, label).category;
}

const char *orr_program_link_name(const OrrProgram *program, guint32 link) {
  if (!LINK(program, link)->name) name_link((OrrProgram *)program, LINK(program, link));
  return LINK(program, link)->name;
}

double orr_program_link_bandwidth(const OrrProgram *program, guint32 link) {
  return LINK(program, link)->bandwidth;
}

guint32 orr_program_link_stands_for(const OrrProgram *program, guint32 link) {
  return LINK(program, link)->stands_for;
}

const OrrPhase *orr_program_phases(const OrrProgram *program, guint32 comm, guint *ret_n) {
  const OrrComm *it = orr_comm_of(program, comm);
  *ret_n = it->n_phases;
  return (const OrrPhase *)(void *)program->phases->data + it->first_phase;
}

guint32 orr_program_comm_path(const OrrProgram *program, guint32 comm) {
  guint n;
  const OrrPhase *phases = orr_program_phases(program, comm, &n);
  for (guint k = 0; k < n; k++)
    if (phases[k].path != ORR_NO_PATH) return phases[k].path;
  return ORR_NO_PATH;
}

guint32 orr_program_comm_members(const OrrProgram *program, guint32 comm) {
  return orr_comm_of(program, comm)->n_members;
}

OrrProgramRepeat orr_program_repeated(const OrrProgram *program) { return program->repeat; }

gboolean orr_program_uncontended(const OrrProgram *program) { return program->uncontended; }

const OrrLinkUse *orr_program_path_uses(const OrrProgram *program, guint32 path, guint *ret_n) {
  return orr_use_rows_get(&program->paths, path, ret_n);
}

const OrrLinkUse *orr_program_path_kept(const OrrProgram *program, guint32 path, guint *ret_n) {
  return orr_use_rows_get(&program->kept, path, ret_n);
}

double orr_program_comm_alone(const OrrProgram *program, guint32 comm) {
  guint n_phases = 0;
  const OrrPhase *phases = orr_program_phases(program, comm, &n_phases);
  double seconds = 0;
  for (guint k = 0; k < n_phases; k++) {
    seconds += phases[k].latency_s;
    if (phases[k].path != ORR_NO_PATH)
      seconds += phases[k].bytes * program->seconds_a_byte[phases[k].path];
  }
  return seconds;
}

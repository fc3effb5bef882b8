/*
 * training_emitter - streams, labels and tables of communications that the lanes of a step share.
 */
#include "workloads/training/emit/training_emitter.h"

static const char *const stream_names[] = {
    "compute", "send-next",   "send-prev",   "recv-prev",   "recv-next",   "dp", "tp",
    "gather",  "send-next-2", "send-prev-2", "recv-prev-2", "recv-next-2", "ep", "storage",
    "data",    "to-host",     "from-host",   "host",        "loader"};
G_STATIC_ASSERT(G_N_ELEMENTS(stream_names) == ORR_N_STREAMS);

/* --- state --- */

static gsize n_transfers(const OrrEmitter *e) {
  return (gsize)e->plan->fold.n * 2 * e->directions * e->blocks * e->job->shape.micro_batches;
}

static GArray **arrays_new(gsize n) {
  GArray **arrays = g_new(GArray *, n);
  for (gsize i = 0; i < n; i++) arrays[i] = g_array_new(FALSE, FALSE, sizeof(guint32));
  return arrays;
}

static void arrays_free(GArray **arrays, gsize n) {
  for (gsize i = 0; i < n; i++) g_array_unref(arrays[i]);
  g_free(arrays);
}

void orr_emitter_init(OrrEmitter *e, const OrrEmission *emission) {
  const OrrJob *job = emission->job;
  const OrrFold *fold = &emission->plan->fold;
  const gsize n_lanes = (gsize)job->pp * fold->n;
  *e = (OrrEmitter){.job = job,
                    .costs = emission->costs,
                    .plan = emission->plan,
                    .optimizer_s = emission->optimizer_s,
                    .work = emission->work,
                    .program = emission->work->work.program,
                    .directions = orr_pipeline_n_directions(job->schedule),
                    .blocks = orr_job_n_blocks(job),
                    .loaded = ORR_NO_COMM,
                    .handover_labels = {G_MAXUINT32, G_MAXUINT32}};
  e->noise = orr_noise_draws_new(job, fold);
  e->streams = g_malloc_n(n_lanes, sizeof *e->streams);
  e->transfers = g_new(guint32, n_transfers(e));
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    e->reduced[set] = arrays_new(job->pp);
    e->gathered[set] = arrays_new(job->pp);
    e->gathers[set] = g_new(guint32, job->pp);
  }
  e->embeddings = g_new(guint32, fold->n);
  e->group_comms = arrays_new((gsize)job->pp * fold->n_groups);
  e->group_at = g_new0(guint, n_lanes);
  e->ready = arrays_new(n_lanes);
  e->taken = g_new0(gint64, n_lanes);
}

static void forget(guint32 *slots, gsize n) {
  for (gsize i = 0; i < n; i++) slots[i] = ORR_NO_COMM;
}

void orr_emitter_begin_step(OrrEmitter *e, gint64 step) {
  const OrrFold *fold = &e->plan->fold;
  const gint64 pp = e->job->pp;
  e->step = step;
  forget(e->transfers, n_transfers(e));
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    for (gint64 stage = 0; stage < pp; stage++) {
      g_array_set_size(e->reduced[set][stage], 0);
      g_array_set_size(e->gathered[set][stage], 0);
    }
    forget(e->gathers[set], pp);
  }
  forget(e->embeddings, fold->n);
  e->norm = e->checkpoint = ORR_NO_COMM;
  for (guint i = 0; i < pp * fold->n_groups; i++) g_array_set_size(e->group_comms[i], 0);
  memset(e->group_at, 0, pp * fold->n * sizeof *e->group_at);
}

void orr_emitter_clear(OrrEmitter *e) {
  const OrrFold *fold = &e->plan->fold;
  const gsize pp = e->job->pp, n_lanes = pp * fold->n;
  g_clear_pointer(&e->noise, orr_noise_draws_free);
  g_clear_pointer(&e->passes, g_hash_table_unref);
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    arrays_free(e->reduced[set], pp);
    arrays_free(e->gathered[set], pp);
    g_free(e->gathers[set]);
  }
  arrays_free(e->group_comms, pp * fold->n_groups);
  arrays_free(e->ready, n_lanes);
  ORR_FREE(e->streams, e->transfers, e->embeddings, e->group_at, e->taken);
}

void orr_lane_progress_init(OrrLaneProgress *progress, const OrrJob *job) {
  *progress = (OrrLaneProgress){
      .computed = g_array_new(FALSE, FALSE, sizeof(guint32)),
      .launched = g_array_new(FALSE, FALSE, sizeof(guint32)),
      .left = g_new(gint64, job->shape.chunks),
      .first = g_new(gboolean, job->shape.chunks),
      .stashed = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)};
  for (gint64 c = 0; c < job->shape.chunks; c++) {
    progress->left[c] = orr_job_passes(job);
    progress->first[c] = TRUE;
  }
}

void orr_lane_progress_clear(OrrLaneProgress *progress) {
  g_array_unref(progress->computed);
  g_array_unref(progress->launched);
  ORR_FREE(progress->left, progress->first);
  g_hash_table_unref(progress->stashed);
}

/* --- operations --- */

guint32 orr_emitter_stream(OrrEmitter *e, const OrrLaneAt *lane, OrrTrainingStream stream) {
  guint32 *known = &e->streams[lane->lane][stream];
  if (*known != G_MAXUINT32) return *known;
  *known = orr_program_stream(e->program, lane->lane, stream_names[stream]);
  if (stream >= ORR_STREAM_TO_HOST) orr_program_quiet_stream(e->program, *known);
  if (stream == ORR_STREAM_STORAGE || stream == ORR_STREAM_DATA)
    orr_program_host_stream(e->program, *known);
  return *known;
}

guint32 orr_emitter_record(OrrEmitter *e, guint32 stream) {
  const guint32 event = orr_program_event(e->program);
  orr_program_record(e->program, stream, event);
  return event;
}

void orr_emitter_wait_for(OrrEmitter *e, guint32 from, guint32 to) {
  orr_program_wait(e->program, to, orr_emitter_record(e, from));
}

guint32 orr_emitter_work_label(OrrEmitter *e, const char *name, const double seconds[ORR_N_TIMES]) {
  GArray *known = e->work->work.label_seconds;
  for (guint k = 1;; k++) {
    g_autofree char *other = k > 1 ? g_strdup_printf("%s #%u", name, k) : NULL;
    const guint32 label = orr_program_label(e->program, other ? other : name, "compute");
    const gboolean is_new = label >= known->len / ORR_N_TIMES;
    if (is_new) g_array_set_size(known, (label + 1) * ORR_N_TIMES);
    double *times = &g_array_index(known, double, label *ORR_N_TIMES);
    if (is_new) memcpy(times, seconds, sizeof(double) * ORR_N_TIMES);
    if (memcmp(times, seconds, sizeof(double) * ORR_N_TIMES) == 0) return label;
  }
}

guint32 orr_emitter_comm_label(OrrEmitter *e, const char *name, OrrTimeKind kind) {
  return orr_program_label(e->program, name, orr_time_words[kind]);
}

void orr_emitter_work(OrrEmitter *e, const OrrLaneAt *lane, const char *name,
                      const double seconds[ORR_N_TIMES], double late_s, gint32 tag) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  const OrrPackedWork packed = {e->step, e->plan->fold.first[lane->class], tag,
                                seconds[ORR_TIME_ATTENTION]};
  late_s += orr_packed_loads_late_s(e->costs->packed, e->job, &packed);
  orr_program_work(e->program, orr_emitter_stream(e, lane, ORR_STREAM_COMPUTE),
                   MAX(sum + late_s, 0), orr_emitter_work_label(e, name, seconds), tag);
}

guint32 orr_emitter_once(OrrEmitter *e, guint32 *slot, guint members, const OrrCommPlan *plan) {
  if (*slot == ORR_NO_COMM)
    *slot = orr_program_comm(e->program, members, plan->phases, plan->n_phases);
  return *slot;
}

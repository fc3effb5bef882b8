/*
 * collective_bench.c - checks the workload `collectives` and compiles it, as flows or step by
 * step.
 */
#include "workloads/collectives/collective_bench.h"

#include "sim/base/idle.h"
#include "workloads/collectives/collective_steps.h"

enum { MOST_SIZES = 10000 };

const char *const orr_exchange_words[] = {"dispatch", "combine", NULL};
static const char *const replay_words[] = {"flow", "steps", NULL};
const char *const orr_redop_words[] = {"sum", "prod", "max", "min", "avg", NULL};

static const OrrField fields[] = {
    ORR_WORKLOAD_STACK_FIELD(OrrCollectiveBench),
    ORR_FIELD_WORD(OrrCollectiveBench, "collective", collective, orr_collective_words, "all-reduce",
                   "The collective operation."),
    ORR_FIELD_REAL(OrrCollectiveBench, "begin", begin_bytes, ORR_UNIT_BYTES, "8 B",
                   "First size (-b of nccl-tests).", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrCollectiveBench, "end", end_bytes, ORR_UNIT_BYTES, "128 MiB",
                   "Largest size (-e).", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrCollectiveBench, "factor", factor, ORR_UNIT_NONE, "2",
                   "Factor from one size to the next (-f).", .min = 1.001, .max = 1e6),
    ORR_FIELD_REAL(OrrCollectiveBench, "step", step_bytes, ORR_UNIT_BYTES, "0 B",
                   "Step from one size to the next, instead of a factor (-i).",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrCollectiveBench, "ranks", ranks, "0",
                  "Ranks per group; 0: as many as the GPUs allow.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrCollectiveBench, "stride", stride, "1",
                  "Distance between a group's GPUs: 1 fills nodes.", .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(OrrCollectiveBench, "groups", groups, "1", "Groups that run concurrently.",
                  .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_WORD(OrrCollectiveBench, "dtype", dtype, orr_dtype_names, "fp32",
                   "Number format (-d), the unit of counts."),
    ORR_FIELD_WORD(OrrCollectiveBench, "redop", redop, orr_redop_words, "sum", "Reduction (-o)."),
    ORR_FIELD_INT(OrrCollectiveBench, "root", root, "0", "Root rank (-r) of broadcast and reduce.",
                  .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_TEXT(
        OrrCollectiveBench, "algorithm", algorithm, "auto",
        "Forces an algorithm of `orrery list collectives`, as NCCL_ALGO does; auto: the fastest, "
        "on GPUs of NCCL's own, on a torus of TPUs also of its rings (bucket, torus-ring)."),
    ORR_NCCL_FIELD(OrrCollectiveBench),
    ORR_FIELD_WORD(OrrCollectiveBench, "protocol", protocol, orr_protocol_words, "auto",
                   "Forces a protocol, as NCCL_PROTO does."),
    ORR_FIELD_INT(OrrCollectiveBench, "experts", experts, "0",
                  "For an all-to-all of tokens: number of experts; a size is tokens * topk * "
                  "hidden elements per rank. 0: of anything.",
                  .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrCollectiveBench, "topk", topk, "8", "Experts per token.",
                  .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(OrrCollectiveBench, "hidden", hidden, "7168", "Elements per token.",
                  .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_WORD(OrrCollectiveBench, "phase", phase, orr_exchange_words, "dispatch",
                   "dispatch: tokens to their experts; combine: results back."),
    ORR_FIELD_WORD(OrrCollectiveBench, "experts-dtype", experts_dtype, orr_dtype_names, "bf16",
                   "Number format of the experts, on which TensorRT-LLM's kernels depend."),
    ORR_FIELD_WORD(OrrCollectiveBench, "replay", replay, replay_words, "flow",
                   "flow: a phase is one transfer over all its links; steps: every send of every "
                   "step is a transfer, to check flow."),
};
const OrrFieldTable orr_collective_bench_table =
    ORR_FIELD_TABLE("collectives", "Collectives as nccl-tests runs them: sizes one after another.",
                    OrrCollectiveBench, fields);

gboolean orr_collective_bench_has_root(OrrCollectiveOp op) {
  return op == ORR_BROADCAST || op == ORR_REDUCE;
}

gboolean orr_collective_bench_reduces(OrrCollectiveOp op) {
  return op == ORR_ALL_REDUCE || op == ORR_REDUCE_SCATTER || op == ORR_REDUCE;
}

gint64 orr_collective_bench_count(const OrrCollectiveBench *params, double bytes, guint n_ranks) {
  gboolean in_parts = params->collective == ORR_ALL_GATHER ||
                      params->collective == ORR_REDUCE_SCATTER ||
                      params->collective == ORR_ALL_TO_ALL;
  return (gint64)(bytes / orr_dtype_bytes((OrrDtype)params->dtype) / (in_parts ? n_ranks : 1));
}

/* --- Checks --- */

static gint64 n_ranks_of(const OrrCollectiveBench *params, gint64 n_gpus) {
  return params->ranks ? params->ranks : MAX(n_gpus / MAX(params->stride, params->groups), 1);
}

/* The number of the last group's last GPU, plus one. */
static gint64 gpus_needed(const OrrCollectiveBench *params, gint64 n_ranks) {
  gint64 last = params->groups - 1, stride = params->stride;
  gint64 first = last / stride * n_ranks * stride, most = MIN(last, stride - 1);
  return MAX(first + last % stride, last >= stride ? first - stride * n_ranks + most : 0) +
         (n_ranks - 1) * stride + 1;
}

static void check_group(const OrrCollectiveBench *params, gint64 n_gpus, OrrPlace place,
                        OrrDiags *diags) {
  gint64 n_ranks = n_ranks_of(params, n_gpus), needed = gpus_needed(params, n_ranks);
  if (needed > n_gpus)
    orr_diags_error(diags, place,
                    "%ld groups of %ld ranks at stride %ld need %ld GPUs: the cluster has %ld",
                    params->groups, n_ranks, params->stride, needed, n_gpus);
  if (params->collective == ORR_SEND_RECV && n_ranks != 2)
    orr_diags_error(diags, place, "send-recv needs 2 ranks, a sender and a receiver: ranks is %ld",
                    n_ranks);
  if (params->root >= n_ranks)
    orr_diags_error(diags, place, "root %ld is not one of the %ld ranks", params->root, n_ranks);
}

static guint n_sizes_of(const OrrCollectiveBench *params) {
  double ratio = params->end_bytes / params->begin_bytes * (1 + 1e-12);
  double n = params->step_bytes > 0
                 ? floor((params->end_bytes - params->begin_bytes) / params->step_bytes)
                 : floor(log(ratio) / log(params->factor));
  return 1 + (guint)CLAMP(n, 0, MOST_SIZES);
}

/* Draws see the flows of one group (collective_draws.c). */
static void check_draws(const OrrCollectiveBench *params, const OrrCluster *cluster, OrrPlace place,
                        OrrDiags *diags) {
  if (params->groups > 1 && cluster->hash_draws > 0 && cluster->routing == ORR_ROUTING_ECMP)
    orr_diags_warning(
        diags, place,
        "cluster.hash-draws draws for each of the %ld groups by itself: whether flows "
        "of different groups collide is the seed's alone, and no part of the spread",
        params->groups);
}

static void check_sizes(const OrrCollectiveBench *params, OrrPlace place, OrrDiags *diags) {
  if (params->begin_bytes <= 0)
    orr_diags_error(diags, place, "begin is 0 B: the first size must be greater than 0");
  else if (params->end_bytes < params->begin_bytes)
    orr_diags_error(diags, place, "end (%.0f B) is below begin (%.0f B)", params->end_bytes,
                    params->begin_bytes);
  else if (n_sizes_of(params) > MOST_SIZES)
    orr_diags_error(diags, place, "more than %d sizes: use a larger step or factor", MOST_SIZES);
}

static void check_experts(const OrrCollectiveBench *params, OrrPlace place, OrrDiags *diags) {
  static const char anything[] = "experts is 0: no tokens of experts are exchanged";
  const gboolean is_idle = params->experts == 0;
  const OrrIdleKey keys[] = {{"topk", is_idle, anything},
                             {"hidden", is_idle, anything},
                             {"phase", is_idle, anything},
                             {"experts-dtype", is_idle, anything}};
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
  if (is_idle) return;
  if (params->collective != ORR_ALL_TO_ALL)
    orr_diags_error(diags, place, "experts is for all-to-all: the collective is %s",
                    orr_collective_words[params->collective]);
  if (params->topk > params->experts)
    orr_diags_error(diags, place, "topk %ld is above experts %ld", params->topk, params->experts);
}

/* Whether NVLS has a kernel for the reduction (ncclNvlsSupported, src/include/device.h: sums of
 * fp32, sums and extremes of 16 bits). A mean is a sum that each rank scales first. */
static gboolean sums_in_switch(const OrrCollectiveBench *params) {
  const char *redop = orr_redop_words[params->redop];
  const gboolean is_extreme = g_str_equal(redop, "max") || g_str_equal(redop, "min");
  if (params->dtype == ORR_FP32 || params->dtype == ORR_TF32) return g_str_equal(redop, "sum");
  return (params->dtype == ORR_FP16 || params->dtype == ORR_BF16) &&
         (is_extreme || g_str_equal(redop, "sum"));
}

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrCollectiveBench *params = data;
  check_group(params, orr_cluster_n_gpus(cluster), place, diags);
  check_draws(params, cluster, place, diags);
  check_sizes(params, place, diags);
  check_experts(params, place, diags);
  if (g_str_has_prefix(params->algorithm, "nvls") && !sums_in_switch(params))
    orr_diags_error(
        diags, place, "algorithm %s has no kernel for redop %s in %s: NCCL takes others",
        params->algorithm, orr_redop_words[params->redop], orr_dtype_names[params->dtype]);
  if (g_str_equal(params->algorithm, "auto") ||
      orr_registry_find(&orr_collective_registry, params->algorithm))
    return;
  g_autofree const char **names = orr_registry_names(&orr_collective_registry);
  g_autofree char *known = g_strjoinv(", ", (char **)names);
  orr_diags_error(diags, place, "unknown algorithm '%s' (allowed: auto, %s)", params->algorithm,
                  known);
}

/* --- Compilation --- */

typedef struct {
  OrrBenchWork *work;
  const OrrWorld *world;
  const OrrCollectiveAlgorithm *algorithm; /* NULL: the fastest */
  guint32 *program_links;                  /* by fabric link: program link + 1; 0: not used yet */
  gint64 **gpus;                           /* GPUs of each group, the root first */
  guint32 *streams;                        /* stream of each group */
} Bench;

static gint64 *group_new(const OrrCollectiveBench *params, guint n_ranks, guint group) {
  gint64 *gpus = g_new(gint64, n_ranks), stride = params->stride;
  const gint64 first = group / stride * n_ranks * stride + group % stride;
  const gint64 root =
      orr_collective_bench_has_root((OrrCollectiveOp)params->collective) ? params->root : 0;
  for (guint i = 0; i < n_ranks; i++) gpus[i] = first + (i + root) % n_ranks * stride;
  return gpus;
}

static guint32 program_link(Bench *bench, guint32 fabric_link) {
  guint32 *known = &bench->program_links[fabric_link];
  if (*known) return *known - 1;
  const guint32 link =
      orr_fabric_program_link(bench->world->fabric, bench->work->work.program, fabric_link);
  *known = link + 1;
  g_array_append_val(bench->work->work.links, fabric_link);
  return link;
}

static guint32 add_path(Bench *bench, const OrrCollectivePhase *phase) {
  if (phase->n_uses == 0) return ORR_NO_PATH;
  g_autofree OrrLinkUse *uses = g_new(OrrLinkUse, phase->n_uses);
  for (guint i = 0; i < phase->n_uses; i++)
    uses[i] = (OrrLinkUse){program_link(bench, phase->uses[i].link), phase->uses[i].weight};
  return orr_program_path(bench->work->work.program, uses, phase->n_uses);
}

static void join(Bench *bench, guint group, const OrrCollectivePlan *plan, guint32 label) {
  OrrProgram *program = bench->work->work.program;
  g_autofree OrrPhase *phases = g_new0(OrrPhase, plan->phases->len);
  ORR_EACH_AT(k, const OrrCollectivePhase, phase, plan->phases) {
    phases[k] = (OrrPhase){phase->latency_s, phase->bytes, add_path(bench, phase)};
  }
  guint32 comm = orr_program_comm(program, 1, phases, plan->phases->len);
  orr_program_join(program, bench->streams[group], comm, label, -1);
}

/* --- Step by step --- */

/* The most sends that a connection has in flight: NCCL's slots (NCCL_STEPS,
 * src/include/device.h). */
enum { SLOTS = 8 };

typedef struct {
  const OrrCollectiveSteps *steps;
  guint32 *paths;   /* by route */
  guint32 *streams; /* by connection and slot: stream + 1; 0: not yet made */
  guint32 *n_sent;  /* by connection */
  guint32 lane, start, label;
  guint32 first_stream, first_comm, first_event; /* of sends: consecutive, in their order */
} StepReplay;

static guint32 stream_of(OrrProgram *program, StepReplay *replay, guint32 connection) {
  guint32 *known =
      &replay->streams[(gsize)connection * SLOTS + replay->n_sent[connection]++ % SLOTS];
  if (*known == 0) *known = orr_program_stream(program, replay->lane, "connection") + 1;
  return *known - 1;
}

static void add_send(OrrProgram *program, const StepReplay *replay, guint32 stream, guint32 i) {
  const OrrStepSend *send = &g_array_index(replay->steps->sends, OrrStepSend, i);
  for (guint n = 0; n < send->n_needs; n++)
    orr_program_wait(program, stream,
                     replay->first_event +
                         g_array_index(replay->steps->needs, guint32, send->first_need + n));
  orr_program_join(program, stream, replay->first_comm + i, replay->label, -1);
  orr_program_record(program, stream, replay->first_event + i);
}

/* Stream by stream, as most repeat the one before: then it takes the room of its targets. @next:
 * by send, the next one on its stream; @first: by stream; + 1, 0: none. */
static void fill_streams(OrrProgram *program, const StepReplay *replay, const guint32 *first,
                         const guint32 *next) {
  const guint32 n_streams = orr_program_n_streams(program) - replay->first_stream;
  for (guint32 s = 0; s < n_streams; s++) {
    const guint32 stream = replay->first_stream + s;
    orr_program_wait(program, stream, replay->start);
    for (guint32 i = first[s]; i > 0; i = next[i - 1]) add_send(program, replay, stream, i - 1);
    if (s > 0) orr_program_share(program, stream, stream - 1);
  }
}

static void add_sends(OrrProgram *program, StepReplay *replay) {
  const guint n_slots = replay->steps->n_connections * SLOTS;
  g_autofree guint32 *next = g_new0(guint32, replay->steps->sends->len + 1),
                     *first = g_new0(guint32, n_slots + 1), *last = g_new0(guint32, n_slots + 1);
  replay->first_stream = orr_program_n_streams(program);
  replay->first_comm = orr_program_n_comms(program);
  ORR_EACH_AT(i, const OrrStepSend, send, replay->steps->sends) {
    const OrrCollectivePhase *effect = &orr_collective_steps_route(replay->steps, send)->effect;
    const OrrPhase phase = {effect->latency_s, effect->bytes, replay->paths[send->route]};
    const guint32 s = stream_of(program, replay, send->connection) - replay->first_stream;
    *(last[s] > 0 ? &next[last[s] - 1] : &first[s]) = i + 1;
    last[s] = i + 1;
    orr_program_comm(program, 1, &phase, 1);
    const guint32 event = orr_program_event(program);
    if (i == 0) replay->first_event = event;
  }
  fill_streams(program, replay, first, next);
}

static StepReplay *step_replay_new(Bench *bench, guint group, const OrrCollectiveSteps *steps) {
  OrrProgram *program = bench->work->work.program;
  StepReplay *replay = g_new0(StepReplay, 1);
  replay->steps = steps;
  replay->paths = g_new0(guint32, steps->routes->len + 1);
  replay->streams = g_new0(guint32, (gsize)steps->n_connections * SLOTS + 1);
  replay->n_sent = g_new0(guint32, steps->n_connections + 1);
  replay->lane = orr_program_stream_lane(program, bench->streams[group]);
  replay->start = orr_program_event(program);
  replay->label = orr_program_label(program, "send", "collective");
  for (guint i = 0; i < steps->routes->len; i++)
    replay->paths[i] = add_path(bench, &g_array_index(steps->routes, OrrStepRoute, i).effect);
  return replay;
}

static void step_replay_free(StepReplay *replay) {
  ORR_FREE(replay->paths, replay->streams, replay->n_sent, replay);
}

static OrrCollectiveContext context_of(const Bench *bench) {
  const OrrNccl *nccl = &bench->work->params.nccl;
  return (OrrCollectiveContext){.fabric = bench->world->fabric,
                                .cost = bench->world->cost,
                                .nccl = nccl,
                                .gpus_per_switch =
                                    orr_nccl_gpus_per_switch(nccl, bench->world->cluster)};
}

/* Waits for the last send of each slot: a stream sends in order. */
static void wait_for_sends(const Bench *bench, guint group, const StepReplay *replay) {
  const GArray *sends = replay->steps->sends;
  g_autofree guint32 *left = g_memdup2(replay->n_sent, replay->steps->n_connections * sizeof *left);
  for (guint i = 0; i < sends->len; i++)
    if (left[g_array_index(sends, OrrStepSend, i).connection]-- <= SLOTS)
      orr_program_wait(bench->work->work.program, bench->streams[group], replay->first_event + i);
}

/* The lane's stream takes the base time, starts the connections and waits for all sends. */
static gboolean join_steps(Bench *bench, guint group, const OrrCollectiveCall *call,
                           const OrrCollectivePlan *plan, GError **error) {
  OrrProgram *program = bench->work->work.program;
  const OrrCollectiveContext context = context_of(bench);
  g_autoptr(OrrCollectiveSteps) steps = orr_collective_steps_new(&context, call, plan, error);
  if (!steps) return FALSE;
  StepReplay *replay = step_replay_new(bench, group, steps);
  orr_program_work(program, bench->streams[group], steps->base_s,
                   orr_program_label(program, "launch", "host"), -1);
  orr_program_record(program, bench->streams[group], replay->start);
  add_sends(program, replay);
  wait_for_sends(bench, group, replay);
  step_replay_free(replay);
  return TRUE;
}

static void note(Bench *bench, const OrrCollectivePlan *plan, double bytes, const char *label) {
  OrrBenchSize size = {.label = g_intern_string(label),
                       .bytes = bytes,
                       .algorithm = plan->algorithm,
                       .protocol = plan->protocol,
                       .how = plan->how,
                       .predicted_s = plan->predicted_s};
  for (guint k = 0; k < plan->phases->len; k++)
    size.latency_s += g_array_index(plan->phases, OrrCollectivePhase, k).latency_s;
  g_array_append_val(bench->work->sizes, size);
}

/* Makes every group wait until all have finished this size. */
static void meet(Bench *bench) {
  OrrProgram *program = bench->work->work.program;
  guint n = bench->work->n_groups;
  g_autofree guint32 *events = g_new(guint32, n);
  for (guint g = 0; n > 1 && g < n; g++) {
    events[g] = orr_program_event(program);
    orr_program_record(program, bench->streams[g], events[g]);
  }
  for (guint g = 0; n > 1 && g < n; g++)
    for (guint other = 0; other < n; other++)
      if (other != g) orr_program_wait(program, bench->streams[g], events[other]);
}

static OrrExpertExchange exchange_of(const OrrCollectiveBench *params, double bytes) {
  double element = orr_dtype_bytes((OrrDtype)params->dtype);
  return (OrrExpertExchange){.tokens = bytes / ((double)(params->topk * params->hidden) * element),
                             .hidden = params->hidden,
                             .topk = params->topk,
                             .experts = params->experts,
                             .bytes_per_element = element,
                             .experts_dtype = (OrrDtype)params->experts_dtype,
                             .is_combine = params->phase == 1};
}

static gboolean add_size(Bench *bench, double bytes, GError **error) {
  const OrrCollectiveBench *params = &bench->work->params;
  OrrCollectiveContext context = context_of(bench);
  OrrCollectiveCall call = {.op = (OrrCollectiveOp)params->collective,
                            .bytes = bytes,
                            .n = bench->work->n_ranks,
                            .protocol = (OrrProtocol)params->protocol};
  const OrrExpertExchange exchange = exchange_of(params, bytes);
  if (params->experts > 0) call.exchange = &exchange;
  g_autofree char *name = g_strdup_printf("%s %.0f B", orr_collective_words[call.op], bytes);
  guint32 label = orr_program_label(bench->work->work.program, name, "collective");
  for (guint g = 0; g < bench->work->n_groups; g++) {
    call.gpus = bench->gpus[g];
    g_autoptr(OrrCollectivePlan) plan =
        orr_collective_plan(&context, &call, bench->algorithm, error);
    if (!plan && bench->algorithm) g_prefix_error(error, "workload.algorithm: ");
    if (!plan) return FALSE;
    if (g == 0) note(bench, plan, bytes, name);
    if (params->replay == ORR_BENCH_FLOW)
      join(bench, g, plan, label);
    else if (!join_steps(bench, g, &call, plan, error))
      return FALSE;
  }
  meet(bench);
  for (guint g = 0; params->replay == ORR_BENCH_STEPS && g < bench->work->n_groups; g++)
    orr_program_work(bench->work->work.program, bench->streams[g], 0,
                     orr_program_label(bench->work->work.program, "size", "step"), -1);
  return TRUE;
}

static OrrBenchWork *work_new(const OrrCollectiveBench *params, const OrrWorld *world) {
  OrrBenchWork *work = g_new0(OrrBenchWork, 1);
  work->work.kind = &orr_collectives_kind;
  work->work.program = orr_program_new();
  work->work.label_seconds = g_array_new(FALSE, TRUE, sizeof(double));
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  work->work.fidelity = ORR_FIDELITY_FULL;
  work->params = *params;
  if (!sums_in_switch(params)) work->params.nccl.nvls = work->params.nccl.nvls_tree = FALSE;
  work->params.algorithm = NULL; /* the scenario owns it */
  work->n_groups = (guint)params->groups;
  work->n_ranks = (guint)n_ranks_of(params, orr_cluster_n_gpus(world->cluster));
  work->work.n_gpus = (gint64)work->n_groups * work->n_ranks;
  work->work.lane_of_gpu = orr_work_lanes_new(orr_fabric_n_gpus(world->fabric));
  work->sizes = g_array_new(FALSE, TRUE, sizeof(OrrBenchSize));
  return work;
}

static void work_free(OrrWork *data) {
  OrrBenchWork *work = (OrrBenchWork *)data;
  g_array_unref(work->sizes);
  g_free(work);
}

static void add_lanes(Bench *bench) {
  OrrProgram *program = bench->work->work.program;
  for (guint g = 0; g < bench->work->n_groups; g++) {
    g_autofree char *name = g_strdup_printf("group %u", g);
    guint32 lane = orr_program_lane(program, name, bench->work->n_ranks);
    bench->streams[g] = orr_program_stream(program, lane, "nccl");
    bench->gpus[g] = group_new(&bench->work->params, bench->work->n_ranks, g);
    for (guint i = 0; i < bench->work->n_ranks; i++)
      g_array_index(bench->work->work.lane_of_gpu, guint32, bench->gpus[g][i]) = lane;
  }
}

static gboolean add_sizes(Bench *bench, GError **error) {
  const OrrCollectiveBench *params = &bench->work->params;
  guint n = n_sizes_of(params);
  double bytes = params->begin_bytes;
  for (guint i = 0; i < n; i++) {
    if (!add_size(bench, round(bytes), error)) return FALSE;
    bytes = params->step_bytes > 0 ? bytes + params->step_bytes : bytes * params->factor;
  }
  return orr_program_seal(bench->work->work.program, error);
}

static OrrWork *compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrCollectiveBench *params = data;
  OrrBenchWork *work = work_new(params, world);
  Bench bench = {.work = work, .world = world};
  bench.algorithm = (const OrrCollectiveAlgorithm *)(gconstpointer)orr_registry_find(
      &orr_collective_registry, params->algorithm);
  bench.program_links = g_new0(guint32, orr_fabric_n_links(world->fabric) + 1);
  bench.gpus = g_new0(gint64 *, work->n_groups);
  bench.streams = g_new0(guint32, work->n_groups);
  add_lanes(&bench);
  gboolean ok = add_sizes(&bench, error);
  for (guint g = 0; g < work->n_groups; g++) g_free(bench.gpus[g]);
  ORR_FREE(bench.gpus, bench.streams, bench.program_links);
  if (ok) return &work->work;
  orr_work_free(&work->work);
  return NULL;
}

const OrrWorkloadKind orr_collectives_kind = {
    .entry = {"collectives",
              "Collectives as nccl-tests runs them: a range of sizes, on one group or on several "
              "at once.",
              &orr_collective_bench_table},
    .without_model = TRUE,
    .default_family = "nccl",
    .check = check,
    .compile = compile,
    .work_free = work_free,
};

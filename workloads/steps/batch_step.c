/*
 * batch_step.c - the items of a step: their costs, and their program.
 *
 * A kernel takes its sustained cost. The host launches a WORK's kernels while earlier ones run; a
 * WORK ends no earlier than its last launch. The step ends when all streams do, so
 * one step stands for all of them.
 */
#include "workloads/steps/batch_step.h"

#include "calibration/cost/cost_tables.h"
#include "workloads/collectives/collective_phases.h"

OrrBatchStep *orr_batch_step_new(const OrrWorkloadKind *kind, const OrrWorld *world) {
  OrrBatchStep *step = g_new0(OrrBatchStep, 1);
  step->world = world;
  step->name = "work";
  step->items = g_array_new(FALSE, TRUE, sizeof(OrrBatchItem));
  step->work.kind = kind;
  step->work.program = orr_program_new();
  step->work.label_seconds = g_array_new(FALSE, TRUE, sizeof(double));
  step->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  step->work.fidelity = ORR_FIDELITY_FOLDED;
  step->work.n_gpus = orr_fabric_n_gpus(world->fabric);
  step->work.lane_of_gpu = orr_work_lanes_new(step->work.n_gpus);
  return step;
}

void orr_batch_step_free(OrrWork *work) {
  g_array_unref(((OrrBatchStep *)work)->items);
  g_free(work);
}

/* --- Items --- */

static guint append(OrrBatchStep *step, OrrBatchItem item) {
  g_array_append_val(step->items, item);
  return step->items->len - 1;
}

void orr_batch_step_work(OrrBatchStep *step, const char *name) {
  step->name = name;
  append(step, (OrrBatchItem){.kind = ORR_BATCH_WORK, .name = name, .beside = step->beside});
}

static OrrBatchItem *current(OrrBatchStep *step) {
  const guint n = step->items->len;
  const OrrBatchItem *last = n ? &g_array_index(step->items, OrrBatchItem, n - 1) : NULL;
  if (!last || last->kind != ORR_BATCH_WORK || last->beside != step->beside)
    orr_batch_step_work(step, step->name);
  return &g_array_index(step->items, OrrBatchItem, step->items->len - 1);
}

static OrrTimeKind kind_of(const OrrOperator *op) {
  return op->pass == ORR_PASS_OPTIMIZER       ? ORR_TIME_OPTIMIZER
         : op->kind == ORR_OPERATOR_GEMM      ? ORR_TIME_GEMM
         : op->kind == ORR_OPERATOR_ATTENTION ? ORR_TIME_ATTENTION
                                              : ORR_TIME_MEMORY;
}

void orr_batch_step_operator(OrrBatchStep *step, const OrrOperator *op, double times,
                             double dispatches) {
  const OrrCostModel *model = step->world->cost;
  OrrOperator one = *op;
  one.fleet = step->work.n_gpus;
  const OrrCost cost = orr_cost_narrow(model, &one);
  const OrrTimeKind kind = kind_of(op);
  OrrBatchItem *item = current(step);
  item->seconds[kind] += times * cost.time_s;
  item->host_s += dispatches * step->dispatch_s;
  step->flops += times * op->flops;
  step->cost_s[cost.how] += times * cost.time_s;
  step->seconds[kind] += times * cost.time_s;
  orr_joules_add(&step->joules[kind], orr_cost_energy_operator(model, op, cost.time_s), times);
}

void orr_batch_step_seconds(OrrBatchStep *step, OrrTimeKind kind, double seconds) {
  current(step)->seconds[kind] += seconds;
}

static guint append_comm(OrrBatchStep *step, OrrBatchItemKind kind, const OrrBatchItem *comm) {
  OrrBatchItem item = *comm;
  item.kind = kind;
  item.beside = step->beside;
  return append(step, item);
}

void orr_batch_step_comm(OrrBatchStep *step, const OrrBatchItem *comm) {
  if (comm->group.n > 1) append_comm(step, ORR_BATCH_COMM, comm);
}

guint orr_batch_step_begin(OrrBatchStep *step, const OrrBatchItem *comm) {
  return append_comm(step, ORR_BATCH_BEGIN, comm);
}

void orr_batch_step_meet(OrrBatchStep *step, guint begun) {
  append(step, (OrrBatchItem){.kind = ORR_BATCH_MEET, .begun = begun});
}

static double work_s(const OrrBatchItem *item) {
  double seconds = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) seconds += item->seconds[kind];
  return seconds;
}

double orr_batch_step_alone_s(const OrrBatchStep *step, OrrJoules *ret_joules) {
  OrrJoules joules = {0};
  double sum = 0;
  ORR_EACH(const OrrBatchItem, item, step->items) sum += fmax(work_s(item), item->host_s);
  for (int kind = 0; kind < ORR_N_TIMES; kind++) orr_joules_add(&joules, step->joules[kind], 1);
  *ret_joules = joules;
  return sum;
}

/* --- Power, as in training_power.c --- */

static OrrWorkPower power_of(const OrrBatchStep *step) {
  const OrrCostModel *cost = step->world->cost;
  const OrrDevice *device = &step->world->cluster->device;
  OrrWorkPower power = {.is_known = orr_cost_energy_is_known(cost),
                        .static_w = orr_device_power_static_w(&device->power)};
  for (int kind = 0; power.is_known && kind < ORR_N_TIMES; kind++) {
    OrrJoules second = {0};
    if (kind >= ORR_TIME_TP_COMM && kind <= ORR_TIME_DP_COMM)
      second =
          orr_cost_energy_link(cost, device->scale_up_bytes_per_s * device->scale_up_efficiency, 1);
    if (step->seconds[kind] > 0)
      orr_joules_add(&second, step->joules[kind], 1 / step->seconds[kind]);
    power.watts[kind] = orr_cost_energy_limited(cost, second, 1);
  }
  return power;
}

/* --- The program --- */

typedef struct {
  OrrBatchStep *step;
  OrrProgram *program;
  OrrCollectivePhases phases;
  guint32 kernels, background, host, beside; /* streams */
  GHashTable *plans;                         /* "op n stride bytes" -> GArray of OrrPhase */
} Compile;

static const GArray *phases_of(Compile *c, const OrrBatchItem *item, GError **error) {
  g_autofree char *key =
      g_strdup_printf("%d %ld %ld %.0f", item->op, item->group.n, item->group.stride, item->bytes);
  GArray *phases = g_hash_table_lookup(c->plans, key);
  if (phases) return phases;
  g_autofree gint64 *gpus = g_new(gint64, item->group.n);
  for (gint64 i = 0; i < item->group.n; i++) gpus[i] = i * item->group.stride;
  const OrrCollectiveCall call = {
      .op = item->op, .bytes = item->bytes, .gpus = gpus, .n = (guint)item->group.n};
  phases = g_array_new(FALSE, FALSE, sizeof(OrrPhase));
  if (!orr_collective_phases_plan(&c->phases, &call, phases, error)) {
    g_array_unref(phases);
    return NULL;
  }
  g_hash_table_insert(c->plans, g_steal_pointer(&key), phases);
  return phases;
}

static gboolean join(Compile *c, const OrrBatchItem *item, guint32 stream, GError **error) {
  const GArray *phases = phases_of(c, item, error);
  if (!phases) return FALSE;
  const guint32 comm =
      orr_program_comm(c->program, 1, (const OrrPhase *)(const void *)phases->data, phases->len);
  orr_program_join(c->program, stream, comm,
                   orr_program_label(c->program, item->name, item->category), -1);
  return TRUE;
}

static guint32 record(Compile *c, guint32 stream) {
  const guint32 event = orr_program_event(c->program);
  orr_program_record(c->program, stream, event);
  return event;
}

static void put_work(Compile *c, const OrrBatchItem *item) {
  const double seconds = work_s(item);
  if (seconds > 0)
    orr_program_work(c->program, item->beside ? c->beside : c->kernels, seconds,
                     orr_collective_phases_label(&c->step->work, item->name, item->seconds), -1);
  if (item->host_s <= 0) return;
  orr_program_work(c->program, c->host, item->host_s,
                   orr_program_label(c->program, "launches", "host"), -1);
  orr_program_wait(c->program, c->kernels, record(c, c->host));
}

/* @events: of the collectives that have begun, by item. */
static gboolean put_item(Compile *c, guint i, guint32 *events, GError **error) {
  const OrrBatchItem *item = &g_array_index(c->step->items, OrrBatchItem, i);
  switch (item->kind) {
  case ORR_BATCH_WORK:
    put_work(c, item);
    return TRUE;
  case ORR_BATCH_COMM:
    return join(c, item, item->beside ? c->beside : c->kernels, error);
  case ORR_BATCH_BEGIN:
    if (item->group.n < 2) return TRUE;
    orr_program_wait(c->program, c->background, record(c, c->kernels));
    if (!join(c, item, c->background, error)) return FALSE;
    events[i] = record(c, c->background);
    return TRUE;
  default:
    if (g_array_index(c->step->items, OrrBatchItem, item->begun).group.n > 1)
      orr_program_wait(c->program, c->kernels, events[item->begun]);
    return TRUE;
  }
}

static gboolean put_all(Compile *c, GError **error) {
  g_autofree guint32 *events = g_new0(guint32, c->step->items->len + 1);
  for (guint i = 0; i < c->step->items->len; i++)
    if (!put_item(c, i, events, error)) return FALSE;
  return orr_program_seal(c->program, error);
}

static gboolean has_beside(const OrrBatchStep *step) {
  ORR_EACH(OrrBatchItem, item, step->items)
    if (item->beside) return TRUE;
  return FALSE;
}

OrrWork *orr_batch_step_compile(OrrBatchStep *step, const OrrNccl *nccl, GError **error) {
  Compile c = {.step = step, .program = step->work.program};
  const guint32 lane = orr_program_lane(c.program, "every GPU", (guint32)step->work.n_gpus);
  c.kernels = orr_program_stream(c.program, lane, "kernels");
  c.background = orr_program_stream(c.program, lane, "background");
  c.host = orr_program_stream(c.program, lane, "host");
  c.beside = has_beside(step) ? orr_program_stream(c.program, lane, "sparse cores") : c.kernels;
  orr_program_interfere(c.program, lane, orr_cost_interference(step->world->cost));
  for (gint64 gpu = 0; gpu < step->work.n_gpus; gpu++)
    g_array_index(step->work.lane_of_gpu, guint32, gpu) = lane;
  c.plans = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
  orr_collective_phases_init(&c.phases, step->world, &step->work, nccl);
  const gboolean ok = put_all(&c, error);
  orr_collective_phases_clear(&c.phases);
  g_hash_table_unref(c.plans);
  step->work.power = power_of(step);
  if (ok) return &step->work;
  orr_work_free(&step->work);
  return NULL;
}

/*
 * adapters.c - tracks which adapters are on the GPU and loads the others over the host link.
 */

#include "workloads/serving/stations/exclusions.h"
#include "workloads/serving/stations/station.h"

typedef struct {
  guint adapter; /* 0: empty */
  guint holders;
  guint64 used; /* when last */
} Slot;

struct OrrAdapters {
  guint n_slots;
  guint64 clock;
  Slot *slots;
};

OrrAdapters *orr_adapters_new(guint n, guint slots) {
  if (n == 0) return NULL;
  OrrAdapters *adapters = g_new0(OrrAdapters, 1);
  adapters->n_slots = MIN(n, slots);
  adapters->slots = g_new0(Slot, adapters->n_slots);
  return adapters;
}

void orr_adapters_free(OrrAdapters *adapters) {
  if (!adapters) return;
  ORR_FREE(adapters->slots, adapters);
}

/* The slot of @adapter or, if it has none, the one that it would take: the least recently used
 * unheld slot. NULL: none. */
static Slot *find(const OrrAdapters *adapters, guint adapter) {
  Slot *best = NULL;
  for (guint i = 0; i < adapters->n_slots; i++) {
    Slot *slot = &adapters->slots[i];
    if (slot->adapter == adapter) return slot;
    if (slot->holders == 0 && (!best || slot->used < best->used)) best = slot;
  }
  return best;
}

gboolean orr_adapters_fit(const OrrAdapters *adapters, guint adapter) {
  return find(adapters, adapter) != NULL;
}

gboolean orr_adapters_hold(OrrAdapters *adapters, guint adapter) {
  Slot *slot = find(adapters, adapter);
  const gboolean is_new = slot->adapter != adapter;
  slot->adapter = adapter;
  slot->holders++;
  slot->used = ++adapters->clock;
  return is_new;
}

void orr_adapters_release(OrrAdapters *adapters, guint adapter) {
  find(adapters, adapter)->holders--;
}

/* Which one a request has: adapter i of @n is asked for in proportion to i^-skew. The sums of the
 * weights up to each, of double. */
static GArray *weights_of(guint n, double skew) {
  GArray *weights = g_array_new(FALSE, FALSE, sizeof(double));
  double sum = 0;
  for (guint i = 1; i <= n; i++) {
    sum += pow((double)i, -skew);
    g_array_append_val(weights, sum);
  }
  return weights;
}

/* From 1; 0 where there are none. */
static guint adapters_draw(const GArray *weights, OrrRandom *random) {
  if (weights->len == 0) return 0;
  const double place = orr_random_unit(random) * g_array_index(weights, double, weights->len - 1);
  guint low = 0, high = weights->len - 1; /* the first whose sum is above place */
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (g_array_index(weights, double, middle) > place)
      high = middle;
    else
      low = middle + 1;
  }
  return low + 1;
}

/* --- the station --- */

typedef struct {
  OrrServingRun *run;
  GArray *weights; /* of double: of the adapters up to each */
  OrrRandom random;
} Station;

/* What a core has. */
typedef struct {
  OrrAdapters *adapters;
  double adapter_bytes; /* on one GPU */
  gint64 *all_loads;    /* of its replica */
  /* Since the last plan began: by requests that joined between two plans, and in the plan. */
  gint64 joined, loaded;
  gboolean is_planning;
} Slots;

static gboolean may_begin(gpointer state, const OrrRequest *request) {
  return orr_adapters_fit(((const Slots *)state)->adapters, request->adapter);
}

static void begin(gpointer state, OrrCore *core, const OrrRequest *request) {
  Slots *slots = state;
  if (!orr_adapters_hold(slots->adapters, request->adapter)) return;
  ++*slots->all_loads;
  ++*(slots->is_planning ? &slots->loaded : &slots->joined);
}

static void end(gpointer state, const OrrRequest *request) {
  orr_adapters_release(((Slots *)state)->adapters, request->adapter);
}

static void open_plan(gpointer state, OrrCore *core) {
  Slots *slots = state;
  slots->loaded = slots->joined;
  slots->joined = 0;
  slots->is_planning = TRUE;
}

static guint different_adapters(const OrrCore *core) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (guint i = 0; i < core->batch->len; i++)
    g_hash_table_add(seen, GUINT_TO_POINTER(((const OrrRequest *)core->batch->pdata[i])->adapter));
  return g_hash_table_size(seen);
}

static void plan(gpointer state, OrrCore *core) {
  Slots *slots = state;
  slots->is_planning = FALSE;
  core->shape.adapters = different_adapters(core);
  core->host_link_bytes = (double)slots->loaded * slots->adapter_bytes;
}

static void close_slots(gpointer state) {
  orr_adapters_free(((Slots *)state)->adapters);
  g_free(state);
}

static const OrrCoreHooks hooks = {.may_begin = may_begin,
                                   .begin = begin,
                                   .end = end,
                                   .open_plan = open_plan,
                                   .plan = plan,
                                   .close = close_slots};

static void opened(gpointer state, OrrReplica *replica, guint core) {
  OrrServingWork *work = ((const Station *)state)->run->work;
  const OrrServingLora *lora = &work->params.engine.lora;
  const guint i = orr_replica_index(replica);
  Slots *slots = g_new0(Slots, 1);
  slots->adapters = orr_adapters_new((guint)lora->adapters, (guint)lora->slots);
  slots->adapter_bytes = orr_serving_group(work, i)->adapter_bytes;
  slots->all_loads = &work->replicas[i].adapter_loads;
  orr_core_hook(orr_replica_core(replica, core), &hooks, slots);
}

static gboolean open(OrrStop *stop, GError **error) {
  const OrrServingWork *work = stop->route->run->work;
  const OrrServingLora *lora = &work->params.engine.lora;
  Station *station = g_new(Station, 1);
  *station = (Station){.run = stop->route->run,
                       .weights = weights_of((guint)lora->adapters, lora->skew),
                       .random = orr_random_stream((guint64)work->world->seed, "adapters")};
  stop->state = station;
  return TRUE;
}

static void close(gpointer state) {
  g_array_unref(((Station *)state)->weights);
  g_free(state);
}

static void made(gpointer state, OrrRequest *request) {
  Station *station = state;
  if (request->adapter == 0) request->adapter = adapters_draw(station->weights, &station->random);
}

static gboolean is_on(const OrrServing *params) { return params->engine.lora.adapters > 0; }

static void check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                  OrrDiags *diags) {
  const OrrServingLora *lora = &params->engine.lora;
  orr_lora_check(&lora->shape, model->hidden, place, diags);
  if (lora->shape.rank == 0)
    orr_diags_error(diags, place, "engine.lora: %ld adapters of rank 0: give shape.rank",
                    lora->adapters);
  if (lora->shape.quantised)
    orr_diags_error(diags, place, "engine.lora: shape.quantised is of training: use quantization");
}

static const OrrStationExclusion excludes[] = {
    {"a model with latent attention or layers that keep a state", orr_exclusions_latent_or_state,
     "the kernels of such adapters are not modelled"},
    {0}};

const OrrStation orr_station_adapters = {
    .entry = {"adapters", "Low-rank adapters, some of which are on the GPU.", NULL},
    .section = "engine.lora",
    .is_on = is_on,
    .excludes = excludes,
    .check = check,
    .open = open,
    .close = close,
    .made = made,
    .opened = opened,
};

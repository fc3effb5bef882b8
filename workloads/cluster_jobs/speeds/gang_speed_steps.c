/*
 * gang_speed_steps.c - run times from a training step, replayed on the nodes that a gang got.
 *
 *   workload:
 *     speed:
 *       kind: steps
 *       jobs:
 *         - {from-gpus: 1, model: gpt3-1.3b, training: {batch: {global: 8, micro: 8}}}
 *         - {from-gpus: 8, model: llama-3.1-8b, training: {parallel: {tp: 8}, ...}}
 *         - {for: [bert, gpt2], model: gpt3-350m, training: {stack: megatron-core-26.06, ...}}
 *
 * The trace says how long a job took, not what it did. Each gang trains the model of the last entry
 * that its size reaches: of those for its model in the trace, where there are any, otherwise of
 * those for no model. A training has the settings of its stack under its own. `batch.global` is of
 * one data-parallel replica; a gang has as many as its GPUs hold. The first gang of each class of
 * places is replayed on its own GPUs as a slice of the machine's fabric: alone, and with a half and
 * a quarter of the bandwidth between switches.
 *
 *   slow(place, free) = step(place, free) / step of reference
 *
 * An elastic gang that has other GPUs than it asked for keeps its model and the batch of each
 * replica, so its speed is samples per second at the reference:
 *
 *   speed(g) = batch(g) / step of reference(g), relative to the GPUs asked for
 *
 * The reference is the step on the first GPUs of the reference cluster, or of this machine: a job
 * takes its traced time there.
 */
#include "workloads/cluster_jobs/core/gang_speed.h"
#include "workloads/parts.h"
#include "workloads/training/training.h"

typedef struct {
  char **names; /* of the trace's models; none: all that have no entry */
  gint64 from_gpus;
  OrrModel model;
  OrrTraining training;
} Template;

typedef struct {
  GPtrArray *jobs; /* of Template */
  OrrCluster reference;
} Params;

static const OrrFieldTable template_table = ORR_FIELDS(
    "cluster-speed-job", "What gangs of a size do.", Template,
    ORR_FIELD_TEXTS(Template, "for", names, "[]",
                    "Models of the trace (column model) that this stands for; empty: those that "
                    "no entry names."),
    ORR_FIELD_INT(Template, "from-gpus", from_gpus, "1", "The smallest gang that trains this.",
                  .min = 1, .max = 1e7),
    ORR_FIELD_SECTION(Template, "model", model, &orr_model_table, NULL, "Its model.",
                      .document = "model"),
    ORR_FIELD_SECTION(
        Template, "training", training, &orr_training_table, NULL,
        "Its training, as a workload of kind training describes it; batch.global is "
        "of one data-parallel replica, and tp and ep are at most what divides the gang."));

static const OrrFieldTable table =
    ORR_FIELDS("cluster-speed-steps", "Run times from replayed training steps.", Params,
               ORR_FIELD_SECTIONS(
                   Params, "jobs", jobs, &template_table, NULL,
                   "What gangs do, by their model in the trace and their size: the entry for the "
                   "model with the largest from-gpus that the gang reaches."),
               ORR_OPTIONAL_SECTION(
                   Params, "reference", reference, &orr_cluster_table,
                   "The cluster on whose first GPUs a job takes the time that its trace states; "
                   "absent: this one.",
                   .document = "cluster"));

/* Of the entries for @name, NULL: for no model, the last that a gang of @gpus reaches. */
static const Template *largest_of(const Params *params, const char *name, gint64 gpus) {
  const Template *best = NULL;
  ORR_EACH_POINTER(const Template, one, params->jobs) {
    const char *const *names = (const char *const *)one->names;
    const gboolean is_for = name ? g_strv_contains(names, name) : !names[0];
    if (is_for && one->from_gpus <= gpus && (!best || one->from_gpus > best->from_gpus)) best = one;
  }
  return best;
}

static const Template *template_of(const Params *params, const OrrGangClass *place,
                                   GError **error) {
  const Template *own = largest_of(params, place->model ? place->model : "", place->asked);
  if (!own) own = largest_of(params, NULL, place->asked);
  if (!own)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "speed.jobs has no entry for model '%s' and a gang of %ld GPUs: want one with "
                "from-gpus: 1, for that model or for none",
                place->model ? place->model : "", place->asked);
  return own;
}

static gint64 common_divisor(gint64 a, gint64 b) { return b == 0 ? a : common_divisor(b, a % b); }

/* The training of a gang of @gpus: a copy that borrows. */
static OrrTraining training_of(const Template *one, gint64 gpus) {
  OrrTraining training = one->training;
  training.parallel.tp = common_divisor(training.parallel.tp, gpus);
  const gint64 per_replica = training.parallel.tp * training.parallel.pp * training.parallel.cp;
  training.parallel.dp = 0;
  training.parallel.ep = common_divisor(training.parallel.ep, gpus / training.parallel.pp);
  training.batch.global_size *= MAX(gpus / per_replica, 1);
  return training;
}

static void check(const void *data, const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const Params *params = data;
  gboolean has_names = FALSE;
  ORR_EACH_POINTER(Template, one, params->jobs) {
    has_names |= one->names[0] != NULL;
    orr_model_settle(&one->model, place, diags);
  }
  if (!has_names && !largest_of(params, NULL, 1))
    orr_diags_error(diags, place,
                    "speed steps has no job for a gang of 1 GPU: want an entry with from-gpus: 1");
}

/* --- Replays --- */

/* The GPUs of a gang: the first of each of its nodes. */
static GArray *gpus_of(const OrrGangClass *place, gint64 per_node) {
  GArray *gpus = g_array_new(FALSE, FALSE, sizeof(gint64));
  ORR_EACH(const OrrGangShare, share, place->shares) {
    for (gint64 k = 0; k < share->gpus; k++) ORR_APPEND(gpus, gint64, share->bin * per_node + k);
  }
  return gpus;
}

static GArray *first_gpus(gint64 n) {
  GArray *gpus = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (gint64 gpu = 0; gpu < n; gpu++) g_array_append_val(gpus, gpu);
  return gpus;
}

typedef struct {
  const OrrWorld *world;
  OrrPart part;
} Replay;

static gboolean replay(const Replay *replay, const GArray *gpus, const double *shares, guint n,
                       OrrPartTimes *ret_times, GError **error) {
  OrrPart parts[ORR_GANG_N_FREES];
  for (guint i = 0; i < n; i++) {
    parts[i] = replay->part;
    parts[i].gpus = (const gint64 *)(const void *)gpus->data;
    parts[i].n_gpus = gpus->len;
    parts[i].switch_share = shares[i];
  }
  const OrrParts *runs = replay->world->parts;
  return runs->replay(runs->user, parts, n, ret_times, error);
}

static gboolean reference_s(const Params *params, const Replay *own, gint64 n, double *ret_s,
                            GError **error) {
  g_autoptr(GArray) gpus = first_gpus(n);
  static const double whole = 1;
  OrrPartTimes times;
  Replay there = *own;
  if (params->reference.device.name) there.part.cluster = &params->reference;
  if (n > orr_cluster_n_gpus(there.part.cluster))
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "speed.reference has fewer GPUs than a gang of %ld", n);
  if (!replay(&there, gpus, &whole, 1, &times, error)) return FALSE;
  *ret_s = times.seconds;
  return TRUE;
}

static const double frees[ORR_GANG_N_FREES] = {1, 0.5, 0.25};

/* A gang in one leaf is replayed once: it sends nothing over the links above. */
static gboolean replay_all(const Replay *own, const OrrGangClass *place, OrrPartTimes *ret_times,
                           GError **error) {
  g_autoptr(GArray) gpus = gpus_of(place, own->world->cluster->node.gpus);
  const guint n = place->leaves > 1 ? ORR_GANG_N_FREES : 1;
  if (!replay(own, gpus, frees, n, ret_times, error)) return FALSE;
  for (guint i = n; i < ORR_GANG_N_FREES; i++) ret_times[i] = ret_times[0];
  return TRUE;
}

/* Of the busiest link between switches: its bytes over what it could carry in a step alone. A link
 * that cannot limit a flow is not replayed, so the most of the three is taken. */
static double uplink_of(const OrrPartTimes *times) {
  double most = 0;
  for (int i = 0; i < ORR_GANG_N_FREES; i++)
    most = fmax(most, times[i].switch_use * frees[i] * times[i].seconds / times[0].seconds);
  return fmin(most, 1);
}

static gboolean check_room(const Replay *own, double gpu_bytes, GError **error) {
  const double room = own->world->cluster->device.memory_bytes;
  if (gpu_bytes <= room) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "%s: its training needs %.1f GiB of memory on a GPU, which has %.1f",
                       own->part.name, gpu_bytes / (1 << 30), room / (1 << 30));
}

static char *name_of(const Template *one, gint64 gpus) {
  return g_strdup_printf("%s on %ld GPUs", one->model.name ? one->model.name : "", gpus);
}

/* Samples per second of a gang of @gpus at the reference. */
static gboolean samples_per_s(const Params *params, const OrrWorld *world, const Template *one,
                              gint64 gpus, double *ret_speed, GError **error) {
  const OrrTraining training = training_of(one, gpus);
  g_autofree char *name = name_of(one, gpus);
  const Replay own = {world,
                      {.name = name,
                       .kind = &orr_training_kind,
                       .params = &training,
                       .model = &one->model,
                       .cluster = world->cluster}};
  double step_s = 0;
  if (!reference_s(params, &own, gpus, &step_s, error)) return FALSE;
  *ret_speed = (double)training.batch.global_size / step_s;
  return TRUE;
}

static gboolean resized(const void *data, const OrrWorld *world, const OrrGangClass *place,
                        double *ret_speed, GError **error) {
  const Params *params = data;
  const Template *one = template_of(params, place, error);
  double asked = 0, found = 0;
  if (!one || !samples_per_s(params, world, one, place->asked, &asked, error) ||
      !samples_per_s(params, world, one, place->gpus, &found, error))
    return FALSE;
  *ret_speed = found / asked;
  return TRUE;
}

static gboolean pace(const void *data, const OrrWorld *world, const OrrGangClass *place,
                     OrrGangPace *ret_pace, GError **error) {
  const Params *params = data;
  const Template *one = template_of(params, place, error);
  if (!one) return FALSE;
  const OrrTraining training = training_of(one, place->gpus);
  g_autofree char *name = name_of(one, place->gpus);
  const Replay own = {world,
                      {.name = name,
                       .kind = &orr_training_kind,
                       .params = &training,
                       .model = &one->model,
                       .cluster = world->cluster}};
  OrrPartTimes times[ORR_GANG_N_FREES];
  double whole_s = 0;
  if (!replay_all(&own, place, times, error) || !check_room(&own, times[0].gpu_bytes, error) ||
      !reference_s(params, &own, place->gpus, &whole_s, error))
    return FALSE;
  for (int i = 0; i < ORR_GANG_N_FREES; i++) ret_pace->slow[i] = times[i].seconds / whole_s;
  ret_pace->uplink = place->leaves > 1 ? uplink_of(times) : 0;
  ret_pace->watts = times[0].gpu_energy_j / times[0].seconds;
  return TRUE;
}

static const char *why_no_band(const void *data) {
  const Params *params = data;
  return params->reference.device.name
             ? "speeds compare two machines, and no measured run says how far off that is"
             : NULL;
}

const OrrGangSpeedKind orr_gang_speed_steps = {
    .entry = {"steps", "Run times follow a training step, replayed on the nodes that a gang got.",
              &table},
    .check = check,
    .why_no_band = why_no_band,
    .pace = pace,
    .resized = resized,
};

/*
 * training_sharding - plans what replicas send each other, according to job->sharding
 * (workloads/training/sharding/sharding.h).
 *
 *   gradients    buckets of layers in the order of the backward: an all-reduce; where optimizer
 *                state is sharded a reduce-scatter, and with several copies of the model an
 *                all-reduce over the copies
 *   weights      an all-gather per layer, where weights are sharded or gathered during the next
 *                forward
 *   parameters   else an all-gather of all weights after the update, where optimizer state is
 *                sharded
 *
 * Equal buckets share one plan.
 */
#include "workloads/training/comm/training_sharding.h"

/* The names of communications of one weight set. */
typedef struct {
  const char *gradients, *copies, *weights, *again, *parameters;
} Names;
static const Names names[] = {
    [ORR_WEIGHTS_DENSE] = {"dp-gradients", "dp-gradients-copies", "dp-weights", "dp-weights-again",
                           "dp-parameters"},
    [ORR_WEIGHTS_EXPERTS] = {"expert-gradients", "expert-gradients-copies", "expert-weights",
                             "expert-weights-again", "expert-parameters"},
};

/* What is planned: the communications of one weight set on one stage. */
typedef struct {
  OrrShardingTraffic *sharding;
  OrrTraffic *traffic;
  const OrrJob *job;
  OrrWeightSet set;
  gint64 stage;
} Planner;

/* A communication of the groups of a stage, made @count times per step. */
typedef struct {
  const char *name;
  gint64 count;
  OrrCallSpec call;
} Request;

static gboolean is_bidirectional(const OrrJob *job) {
  return orr_pipeline_n_directions(job->schedule) > 1;
}

/* One plan for all groups on @stage, which call at the same time. */
static gboolean plan_stage(OrrTraffic *traffic, gint64 stage, const Request *request,
                           OrrCommPlan *ret_plan, GError **error) {
  const OrrJob *job = traffic->job;
  OrrCalls calls;
  gint64 stages[2] = {stage, stage};
  const guint n_stages = is_bidirectional(job) ? orr_job_holders(job, stage, stages) : 1;
  orr_calls_across(&calls, job, &request->call, stages, n_stages);
  const gboolean planned =
      orr_traffic_plan(traffic, request->name, request->count, &calls, ret_plan, error);
  orr_calls_clear(&calls);
  return planned;
}

/* One collective per tensor, one after the other; the request's bytes are an element's. */
static gboolean plan_tensors(OrrTraffic *traffic, const Request *request, const GArray *tensors,
                             OrrCommPlan *ret_plan, GError **error) {
  ORR_EACH_VALUE(const double, value, tensors) {
    OrrCommPlan one = {0};
    Request tensor = *request;
    tensor.call.bytes = value * request->call.bytes;
    if (!plan_stage(traffic, 0, &tensor, &one, error)) return FALSE;
    orr_comm_plan_append(ret_plan, &one);
  }
  return TRUE;
}

/* A bidirectional schedule holds each block on two stages: its gradients count at the stage of the
 * block's number, whose chunk 0 it is. */
static gint64 n_chunks(const OrrJob *job) { return is_bidirectional(job) ? 1 : job->shape.chunks; }

static OrrWeights layer_weights(const Planner *planner, const GArray *layers, guint i) {
  return orr_job_layer_weights(planner->job, planner->stage, g_array_index(layers, guint, i));
}

static double stage_parameters(const Planner *planner) {
  double sum = 0;
  for (gint64 chunk = n_chunks(planner->job); chunk-- > 0;) {
    const GArray *layers = orr_job_layers(planner->job, planner->stage, chunk);
    for (guint i = 0; i < layers->len; i++)
      sum += orr_weight_set_parameters(layer_weights(planner, layers, i), planner->set);
  }
  return sum;
}

/* --- gradients --- */

/* Cuts one chunk's layers, in the order of their backward, into buckets. The stage's first bucket
 * can have another size. Chunks continue each other's @open bucket, unless each pass reduces. */
static void cut_chunk(const Planner *planner, gint64 chunk, OrrBucket *open, GArray *buckets) {
  const OrrJob *job = planner->job;
  const OrrShardingPlan *sharding = &job->sharding;
  const GArray *layers = orr_job_layers(job, planner->stage, chunk);
  for (guint i = layers->len; i-- > 0;) {
    open->n_layers++;
    open->spec = g_array_index(layers, guint, i);
    open->bytes += orr_weight_set_parameters(layer_weights(planner, layers, i), planner->set) *
                   job->gradient_bytes_each;
    const gboolean ends = i == 0 && (chunk == 0 || sharding->reduces_each_pass);
    const double full = buckets->len == 0 ? sharding->first_bucket_bytes : sharding->bucket_bytes;
    if (!ends && open->bytes < full) continue;
    g_array_append_vals(buckets, open, 1);
    *open = (OrrBucket){0};
  }
}

/* A plan that @sharding owns. */
static const OrrCommPlan *plan_bucket(const Planner *planner, const Request *request,
                                      GError **error) {
  g_autofree OrrCommPlan *plan = g_new0(OrrCommPlan, 1);
  if (!plan_stage(planner->traffic, planner->stage, request, plan, error)) return NULL;
  g_ptr_array_add(planner->sharding->bucket_plans, plan);
  return g_steal_pointer(&plan);
}

static const OrrCommPlan *plan_tensor_bucket(const Planner *planner, gint64 count, guint spec,
                                             GError **error) {
  const OrrJob *job = planner->job;
  g_autofree OrrCommPlan *plan = g_new0(OrrCommPlan, 1);
  g_autoptr(GArray) tensors = orr_training_by_tensor_sizes(job, spec);
  const Request request = {
      names[ORR_WEIGHTS_DENSE].gradients,
      count,
      {ORR_REDUCE_SCATTER, job->gradient_bytes_each, orr_grouping_shards(job, ORR_WEIGHTS_DENSE)}};
  if (!plan_tensors(planner->traffic, &request, tensors, plan, error)) return NULL;
  g_ptr_array_add(planner->sharding->bucket_plans, plan);
  return g_steal_pointer(&plan);
}

static const OrrBucket *find_equal(const GArray *buckets, guint before) {
  for (guint k = 0; k < before; k++)
    if (g_array_index(buckets, OrrBucket, k).bytes ==
        g_array_index(buckets, OrrBucket, before).bytes)
      return &g_array_index(buckets, OrrBucket, k);
  return NULL;
}

/* Bytes of the bucket that a rank of one copy holds and all copies sum; 0: there is one copy. */
static double copies_bytes(const Planner *planner, const OrrBucket *bucket) {
  const OrrJob *job = planner->job;
  const gboolean copies =
      job->sharding.optimizer && orr_grouping_copies(job, planner->set).size > 1;
  return copies ? bucket->bytes / (double)orr_job_shard_ranks(job, planner->set) : 0;
}

/* What the groups of replicas call for a bucket. */
static OrrCallSpec reduction_of(const Planner *planner, const OrrBucket *bucket) {
  const OrrJob *job = planner->job;
  const gboolean sharded = job->sharding.optimizer;
  return (OrrCallSpec){sharded ? ORR_REDUCE_SCATTER : ORR_ALL_REDUCE, bucket->bytes,
                       sharded ? orr_grouping_shards(job, planner->set)
                               : orr_grouping_replicas(job, planner->set)};
}

static gboolean plan_reduction(const Planner *planner, gint64 count, OrrBucket *bucket,
                               GError **error) {
  const OrrJob *job = planner->job;
  const OrrWeightSet set = planner->set;
  if (job->sharding.by_tensor && set == ORR_WEIGHTS_DENSE) {
    bucket->reduction = plan_tensor_bucket(planner, count, bucket->spec, error);
    return bucket->reduction != NULL;
  }
  const Request reduction = {names[set].gradients, count, reduction_of(planner, bucket)};
  bucket->reduction = plan_bucket(planner, &reduction, error);
  const double rest = copies_bytes(planner, bucket);
  if (bucket->reduction && rest > 0) {
    const Request copies = {
        names[set].copies, count, {ORR_ALL_REDUCE, rest, orr_grouping_copies(job, set)}};
    bucket->copies = plan_bucket(planner, &copies, error);
  }
  return bucket->reduction && (rest == 0 || bucket->copies);
}

static gboolean plan_buckets(const Planner *planner, GError **error) {
  const OrrJob *job = planner->job;
  GArray *buckets = planner->sharding->buckets[planner->set][planner->stage];
  OrrBucket open = {0};
  for (gint64 chunk = n_chunks(job); chunk-- > 0;) cut_chunk(planner, chunk, &open, buckets);
  if (orr_grouping_n_holders(job, planner->set) == 1) return TRUE;
  const gint64 count = buckets->len * (job->sharding.reduces_each_pass ? orr_job_passes(job) : 1);
  ORR_EACH_AT(b, OrrBucket, bucket, buckets) {
    const OrrBucket *equal = find_equal(buckets, b);
    if (equal) {
      bucket->reduction = equal->reduction;
      bucket->copies = equal->copies;
    } else if (!plan_reduction(planner, count, bucket, error)) {
      return FALSE;
    }
  }
  return TRUE;
}

/* --- weights --- */

/* How often a step gathers the stage's layers of @spec. */
static gint64 n_gathers(const OrrJob *job, gint64 stage, guint spec) {
  const gboolean again = job->sharding.gathers_again && !job->params->evaluation;
  const gint64 passes = orr_job_passes(job) * (orr_job_forwards(job) + again);
  return orr_job_n_layers(job, stage, spec) * (job->sharding.weights ? passes : 1);
}

/* Layer by layer, one tensor after the other, in a forward and in a backward. */
static gboolean plan_lists(const Planner *planner, GError **error) {
  const OrrJob *job = planner->job;
  OrrShardingTraffic *sharding = planner->sharding;
  OrrTraffic *traffic = planner->traffic;
  const guint n = job->layout.specs->len;
  sharding->weights_again = g_new0(OrrCommPlan, n);
  sharding->lists = g_new0(OrrListWork, n);
  for (guint spec = 0; spec < n; spec++) {
    g_autoptr(GArray) tensors = orr_training_by_tensor_sizes(job, spec);
    g_autoptr(GArray) again = orr_training_by_tensor_regathered(job, spec, tensors);
    const gint64 count = orr_job_n_layers(job, 0, spec) * orr_job_passes(job);
    const OrrCallSpec call = {ORR_ALL_GATHER, orr_dtype_bytes(job->shard.dtype),
                              orr_grouping_shards(job, ORR_WEIGHTS_DENSE)};
    const Request weights = {names[ORR_WEIGHTS_DENSE].weights, count, call};
    const Request regathered = {names[ORR_WEIGHTS_DENSE].again, count, call};
    sharding->lists[spec] = orr_list_work_of(job, spec);
    OrrCommPlan *forward = &sharding->weights[ORR_WEIGHTS_DENSE][spec];
    OrrCommPlan *back = &sharding->weights_again[spec];
    if (!plan_tensors(traffic, &weights, tensors, forward, error) ||
        !plan_tensors(traffic, &weights, tensors, back, error) ||
        !plan_tensors(traffic, &regathered, again, back, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean plan_weights(const Planner *planner, GError **error) {
  const OrrJob *job = planner->job;
  const OrrWeightSet set = planner->set;
  const gint64 stage = planner->stage;
  const guint n = job->layout.specs->len;
  if (job->sharding.by_tensor && set == ORR_WEIGHTS_DENSE) return plan_lists(planner, error);
  for (guint spec = 0; spec < n; spec++) {
    const OrrWeights weights = orr_job_layer_weights(job, stage, spec);
    const double bytes = orr_job_gather_bytes(job, weights, set);
    if (bytes == 0 || orr_job_n_layers(job, stage, spec) == 0) continue;
    const Request request = {names[set].weights,
                             n_gathers(job, stage, spec),
                             {ORR_ALL_GATHER, bytes, orr_grouping_shards(job, set)}};
    OrrCommPlan *plan = &planner->sharding->weights[set][stage * n + spec];
    if (!plan_stage(planner->traffic, stage, &request, plan, error)) return FALSE;
  }
  return TRUE;
}

static double stage_gather_bytes(const Planner *planner) {
  const OrrJob *job = planner->job;
  double bytes = 0;
  for (gint64 chunk = n_chunks(job); chunk-- > 0;) {
    const GArray *layers = orr_job_layers(job, planner->stage, chunk);
    for (guint i = 0; i < layers->len; i++)
      bytes += orr_job_gather_bytes(job, layer_weights(planner, layers, i), planner->set);
  }
  return bytes;
}

/* After the update, where weights are not gathered layer by layer. */
static gboolean plan_parameters(const Planner *planner, GError **error) {
  const OrrWeightSet set = planner->set;
  const Request request = {
      names[set].parameters,
      1,
      {ORR_ALL_GATHER, stage_gather_bytes(planner), orr_grouping_shards(planner->job, set)}};
  return plan_stage(planner->traffic, planner->stage, &request,
                    &planner->sharding->parameters[set][planner->stage], error);
}

/* --- all of it --- */

static gboolean plan_set(OrrShardingTraffic *sharding, OrrTraffic *traffic, OrrWeightSet set,
                         GError **error) {
  const OrrJob *job = traffic->job;
  const gboolean only_holder = orr_grouping_n_holders(job, set) == 1;
  const gboolean to_host = job->params->offload.optimizer > 0;
  for (gint64 stage = 0; stage < job->pp; stage++) {
    const Planner planner = {sharding, traffic, job, set, stage};
    if (stage_parameters(&planner) == 0 || (only_holder && !to_host)) continue;
    if (!job->params->evaluation && !plan_buckets(&planner, error)) return FALSE;
    if (orr_job_shard_ranks(job, set) == 1 || (job->params->evaluation && !job->sharding.weights))
      continue;
    if (!(orr_job_gathers(job) ? plan_weights : plan_parameters)(&planner, error)) return FALSE;
  }
  return TRUE;
}

gboolean orr_sharding_traffic_init(OrrShardingTraffic *sharding, OrrTraffic *traffic,
                                   GError **error) {
  const OrrJob *job = traffic->job;
  *sharding = (OrrShardingTraffic){.bucket_plans = g_ptr_array_new()};
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    sharding->buckets[set] = g_new0(GArray *, job->pp + 1);
    sharding->parameters[set] = g_new0(OrrCommPlan, job->pp);
    sharding->weights[set] = g_new0(OrrCommPlan, job->pp * job->layout.specs->len);
    for (gint64 stage = 0; stage < job->pp; stage++)
      sharding->buckets[set][stage] = g_array_new(FALSE, FALSE, sizeof(OrrBucket));
  }
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++)
    if (!plan_set(sharding, traffic, set, error)) return FALSE;
  return TRUE;
}

/* --- at least --- */

/* The stage's first group alone: all groups together take no less. */
static double alone_s(const Planner *planner, const OrrCallSpec *spec) {
  const gint64 first = 0;
  OrrCalls calls;
  if (spec->grouping.size == 1) return 0;
  orr_calls_within(&calls, planner->job, spec,
                   &(OrrRankRanges){planner->stage, &first, 1, spec->grouping.size});
  const double seconds = orr_traffic_alone_s(planner->traffic, &calls.calls[0]);
  orr_calls_clear(&calls);
  return seconds;
}

static double bucket_s(const Planner *planner, const OrrBucket *bucket) {
  const OrrJob *job = planner->job;
  const OrrWeightSet set = planner->set;
  const double rest = copies_bytes(planner, bucket);
  const OrrCallSpec reduction = reduction_of(planner, bucket),
                    copies = {ORR_ALL_REDUCE, rest, orr_grouping_copies(job, set)};
  return alone_s(planner, &reduction) + (rest > 0 ? alone_s(planner, &copies) : 0);
}

static double last_buckets_s(const Planner *planner) {
  const OrrShardingPlan *sharding = &planner->job->sharding;
  g_autoptr(GArray) buckets = g_array_new(FALSE, FALSE, sizeof(OrrBucket));
  OrrBucket open = {0};
  for (gint64 chunk = n_chunks(planner->job); chunk-- > 0;)
    cut_chunk(planner, chunk, &open, buckets);
  double sum = 0, each = 0;
  for (guint b = buckets->len; b-- > 0;) {
    const OrrBucket *bucket = &g_array_index(buckets, OrrBucket, b);
    if (b + 1 == buckets->len || bucket->bytes != bucket[1].bytes) each = bucket_s(planner, bucket);
    sum += each;
    if (sharding->overlap || sharding->reduces_each_pass) break;
  }
  return sum;
}

/* Whether the gradients or weights of the set are exchanged in a way that has a bound here. */
static gboolean is_bounded(const Planner *planner) {
  const OrrJob *job = planner->job;
  return !job->params->evaluation && !is_bidirectional(job) && !job->sharding.by_tensor &&
         orr_grouping_n_holders(job, planner->set) > 1 && stage_parameters(planner) > 0;
}

double orr_sharding_traffic_last_s(OrrTraffic *traffic, gint64 stage) {
  double sum = 0;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    const Planner planner = {NULL, traffic, traffic->job, set, stage};
    if (is_bounded(&planner)) sum += last_buckets_s(&planner);
  }
  return sum;
}

double orr_sharding_traffic_parameters_s(OrrTraffic *traffic, gint64 stage) {
  const OrrJob *job = traffic->job;
  double sum = 0;
  for (int set = 0; set < ORR_N_WEIGHT_SETS && !orr_job_gathers(job); set++) {
    const Planner planner = {NULL, traffic, job, set, stage};
    if (!is_bounded(&planner) || orr_job_shard_ranks(job, set) == 1) continue;
    const OrrCallSpec spec = {ORR_ALL_GATHER, stage_gather_bytes(&planner),
                              orr_grouping_shards(job, set)};
    sum += alone_s(&planner, &spec);
  }
  return sum;
}

void orr_sharding_traffic_clear(OrrShardingTraffic *sharding, const OrrJob *job) {
  const gsize n_specs = job->layout.specs->len;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    for (gint64 stage = 0; stage < job->pp; stage++) g_array_unref(sharding->buckets[set][stage]);
    g_free(sharding->buckets[set]);
    orr_comm_plan_free_all(sharding->parameters[set], job->pp);
    orr_comm_plan_free_all(sharding->weights[set], job->pp * n_specs);
  }
  orr_comm_plan_free_all(sharding->weights_again, n_specs);
  g_free(sharding->lists);
  for (guint i = 0; i < sharding->bucket_plans->len; i++)
    orr_comm_plan_free_all(g_ptr_array_index(sharding->bucket_plans, i), 1);
  g_ptr_array_unref(sharding->bucket_plans);
}

gboolean orr_sharding_traffic_reduces(const OrrShardingTraffic *sharding, gint64 stage) {
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++)
    if (sharding->buckets[set][stage]->len > 0) return TRUE;
  return FALSE;
}

void orr_sharding_traffic_load(const OrrShardingTraffic *sharding, const OrrTraffic *traffic,
                               guint64 *load) {
  const OrrJob *job = traffic->job;
  const guint n_specs = job->layout.specs->len;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    for (gint64 stage = 0; stage < job->pp; stage++) {
      ORR_EACH(const OrrBucket, bucket, sharding->buckets[set][stage]) {
        orr_traffic_load(traffic, bucket->reduction, stage, load);
        orr_traffic_load(traffic, bucket->copies, stage, load);
      }
      orr_traffic_load(traffic, &sharding->parameters[set][stage], stage, load);
    }
    for (guint i = 0; i < (guint)job->pp * n_specs; i++)
      orr_traffic_load(traffic, &sharding->weights[set][i], i / n_specs, load);
  }
}

void orr_sharding_traffic_cover(const OrrShardingTraffic *sharding, const OrrTraffic *traffic,
                                guint8 *links) {
  const OrrJob *job = traffic->job;
  for (int set = 0; set < ORR_N_WEIGHT_SETS; set++) {
    for (guint i = 0; i < (guint)job->pp * job->layout.specs->len; i++)
      orr_traffic_cover(traffic, &sharding->weights[set][i], links);
    for (gint64 s = 0; job->sharding.overlap && s < job->pp; s++)
      if (sharding->buckets[set][s]->len > 0)
        orr_traffic_cover(traffic, g_array_index(sharding->buckets[set][s], OrrBucket, 0).reduction,
                          links);
  }
}

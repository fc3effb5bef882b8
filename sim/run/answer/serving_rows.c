/*
 * serving_rows.c - a finished serving run as rows.
 *
 *   requests       latencies and percentiles of answer_private.h, per class and overall
 *   replicas       each keeps sums over its steps (OrrServedReplica); the ratio of two sums is a
 *                  mean over the time of steps: used blocks, running requests, busy time
 *   trace          where the arrivals come from a measured trace: errors against its latencies
 */
#include "sim/run/answer/answer_private.h"

static char *interned(const char *text) { return (char *)g_intern_string(text); }

/* --- Requests --- */

static const char *class_name(const OrrServing *params, guint group) {
  return params->classes && group < params->classes->len
             ? ((const OrrRequestClass *)params->classes->pdata[group])->name
             : "all";
}

typedef struct {
  GArray *ttft, *tpot, *e2e, *queue; /* of double */
  guint64 input, output, good, late_first, late_gap, n;
  double first_s, last_s;
} Counted;

static void counted_init(Counted *counted) {
  *counted = (Counted){.first_s = G_MAXDOUBLE};
  GArray **const arrays[] = {&counted->ttft, &counted->tpot, &counted->e2e, &counted->queue};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
    *arrays[i] = g_array_new(FALSE, FALSE, sizeof(double));
}

static void counted_clear(Counted *counted) {
  GArray *const arrays[] = {counted->ttft, counted->tpot, counted->e2e, counted->queue};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++) g_array_unref(arrays[i]);
}

gboolean orr_serving_rows_count(const OrrServingWork *work, double arrival_s, double left_s) {
  if (work->params.metrics.window != ORR_WINDOW_STEADY)
    return arrival_s >= work->params.metrics.warmup_s;
  return left_s > work->steady.begin_s && left_s <= work->steady.end_s;
}

/* Counts the requests of class @group; G_MAXUINT: of all classes. */
static void count_requests(const OrrServingWork *work, guint group, Counted *counted) {
  ORR_EACH(const OrrServedRequest, request, work->requests) {
    const OrrServingRequestRow *row = &request->row;
    if (!orr_serving_rows_count(work, row->arrival_s, request->left_s) ||
        (group != G_MAXUINT && request->group != group))
      continue;
    g_array_append_val(counted->ttft, row->ttft_s);
    if (row->output_tokens > 1) g_array_append_val(counted->tpot, row->tpot_s);
    g_array_append_val(counted->e2e, row->e2e_s);
    g_array_append_val(counted->queue, row->queue_s);
    counted->n++;
    counted->good += row->good != FALSE;
    counted->late_first += !request->first_is_good;
    counted->late_gap += !request->gap_is_good;
    counted->input += (guint64)row->input_tokens;
    counted->output += (guint64)(row->output_tokens * orr_serving_outputs(&work->params));
    counted->first_s = fmin(counted->first_s, row->arrival_s);
    counted->last_s = fmax(counted->last_s, request->end_s);
  }
  if (counted->n > 0 && work->params.metrics.warmup_s == 0) /* as serving_task_rows.c has it */
    ORR_EACH(const OrrServingTaskRow, task, work->tasks) {
      counted->first_s = fmin(counted->first_s, task->arrival_s);
      counted->last_s = work->end_s;
    }
  if (work->params.metrics.window != ORR_WINDOW_STEADY) return;
  counted->first_s = work->steady.begin_s;
  counted->last_s = work->steady.end_s;
}

/* --- Comparison with a measured trace --- */

static void add_error(GArray *errors, double simulated, double measured) {
  const double error = fabs(simulated / measured - 1);
  if (measured > 0) g_array_append_val(errors, error);
}

static void fill_errors(const OrrServingWork *work, OrrServingResult *result) {
  double *const medians[] = {&result->ttft_error_p50, &result->tpot_error_p50,
                             &result->e2e_error_p50};
  double *const tails[] = {&result->ttft_error_p90, &result->tpot_error_p90,
                           &result->e2e_error_p90};
  GArray *errors[3];
  for (int k = 0; k < 3; k++) errors[k] = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < work->requests->len; i++) {
    const OrrServingRequestRow *row = &g_array_index(work->requests, OrrServedRequest, i).row;
    if (isnan(row->measured_e2e_s)) continue;
    add_error(errors[0], row->ttft_s, row->measured_ttft_s);
    add_error(errors[1], row->tpot_s, row->measured_tpot_s);
    add_error(errors[2], row->e2e_s, row->measured_e2e_s);
  }
  for (int k = 0; k < 3; k++) {
    const OrrLatencies spread = orr_latencies_of(errors[k]);
    *medians[k] = spread.p50;
    *tails[k] = spread.p90;
    g_array_unref(errors[k]);
  }
}

enum { BATCHES = 10, FEWEST_TO_A_BATCH = 10 };

/* Standard error of the mean of @values, which follow one another in time: neighbours wait in the
 * same queue, so equal batches of them stand for draws (batch means: Law and Kelton 1984,
 * Operations Research 32(6)). */
static double error_of_mean(const GArray *values) {
  const double *data = (const double *)(const void *)values->data;
  const guint each = values->len / BATCHES;
  double means[BATCHES] = {0}, mean = 0, squares = 0;
  if (each < FEWEST_TO_A_BATCH) return NAN;
  for (guint i = 0; i < each * BATCHES; i++) means[i / each] += data[i] / each;
  for (guint b = 0; b < BATCHES; b++) mean += means[b] / BATCHES;
  for (guint b = 0; b < BATCHES; b++) squares += pow(means[b] - mean, 2);
  return sqrt(squares / (BATCHES * (BATCHES - 1)));
}

static const OrrLatencies unknown_latencies = {NAN, NAN, NAN, NAN, NAN};

static void fill_latencies(OrrServingWork *work, Counted *counted, OrrServingResult *result) {
  result->ttft = result->tpot = result->e2e = result->queue = result->itl = unknown_latencies;
  result->ttft_stderr_s = error_of_mean(counted->ttft);
  result->e2e_stderr_s = error_of_mean(counted->e2e);
  if (counted->n == 0) return;
  result->ttft = orr_latencies_of(counted->ttft);
  result->tpot = orr_latencies_of(counted->tpot);
  result->e2e = orr_latencies_of(counted->e2e);
  result->queue = orr_latencies_of(counted->queue);
  result->itl = work->params.metrics.definition == ORR_METRICS_AIPERF
                    ? result->tpot
                    : orr_latencies_of_gaps(work->gaps);
}

/* From the first arrival to the last; 0: all come at once. */
static double arrivals_s(const OrrServingWork *work) {
  return work->last_arrival_s - work->first_arrival_s;
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* Whether waits grew until the last arrival in a run too short for a steady state, by more than a
 * passing burst: in the second half the mean number that waits rises by 20 % from quarter to
 * quarter, and by Little's law a wait exceeds 1 s; and the run needs 5 % more time after the last
 * arrival. The number, unlike the waits of single requests, does not depend on who goes first. */
static gboolean waits_grow(const OrrServingWork *work) {
  const OrrArrival *load = (const OrrArrival *)work->params.load.entry;
  const double quarter_s = arrivals_s(work) / 4, last_s = work->end_s - work->last_arrival_s;
  if (load->after || work->requests->len < 20 || quarter_s <= 0) return FALSE;
  double waiting_s[4] = {0}; /* in each quarter, of all requests */
  for (guint i = 0; i < work->requests->len; i++) {
    const OrrServingRequestRow *row = &g_array_index(work->requests, OrrServedRequest, i).row;
    const double came_s = row->arrival_s - work->first_arrival_s;
    for (int q = 0; q < 4; q++)
      waiting_s[q] +=
          fmax(0, fmin(came_s + row->queue_s, (q + 1) * quarter_s) - fmax(came_s, q * quarter_s));
  }
  return waiting_s[3] > 1.2 * waiting_s[2] && waiting_s[2] > 1.2 * waiting_s[1] &&
         waiting_s[3] > work->requests->len / 4.0 && last_s > 4 * 0.05 * quarter_s;
}

/* Requests that were left at the last arrival, per second since the first. */
static double left_per_s(const OrrServingWork *work) {
  guint left = 0;
  for (guint i = 0; i < work->requests->len; i++)
    left += g_array_index(work->requests, OrrServedRequest, i).left_s > work->last_arrival_s;
  return left / arrivals_s(work);
}

/* Rates of the steady state, which the rest of the run does not change. */
static void fill_steady(const OrrServingWork *work, OrrServingResult *result) {
  const OrrSteady *steady = &work->steady;
  const double window_s = steady->end_s - steady->begin_s;
  double n = 0, tokens = 0;
  ORR_EACH(const OrrServedRequest, request, work->requests) {
    if (request->left_s <= steady->begin_s || request->left_s > steady->end_s) continue;
    n++;
    tokens += (double)(request->row.output_tokens * orr_serving_outputs(&work->params));
  }
  const double tasks = orr_serving_task_rows_growth(work);
  result->steady = steady->state == ORR_STEADY_HOLDS && tasks == 0;
  const gboolean waits = steady->state == ORR_STEADY_SHORT && waits_grow(work);
  result->saturated = waits || steady->state == ORR_STEADY_GROWS || tasks > 0;
  result->steady_begin_s = steady->begin_s;
  result->steady_end_s = steady->end_s;
  result->steady_requests_per_s = result->steady ? n / window_s : NAN;
  result->steady_output_tokens_per_s = result->steady ? tokens / window_s : NAN;
  result->steady_margin = result->steady ? steady->margin : NAN;
  result->steady_good_error = result->steady ? steady->good_error : NAN;
  result->residence_s = steady->residence_s;
  result->in_system_mean = steady->in_system - steady->at_clients;
  result->growth_rps = tasks > 0 ? tasks : waits ? left_per_s(work) : steady->growth_rps;
}

static void fill_rates(const OrrServingWork *work, const Counted *counted,
                       OrrServingResult *result) {
  const double duration_s = fmax(counted->last_s - counted->first_s, 1e-12);
  result->completed = (gint64)counted->n;
  ORR_EACH(const OrrUnserved, one, work->unserved)
    if (orr_serving_rows_count(work, one->arrival_s, one->at_s))
      (*(one->is_failed ? &result->failed : &result->rejected))++;
  result->retried = work->retried;
  result->handover_bytes = work->handover_bytes;
  if (work->handovers > 0) result->handover_mean_s = work->handover_s / (double)work->handovers;
  result->duration_s = counted->n > 0 ? counted->last_s - counted->first_s : 0;
  const OrrTokenWindow *window = &work->window;
  result->output_tokens_per_s = (double)counted->output / duration_s;
  if (work->params.metrics.window == ORR_WINDOW_FULL)
    result->output_tokens_per_s = window->end_s > window->begin_s
                                      ? (double)window->tokens / (window->end_s - window->begin_s)
                                      : 0;
  result->input_tokens_per_s = (double)counted->input / duration_s;
  result->total_tokens_per_s = result->output_tokens_per_s + result->input_tokens_per_s;
  result->output_tokens_per_s_per_gpu = result->output_tokens_per_s / (double)work->work.n_gpus;
  result->missed_ttft = ratio((double)counted->late_first, (double)counted->n);
  result->missed_tpot = ratio((double)counted->late_gap, (double)counted->n);
  result->client_wait_mean_s = ratio(work->client_wait_s, work->requests->len);
  result->requests_per_s = (double)counted->n / duration_s;
  result->goodput_rps = (double)counted->good / duration_s;
  result->offered_rps = arrivals_s(work) > 0 ? (double)(work->arrived - 1) / arrivals_s(work) : NAN;
  if (work->cycle.period_s > 0)
    result->offered_rps = (double)work->cycle.requests / work->cycle.period_s;
}

/* Sums over the replicas. */
typedef struct {
  double held_s, starting_s, busy_s, busiest_s, comm_s;
  double stepped_s, running_s;        /* time of steps, and of running requests within them */
  double cache_block_s, used_block_s; /* blocks times the time of steps */
  double hits, looked_up;             /* tokens of prompts in the prefix cache */
  double below[ORR_N_TIERS];          /* hits in tiers below HBM */
  double checks, drafted, accepted;   /* speculation */
} Sums;

/* The time of a replica's steps, or of the steps of one stage of its pipeline. */
static double stepped(const OrrServedReplica *replica) {
  return replica->busy_s + replica->host_s + replica->uneven_s;
}

static void add_replica(const OrrServedReplica *replica, double blocks, Sums *sums) {
  sums->stepped_s += stepped(replica);
  sums->cache_block_s += stepped(replica) * blocks;
  sums->used_block_s += replica->used_block_s;
  sums->running_s += replica->running_s;
  sums->busy_s += replica->busy_s;
  sums->busiest_s = fmax(sums->busiest_s, replica->busy_s);
  sums->comm_s += replica->comm_s;
  sums->held_s += replica->held_s;
  sums->starting_s += replica->starting_s;
  sums->hits += (double)replica->hit_tokens;
  sums->looked_up += (double)replica->looked_up_tokens;
  for (int tier = 0; tier < ORR_N_TIERS; tier++)
    sums->below[tier] += (double)replica->tier_tokens[tier];
  sums->checks += (double)replica->checks;
  sums->drafted += (double)replica->drafted;
  sums->accepted += (double)replica->accepted;
}

static void fill_ratios(const OrrServingWork *work, const Sums *sums, OrrServingResult *result) {
  result->kv_utilization = ratio(sums->used_block_s, sums->cache_block_s);
  result->running_mean = ratio(sums->running_s, sums->stepped_s);
  result->gpu_busy = ratio(sums->busy_s, sums->held_s);
  result->replicas_mean = ratio(sums->held_s, work->end_s);
  result->start_mean_s = ratio(sums->starting_s, (double)result->starts);
  result->replica_imbalance = ratio(sums->busiest_s * (double)work->params.replicas, sums->busy_s);
  result->comm_fraction = ratio(sums->comm_s, sums->busy_s);
  result->prefix_hit_rate = ratio(sums->hits, sums->looked_up);
  double *const fractions[] = {&result->prefix_host_rate, &result->prefix_ssd_rate,
                               &result->prefix_remote_rate};
  for (int tier = 0; tier < ORR_N_TIERS; tier++)
    *fractions[tier] = ratio(sums->below[tier], sums->hits);
  result->acceptance_rate = ratio(sums->accepted, sums->drafted);
  result->tokens_per_check = 1 + ratio(sums->accepted, sums->checks);
}

static void fill_from_replicas(const OrrServingWork *work, OrrServingResult *result) {
  Sums sums = {0};
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedReplica *replica = &work->replicas[i];
    const double blocks = orr_served_group_blocks(orr_serving_group(work, (guint)i));
    const OrrFrontEnd *front = &orr_serving_group(work, (guint)i)->params.engine.front;
    add_replica(replica, blocks, &sums);
    result->preemptions += replica->preemptions;
    result->adapter_loads += replica->adapter_loads;
    result->starts += replica->starts;
    result->front_end_busy =
        fmax(result->front_end_busy,
             ratio(replica->front_busy_s / (double)front->processes, replica->held_s));
    result->steps += replica->steps;
    result->kv_peak = fmax(result->kv_peak, replica->peak_blocks / blocks);
  }
  fill_ratios(work, &sums, result);
}

static void fill_encoders(const OrrServingWork *work, OrrServingResult *result) {
  const double images = (double)(work->images_encoded + work->image_hits);
  if (work->encodings > 0) result->encode_mean_s = work->encode_s / (double)work->encodings;
  if (images > 0) result->image_hit_rate = (double)work->image_hits / images;
  if (work->params.encoders.replicas > 0 && work->end_s > 0)
    result->encoder_busy =
        work->encoder_busy_s / (work->end_s * (double)work->params.encoders.replicas);
  result->embedding_bytes = work->embedding_bytes;
}

static void fill_tiers(const OrrServingWork *work, OrrServingResult *result) {
  const OrrTierUse *ssd = &work->tier_use[ORR_TIER_SSD], *store = &work->tier_use[ORR_TIER_REMOTE];
  result->ssd_wait_mean_s = ratio(ssd->waited_s, ssd->reads);
  result->ssd_busy = ratio(ssd->busy_s, ssd->n_servers * work->end_s);
  result->store_wait_mean_s = ratio(store->waited_s, store->reads);
  result->store_busy = ratio(store->busy_s, store->n_servers * work->end_s);
}

static void fill_pools(const OrrServingWork *work, OrrServingResult *result) {
  const OrrServingPoolTimes *pools = &work->pools;
  ORR_EACH(const OrrServedGroup, group, work->groups) {
    result->feed_gpus += group->params.replicas * group->params.parallel.feed.gpus;
    if (result->feed_weights_bytes <= 0) result->feed_weights_bytes = group->feed_bytes;
  }
  if (pools->step_s <= 0) return;
  result->attention_pool_busy = pools->attention_s / pools->step_s;
  result->feed_pool_busy = pools->feed_s / pools->step_s;
  result->sends_busy = pools->sends_s / pools->step_s;
}

/* --- Rows --- */

static int compare_ids(const void *a, const void *b) {
  const gint64 x = ((const OrrServedRequest *)a)->row.request,
               y = ((const OrrServedRequest *)b)->row.request;
  return (x > y) - (x < y);
}

static void add_requests(OrrServingWork *work, OrrOutcome *outcome) {
  const gint64 most = work->params.metrics.request_rows;
  const guint n = work->requests->len;
  if (most == 0 || n == 0) return;
  qsort(work->requests->data, n, sizeof(OrrServedRequest), compare_ids);
  const guint stride = (guint)((n + most - 1) / most);
  for (guint i = 0; i < n; i += stride) {
    const OrrServedRequest *request = &g_array_index(work->requests, OrrServedRequest, i);
    OrrServingRequestRow row = request->row;
    if (work->params.metrics.window == ORR_WINDOW_STEADY &&
        !orr_serving_rows_count(work, row.arrival_s, request->left_s))
      continue;
    row.group = interned(class_name(&work->params, request->group));
    row.output_tokens *= orr_serving_outputs(&work->params);
    if (row.from_region) row.from_region = interned(row.from_region);
    if (row.in_region) row.in_region = interned(row.in_region);
    g_array_append_val(outcome->serving_requests, row);
  }
}

static void add_replicas(const OrrServingWork *work, OrrOutcome *outcome) {
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedReplica *replica = &work->replicas[i];
    const double blocks = orr_served_group_blocks(orr_serving_group(work, (guint)i));
    const double stepped_s = fmax(stepped(replica), 1e-12);
    ORR_APPEND(
        outcome->serving_replicas, OrrServingReplicaRow,
        {
            .replica = i,
            .requests = replica->requests,
            .steps = replica->steps,
            .preemptions = replica->preemptions,
            .most_running = replica->most_running,
            .evicted_blocks = replica->evicted_blocks,
            .running_mean = replica->running_s / stepped_s,
            .gpu_busy = work->end_s > 0 ? replica->busy_s / work->end_s : 0,
            .host_fraction = work->end_s > 0 ? replica->host_s / work->end_s : 0,
            .kv_utilization = replica->used_block_s / stepped_s / blocks,
            .kv_peak = replica->peak_blocks / blocks,
            .prefix_hit_rate = replica->looked_up_tokens > 0
                                   ? (double)replica->hit_tokens / (double)replica->looked_up_tokens
                                   : 0,
        });
  }
}

static void add_classes(const OrrServingWork *work, OrrOutcome *outcome) {
  const guint n = work->params.classes ? MAX(work->params.classes->len, 1) : 1;
  for (guint group = 0; group < n; group++) {
    Counted counted;
    counted_init(&counted);
    count_requests(work, group, &counted);
    const OrrLatencies ttft = orr_latencies_of(counted.ttft), tpot = orr_latencies_of(counted.tpot);
    const double good = counted.n > 0 ? (double)counted.good / (double)counted.n : 0;
    ORR_APPEND(
        outcome->serving_classes, OrrServingClassRow,
        {.group = interned(class_name(&work->params, group)),
         .completed = (gint64)counted.n,
         .good_fraction = good,
         .goodput_rps = (double)counted.good / fmax(outcome->result.serving.duration_s, 1e-12),
         .ttft_mean_s = ttft.mean,
         .ttft_p99_s = ttft.p99,
         .tpot_mean_s = tpot.mean,
         .tpot_p99_s = tpot.p99,
         .e2e_mean_s = orr_latencies_of(counted.e2e).mean});
    counted_clear(&counted);
  }
}

/* Blocks of @size tokens that lengths of 1 to @n tokens take, added up. */
static double sum_of_blocks(gint64 n, gint64 size) {
  const gint64 whole = n / size;
  return (double)(whole * (whole + 1) / 2 * size + n % size * (whole + 1));
}

/* Tokens for which a sequence has room and no text, on average, as it grows to its last token. */
static double empty_tokens(gint64 input, gint64 output, gint64 size, gboolean reserves) {
  const gint64 all = input + output;
  if (reserves || output < 1) return (double)((all + size - 1) / size * size - all);
  const double blocks = sum_of_blocks(all, size) - sum_of_blocks(input, size);
  return blocks * (double)size / (double)output - ((double)input + (double)(output + 1) / 2);
}

/* Tokens' worth of a group's cache that requests hold, on average: as its layers keep them, in
 * whole blocks. Outputs of one prompt share it where blocks are found again. */
static double mean_tokens(const OrrServingWork *work, const OrrServedGroup *group) {
  const OrrServing *params = &work->params;
  const OrrScheduler *scheduler = (const OrrScheduler *)params->engine.scheduler.entry;
  const gboolean is_shared = params->engine.prefix_caching != ORR_PREFIX_NONE;
  const double prompts = is_shared ? 1 : (double)params->samples;
  const double outputs = (double)orr_serving_outputs(params) / prompts;
  double tokens = 0;
  for (guint i = 0; i < work->requests->len; i++) {
    const OrrServingRequestRow *row = &g_array_index(work->requests, OrrServedRequest, i).row;
    const double written =
        scheduler->reserves ? (double)row->output_tokens : (double)(row->output_tokens + 1) / 2;
    tokens += prompts * outputs *
              empty_tokens((gint64)row->input_tokens, (gint64)row->output_tokens,
                           params->engine.block_size, scheduler->reserves);
    tokens += prompts * orr_kv_layout_tokens(&group->kv_layout, params->engine.block_size,
                                             (double)row->input_tokens + outputs * written);
  }
  return tokens / (double)work->requests->len;
}

/* Tokens' worth that all requests of a replica share: the full blocks of their common prefix, but
 * for the ring and the state that each has. */
static double shared_tokens(const OrrServingWork *work, const OrrServedGroup *group) {
  const OrrServing *params = &work->params;
  const gint64 block = params->engine.block_size;
  if (params->engine.prefix_caching == ORR_PREFIX_NONE) return 0;
  return orr_kv_layout_tokens(&group->kv_layout, block,
                              (double)(params->shared_prefix / block * block)) -
         orr_kv_layout_tokens(&group->kv_layout, block, 0);
}

/* Replicas of @group that hold requests until their last token: prefills hand them over. */
static double holders(const OrrServingWork *work, const OrrServedGroup *group) {
  const gint64 prefills = work->params.disaggregation.prefill - group->first;
  return (double)(group->params.replicas - CLAMP(prefills, 0, group->params.replicas));
}

/* Requests that fill @room tokens: n times @own tokens, and @shared tokens for each prefix that one
 * of the n has. Of @prefixes, equally likely, these are prefixes (1 - (1 - 1/prefixes)^n). */
static double filling(double room, double own, double shared, double prefixes) {
  double low = 0, high = room / own;
  for (guint i = 0; i < 60 && shared > 0; i++) {
    const double n = (low + high) / 2, in_use = prefixes * (1 - pow(1 - 1 / prefixes, n));
    *(shared * in_use + n * own < room ? &low : &high) = n;
  }
  return high;
}

/* NAN: none completed. Of groups that share GPUs one is awake on each: the smallest counts. */
static double full_requests(const OrrServingWork *work) {
  double full = 0, awake = 0;
  if (work->requests->len == 0) return NAN;
  ORR_EACH_AT(i, const OrrServedGroup, group, work->groups) {
    const double shared = shared_tokens(work, group);
    const double room = (double)(group->n_blocks * group->params.parallel.dp_attention *
                                 work->params.engine.block_size);
    const double here =
        holders(work, group) * filling(room, fmax(mean_tokens(work, group) - shared, 1), shared,
                                       (double)MAX(work->params.distinct_prefixes, 1));
    const gboolean shares = orr_serving_groups_shares(&work->params, i);
    full += shares ? 0 : awake;
    awake = shares ? fmin(awake, here) : here;
  }
  return full + awake;
}

void orr_serving_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  OrrServingWork *work = (OrrServingWork *)replayed->work;
  OrrServingResult *result = &outcome->result.serving;
  Counted counted;
  counted_init(&counted);
  count_requests(work, G_MAXUINT, &counted);
  fill_latencies(work, &counted, result);
  fill_rates(work, &counted, result);
  fill_steady(work, result);
  fill_from_replicas(work, result);
  fill_encoders(work, result);
  fill_tiers(work, result);
  fill_pools(work, result);
  orr_serving_energy(work, outcome);
  orr_serving_money(replayed, work, outcome);
  fill_errors(work, result);
  counted_clear(&counted);
  const OrrServedGroup *first = orr_serving_group(work, 0);
  result->kv_blocks = first->n_blocks;
  result->kv_full_requests = full_requests(work);
  result->kv_bytes_per_token = first->kv_bytes_per_token;
  result->kv_bytes =
      (double)(first->n_blocks * work->params.engine.block_size) * first->kv_bytes_per_token;
  result->weights_bytes = first->weight_bytes;
  result->memory_bytes = first->weight_bytes + first->activation_bytes +
                         work->params.engine.reserved_bytes + result->kv_bytes;
  result->littles_law_error = orr_serving_work_littles_law_error(work);
  result->replicas = work->params.replicas;
  result->tp = work->params.parallel.tp;
  result->pp = work->params.parallel.pp;
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) outcome->trust[how] = work->trust_s[how];
  if (work->parts.gpu_s > 0) {
    outcome->attention_fraction = work->parts.attention_s / work->parts.gpu_s;
    outcome->experts_fraction = work->parts.experts_s / work->parts.gpu_s;
  }
  orr_serving_warnings(replayed, work, outcome);
  add_requests(work, outcome);
  orr_outcome_take(&outcome->serving_steps, work->steps);
  add_replicas(work, outcome);
  add_classes(work, outcome);
  orr_serving_region_rows(replayed, work, outcome);
  orr_outcome_take(&outcome->serving_turns, work->turns);
  orr_replayed_add_links(replayed, outcome);
}

char *orr_serving_rows_explain(const OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  return g_strdup_printf("batch %.1f, busy %.0f %%, attention %.0f %%, experts %.0f %%, "
                         "collectives %.0f %%, kv %.0f %%",
                         result->running_mean, 100 * result->gpu_busy,
                         100 * outcome->attention_fraction, 100 * outcome->experts_fraction,
                         100 * result->comm_fraction, 100 * result->kv_utilization);
}

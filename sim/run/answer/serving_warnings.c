/*
 * serving_warnings.c - what an answer of serving says of itself: settings that do less than they
 * seem to, a load that falls behind or is shorter than asked for, costs that nobody measured.
 */
#include "sim/run/answer/answer_private.h"

/* Whether classes have different priorities, and the scheduler does not use them. */
static gboolean idle_priorities(const OrrServing *params) {
  const OrrScheduler *scheduler = (const OrrScheduler *)params->engine.scheduler.entry;
  gboolean differ = FALSE;
  const OrrRequestClass *first = NULL;
  ORR_EACH_POINTER(const OrrRequestClass, one, params->classes) {
    if (!first) first = one;
    differ = differ || one->priority != first->priority;
  }
  return differ && !scheduler->by_priority;
}

/* The engine's memory, and settings that do less than they seem to. */
/* The rate is then 1 / their time, whatever the GPUs, the model or its format. */
static void warn_front_end(const OrrServingWork *work, OrrOutcome *outcome) {
  const double busy = outcome->result.serving.front_end_busy;
  if (busy > 0.9)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("the front end is busy %.0f %% of the time and sets the rate: "
                                    "engine.front-end has its times for a request, a token of a "
                                    "prompt and a chunk, and the number of its processes",
                                    100 * fmin(busy, 1)));
}

static void warn_starts(const OrrServingWork *work, OrrOutcome *outcome) {
  const gint64 ended = outcome->result.serving.starts;
  gint64 begun = 0;
  ORR_EACH(const OrrServingTurnRow, turn, work->turns)
    begun += strcmp(turn->state, "starting") == 0;
  if (begun > ended)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("%ld of %ld starts of replicas did not end in this run",
                                    begun - ended, begun));
  else if (work->params.start.overhead_s > 0 && ended == 0)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("start.overhead (%g s) has no effect: no replica started",
                                    work->params.start.overhead_s));
}

/* Preempted requests are swapped out to host memory, which is taken to hold them all. */
static void warn_swapped(const OrrServingWork *work, OrrOutcome *outcome) {
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    const double on_node = (double)MIN(group->gpus, group->cluster.node.gpus);
    const double groups = (double)group->params.parallel.dp_attention;
    const double bytes =
        (double)work->replicas[i].most_away * group->kv_bytes_per_token * on_node / groups;
    g_autofree char *refusal =
        bytes > 0
            ? orr_footprint_refuse_host(&group->cluster, bytes, "swapping of preempted requests")
            : NULL;
    if (!refusal) continue;
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("%s: use engine.preemption: recompute", refusal));
    return;
  }
}

/* NCCL under a CUDA graph has a host task push each all-reduce's sends to the network, and the
 * kernel waits for it (src/enqueue.cc, ncclLaunchPrepare); how long is not published. */
static void warn_across_nodes(const OrrServingWork *work, OrrOutcome *outcome) {
  const OrrServedGroup *group = orr_serving_group(work, 0);
  const gint64 domain = group->cluster.node.scale_up_domain, tp = group->params.parallel.tp;
  if (domain <= 1 || tp <= domain) return;
  g_ptr_array_add(
      outcome->warnings,
      g_strdup_printf("tp %ld spans scale-up domains of %ld GPUs: all-reduces take what nccl-tests "
                      "measure; the one server measured so, of DeepSeek-R1 on two H100 nodes, took "
                      "1.8 times the step computed",
                      tp, domain));
}

static void warn_longest(const OrrServingWork *work, OrrOutcome *outcome) {
  const OrrWorld *world = work->world;
  gint64 longest = 0;
  const gint64 room = orr_serving_start_room(&work->params, world->model, world->cluster, &longest);
  if (room > 0)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf(
            "vLLM does not start for requests of up to %ld tokens: its cache holds one of %ld at "
            "most. Set engine.max-model-len to that or less (--max-model-len; auto takes what "
            "fits)",
            longest, room));
}

static void warn_engine(const OrrServingWork *work, OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  const double most_bytes = orr_serving_group(work, 0)->cluster.device.memory_bytes;
  if (result->memory_bytes > most_bytes)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("engine.kv-blocks makes a GPU hold %.3g GiB, %.3g times its memory",
                        result->memory_bytes / 0x1p30, result->memory_bytes / most_bytes));
  if (idle_priorities(&work->params))
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("classes: priority changes nothing with engine.scheduler %s: "
                                    "the scheduler `priority` uses it",
                                    work->params.engine.scheduler.entry->name));
  if (work->params.sampling == ORR_SAMPLING_LIKELIEST && orr_serving_sampling_s(&work->params) == 0)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup("sampling: top-p takes no more time than all: engine.host.sampling, the "
                 "time to sort a sequence's logits, is 0"));
  warn_starts(work, outcome);
  warn_front_end(work, outcome);
  warn_swapped(work, outcome);
  warn_across_nodes(work, outcome);
  warn_longest(work, outcome);
  if (work->again > 0)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("%ld requests of lost decoders had a token: their prompts and outputs are "
                        "computed again where they decode, in steps with others' decodes; a router "
                        "that sends them to prefill again would spare these",
                        work->again));
  if (result->feed_gpus > 0)
    g_ptr_array_add(outcome->warnings,
                    g_strdup("no measured run has feed-forwards on GPUs of their own: error bands "
                             "come from engines on one pool"));
}

/* Values that the load lacks, or has and nobody reads. */
static void warn_load(const OrrServingWork *work, OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  if (work->left_out)
    g_ptr_array_add(outcome->warnings, g_strdup_printf("the trace has %s", work->left_out));
  if (work->trace_requests > 0 && work->params.requests > work->trace_requests)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("requests is %ld, and the trace has %ld: all of it is taken; "
                                    "load.repeat replays it more than once",
                                    work->params.requests, work->trace_requests));
  if (work->n_cut > 0 && work->n_cut * 100 >= work->requests->len)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("%ld lengths of %u requests were cut to the %ld tokens that "
                        "a request may have (model context, max-model-len and the "
                        "key-value cache): an engine refuses such prompts and ends such "
                        "outputs",
                        work->n_cut, work->requests->len, work->longest));
  if (result->client_wait_mean_s > result->e2e.mean)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf(
            "requests wait %.3g s at their clients, on average, until fewer than max-concurrency "
            "(%ld) are in flight: rates, offered_rps too, are set by this limit, not by the load",
            result->client_wait_mean_s, work->params.max_concurrency));
}

void orr_serving_warnings(const OrrReplayed *replayed, const OrrServingWork *work,
                          OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  double sum = 0;
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) sum += work->trust_s[how];
  const gboolean is_held_back = work->params.max_concurrency > 0 && work->client_wait_s > 0;
  if (result->saturated && orr_serving_task_rows_growth(work) > 0)
    orr_serving_task_rows_warn(work, outcome);
  else if (result->saturated && is_held_back)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf(
            "not in steady state: the load brings %.3g requests/s more than max-concurrency (%ld) "
            "lets through, so they wait at their clients; latencies count from when a request is "
            "sent (load closed-loop, concurrency %ld, has a steady state)",
            result->growth_rps, work->params.max_concurrency, work->params.max_concurrency));
  else if (result->saturated)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf(
            "not in steady state: the queue grows by %.3g/s at the end; over the run %.3g "
            "requests/s arrive, %.3g are served; latencies grow with the length of the run",
            result->growth_rps, result->offered_rps, result->requests_per_s));
  if (work->steady.state == ORR_STEADY_MISSES)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("ended early: more requests miss an objective than least-good "
                                    "(%.4g %%) allows",
                                    100 * work->params.least_good));
  if (result->completed + result->rejected + result->failed == 0 && work->tasks->len == 0)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("no request counts: metrics.warmup (%g s) is "
                                    "longer than the run (%.4g s)",
                                    work->params.metrics.warmup_s, work->end_s));
  warn_load(work, outcome);
  warn_engine(work, outcome);
  if (work->missing)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("the device's profile holds no %s: it is modelled", work->missing));
  if (sum > 0 && work->trust_s[ORR_HOW_OUTSIDE] > 0.05 * sum)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("%.0f %% of the steps' time has costs outside the measured range",
                        100 * work->trust_s[ORR_HOW_OUTSIDE] / sum));
  orr_replayed_warn_idle(replayed, "serve", outcome);
}

/*
 * answer_private.h - what each kind of workload makes of a replay: the functions of its entry in
 * kinds.c, and the parts that they call.
 */
#pragma once

#include "results/rows/rows.h"
#include "results/store.h"
#include "sim/run/answer/ledger.h"
#include "sim/run/answer/outcome.h"
#include "sim/run/answer/run_kind.h"
#include "workloads/cluster_jobs/cluster_jobs.h"
#include "workloads/post_training/post_training.h"
#include "workloads/serving/serving_work.h"

/* The rows of a replayed run of collectives: a line of nccl-tests per size. */
void orr_collective_rows(const OrrReplayed *replayed, OrrOutcome *outcome);
/* "nvls-tree simple, modelled, latency 12 %": what explains the time of the last size. Newly
 * allocated. */
char *orr_collective_rows_explain(const OrrOutcome *outcome);

/* The rows of a replayed trace. */
void orr_traced_rows(const OrrReplayed *replayed, OrrOutcome *outcome);
/* "kernels 61 %, exposed communication 30 %": what the time consists of. Newly allocated. */
char *orr_traced_rows_explain(const OrrOutcome *outcome);

/* The rows of a batch of pictures or videos. */
void orr_diffusion_rows(const OrrReplayed *replayed, OrrOutcome *outcome);
/* "attention 61 %, gemm 20 %, ...": what the latency consists of. Newly allocated. */
char *orr_diffusion_rows_explain(const OrrOutcome *outcome);

/* The rows of a step of diffusion-training or recommendation. */
void orr_step_rows(const OrrReplayed *replayed, OrrOutcome *outcome);
/* "gemm 61 %, attention 20 %, ...": what the step consists of. Newly allocated. */
char *orr_step_rows_explain(const OrrOutcome *outcome);

/* The energy of a replayed job's GPUs, and their power over time. */
enum { ORR_POWER_BINS = 1000 };

/* Adds rows of `power` to @outcome. Adds nothing without spans or without a power model. */
void orr_training_energy_add_power(const OrrReplayed *replayed, OrrOutcome *outcome);

/* Fills the columns of energy and power; after the rates and the rows of `power`. */
void orr_training_energy(const OrrReplayed *replayed, OrrOutcome *outcome);

/* training_rows.c: seconds for which the job loads a checkpoint before its first step; 0: none. */
double orr_training_rows_load_s(const OrrReplayed *replayed);
/* The same and the seconds after the last step in which a checkpoint is still being written: time
 * that no step takes. */
double orr_training_rows_outside_s(const OrrReplayed *replayed);

/* What a GPU of each stage holds over time: a row for each pass of its schedule
 * (OrrMemoryMoment), from the begin of the pass's first op to the end of its last, on the stage's
 * first lane. */

/* Adds rows of `memory_time` to @outcome; none where no spans were kept, or where the step was not
 * replayed whole. */
void orr_memory_time_add(const OrrReplayed *replayed, OrrOutcome *outcome);

/* The rows of a serving run, and the definitions of its latencies.
 *
 * Percentiles come from latencies.c, which both tools below use. Requests that arrive during the
 * warm-up are not counted. The duration runs from the first counted arrival to the last token; the
 * tools' runs from their start, one mean interval earlier with a rate. A request's clock starts
 * when its client sends it: waiting for a place of max-concurrency is not in it. With window:
 * steady the window's length is the duration.
 *
 *                vLLM (`vllm bench serve`)                      AIPerf (NVIDIA)
 *   TTFT         first token - sending                          the same
 *   TPOT         (e2e - ttft) / (output - 1), output > 1        its inter-token latency, the same
 *   ITL          gaps between tokens, all requests in one pool  a request's mean gap: TPOT
 *   goodput      requests within all objectives / duration      the same */

void orr_serving_rows(const OrrReplayed *replayed, OrrOutcome *outcome);

/* "batch 12.3, busy 61 %, ..., kv 43 %": what explains the answer. Newly allocated. */
char *orr_serving_rows_explain(const OrrOutcome *outcome);

/* serving_money.c: fills the result's costs, the machine's rows and the tasks'; after its rates and
 * its energy. */
void orr_serving_money(const OrrReplayed *replayed, const OrrServingWork *work,
                       OrrOutcome *outcome);

/* The rows of its tasks, if it has any; @gpus that are held, mean, at a cost of @per_s. */
void orr_serving_task_rows(const OrrServingWork *work, double gpus, double per_s,
                           OrrOutcome *outcome);
/* Tasks per second by which those in flight grow; 0: they do not, or nothing says so. */
double orr_serving_task_rows_growth(const OrrServingWork *work);
void orr_serving_task_rows_warn(const OrrServingWork *work, OrrOutcome *outcome);

/* serving_region_rows.c: a row for each region; after the money. */
void orr_serving_region_rows(const OrrReplayed *replayed, const OrrServingWork *work,
                             OrrOutcome *outcome);
/* @prices with what its regions pay for a kWh, and its carbon: means by what their GPUs draw. */
OrrPrices orr_serving_region_rows_prices(const OrrServingWork *work, const OrrPrices *prices);

/* Whether a request that came and left then counts: in a steady window what leaves in it, otherwise
 * what comes after the warm-up. */
gboolean orr_serving_rows_count(const OrrServingWork *work, double arrival_s, double left_s);

/* Adds the warnings of a finished serving run, whose result is complete. */
void orr_serving_warnings(const OrrReplayed *replayed, const OrrServingWork *work,
                          OrrOutcome *outcome);

/* The energy of a finished serving run's GPUs. */

/* Fills the columns of energy and power, and the rows of `power`; after the rates. NAN, and no
 * rows, where a group's device has no power model. */
void orr_serving_energy(const OrrServingWork *work, OrrOutcome *outcome);
/* Joules of a replica's GPUs over the run, static power included; NAN: no power model. */
double orr_serving_energy_of(const OrrServingWork *work, gint64 replica);

/* The rows of a cluster of jobs: a row per job, and statistics by size and queue. */

void orr_cluster_rows(const OrrReplayed *replayed, OrrOutcome *outcome);

/* "waits 97 % of the completion time, 12 % of GPUs idle while jobs wait". Newly allocated. */
char *orr_cluster_rows_explain(const OrrOutcome *outcome);

/* What a cluster of jobs says beyond times: fairness, where its GPU-hours went,
 * its course over time, places, watts and money. */

/* The time that @job had its GPUs over that at its given speed; NAN: it had none. */
double orr_cluster_answers_slowdown(const OrrGangJob *job);
/* Finish-time fairness (Mahajan et al., Themis, NSDI 2020; with the contention of its whole life as
 * Zheng et al., Shockwave, NSDI 2023, have it):
 *
 *   rho = completion time / (run time x max(1, mean GPUs that live jobs ask for / GPUs))
 *
 * NAN: it has no work. */
double orr_cluster_answers_rho(const OrrClusterWork *work, const OrrGangJob *job);
/* Microseconds that @job asks to run for with the GPUs it asks for: its work, or its limit where
 * that is less, at its mean speed on the cluster's kinds of GPUs. */
double orr_cluster_answers_asked_us(const OrrClusterWork *work, const OrrGangJob *job);
/* Its run time if it had the cluster to itself, and, if elastic, the GPUs it asked for. */
double orr_cluster_answers_own_us(const OrrClusterWork *work, const OrrGangJob *job);
/* Energy of the GPUs of @job; NAN: not known. */
double orr_cluster_answers_kwh(const OrrClusterWork *work, const OrrGangJob *job);

/* Fills the rest of the result, and the tables of rows_cluster_more.inc. */
void orr_cluster_answers(const OrrReplayed *replayed, OrrOutcome *outcome);

/* A finished loop of post-training as rows. */

/* OrrRunKind's. */
void orr_post_training_rows(const OrrReplayed *replayed, OrrOutcome *outcome);
char *orr_post_training_rows_explain(const OrrOutcome *outcome);
/* The first step that counts in means. */
guint orr_post_training_rows_first(const OrrPostTrainingWork *work);

/* Joules of post-training by pool, phase and role, power over time, and
 * what a step costs. */

/* Fills the energies and costs of @outcome's result, whose speeds are complete. @responses_per_s:
 * tokens of responses that were trained on. */
void orr_post_training_energy(const OrrReplayed *replayed, double responses_per_s,
                              OrrOutcome *outcome);

/* The time lines of post-training: phases of each pool, what is under way,
 * and, where spans are kept, lanes for the trainer, the rollout pool and each engine. */

void orr_post_training_spans(const OrrPostTrainingWork *work, OrrOutcome *outcome);

/* cluster_spans.c: where the gangs of a cluster of jobs sat, as rows that are made one by one.
 *
 * Orders that preempt make hundreds of thousands of spans, and a row takes more than twice the
 * memory of a span with its nodes, so an outcome keeps the spans. */

struct OrrClusterWork; /* workloads/cluster_jobs/cluster_jobs.h */
typedef struct OrrClusterSpans OrrClusterSpans;

/* The spans of @work, which may then be freed. Ids of jobs go to @names, which outlives it. */
OrrClusterSpans *orr_cluster_spans_new(const struct OrrClusterWork *work, GStringChunk *names);
void orr_cluster_spans_free(OrrClusterSpans *spans);

/* Calls for each row of cluster_span, in the order of their begins; @spans NULL: none. */
typedef void (*OrrOnClusterSpan)(const OrrClusterSpanRow *row, void *user);
void orr_cluster_spans_each(const OrrClusterSpans *spans, OrrOnClusterSpan call, void *user);

/* latencies.c: mean and percentiles of times. Percentiles are linear between the two nearest ranks
 * (numpy's default). */

/* The latencies of @values (of double), which it sorts; all NaN where there are none. */
OrrLatencies orr_latencies_of(GArray *values);

/* The same for @gaps (of OrrTokenGap); each stands for many equal values. Sorts them. All 0 where
 * there are none. */
OrrLatencies orr_latencies_of_gaps(GArray *gaps);

/* link_time.c: how busy the busiest links were over time, computed from the spans of a replay. */

enum { ORR_LINK_TIME_LINKS = 8, ORR_LINK_TIME_BINS = 200 };

/* Adds rows of `link_time` to @outcome: the ORR_LINK_TIME_LINKS links of highest utilization, in
 * ORR_LINK_TIME_BINS equal intervals of the run. The bytes of a communication are spread evenly
 * from its start to its end. Their sum is exact. Their time is off where the communication begins
 * with a latency, or where its bandwidth changes while it runs. Adds nothing without spans. */
void orr_link_time_add(const OrrReplayed *replayed, OrrOutcome *outcome);

/* machine_rows.c: the rows of power_part: what each part of the machine draws for a job. */

/* A part that the machine does not have gets no row. */
void orr_machine_rows_add(const OrrCluster *cluster, const OrrMachinePower *machine,
                          OrrOutcome *outcome);

/* money.c: what a run costs: one vocabulary for training and serving (OrrMoney in rows.h), and the
 * rows of the machine's bill.
 *
 *   hardware   GPU-hours of the job, at the rent or the machine's price over its life (prices.h)
 *   energy     what the meter shows: the machine's watts * pue / 1000 * price of a kWh
 *   cost       the sum of the two, or of the one that has a price. Where one has a price but its
 *              quantity is not known (energy without a power model), the cost is not known: NAN,
 *              which is NULL in the database, never 0
 *   carbon     the same kWh * carbon-grams-per-kwh
 */

typedef struct {
  const OrrPrices *prices; /* NULL, or not given: all NAN */
  double gpus;             /* that the job holds, mean over its time */
  double hardware_per_s;   /* price of holding them for a second (orr_money_hardware) */
  double watts;            /* of the machine for the job, before PUE; NAN: no power model */
  double tokens_per_s;     /* trained, or of prompts and outputs; 0: none */
} OrrMoneyQuestion;

/* All members NAN where they are not known. */
OrrMoney orr_money_of(const OrrMoneyQuestion *question);

/* The cost of one second of the job; NAN: not known. */
double orr_money_per_s(const OrrMoney *money, const OrrMoneyQuestion *question);

/* The price of @gpus GPUs of @device of @fabric's machine for one second; NAN: not given. */
double orr_money_hardware(const OrrPrices *prices, const OrrFabric *fabric, const char *device,
                          double gpus);

/* Adds the rows of `bill`. */
void orr_money_add_bill(const OrrReplayed *replayed, OrrOutcome *outcome);

/* network_rows.c: rows of what a run's network did besides carrying flows. */

/* Adds a row to `queue` where the cluster has a model of queues, with a warning for phases that it
 * could not solve, and rows to `hash_spread` where it draws hashes. */
void orr_network_rows_add(const OrrReplayed *replayed, OrrOutcome *outcome);

/* power_swing.c: how far and how fast the power of a job's GPUs moves. */

/* Of the rows @powers (OrrPowerRow): the highest less the lowest power, and the largest change
 * between neighbours, per second. NAN where there are too few rows. */
void orr_power_swing(const GArray *powers, double *ret_swing_w, double *ret_ramp_w_per_s);

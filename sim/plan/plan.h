/*
 * plan.h - a planner's question becomes a sweep, and its answer a scenario and a launch line.
 *
 * "Which layout trains this model fastest on 512 GPUs?" is a scenario with a sweep: section, which
 * orr_plan_training_text() writes and orr_sweep() (sim/sweep/sweep.h) runs like any other. The best
 * points are then simulated again, each on its own, for what a sweep does not keep: memory, and
 * where the time goes.
 */
#pragma once

#include "sim/base/ground.h"
#include "sim/run/scenario.h"
#include "sim/study/study.h"
#include "workloads/workload.h"

/* What `orrery plan training` was asked. Texts are borrowed; NULL: the default. */
typedef struct {
  const char *model, *cluster; /* a name of the library, or a path; required */
  const char *title;           /* the model in the scenario's name; NULL: as @model */
  const char *stack;           /* NULL: the newest megatron-core */
  const char *precision;       /* NULL: bf16 */
  const char *prices;          /* NULL: no money */
  gint64 gpus;                 /* required */
  gint64 sequence;             /* 0: the model's context, at most 8,192 */
  double batch_tokens;         /* 0: 4 Mi */
} OrrPlanTraining;

/* The scenario with its sweep, as YAML text; newly allocated. NULL with ORR_FAULT_DOCUMENT or
 * ORR_FAULT_USAGE: an unknown name, or more GPUs than the cluster can have.
 *
 * Axes: tp, powers of two up to the NVLink domain; pp, what divides the layers and powers of two;
 * chunks of a stage; the micro-batch; recomputation; ep where the model has experts; cp as long as
 * each GPU has 4,096 tokens of a sequence; what the stack's framework shards. The batch is
 * @batch_tokens in sequences, rounded to a multiple of a power of two (and of what is odd in @gpus)
 * of at most a quarter of it, so that layouts divide it. */
char *orr_plan_training_text(OrrLibrary *library, const OrrPlanTraining *asked, GError **error);

/* What an answer says where the batch of @text, such a document with @settings, is not the one
 * asked for. Newly allocated; NULL: it is, but for the part of a sequence, or @settings name a
 * batch. */
char *orr_plan_training_batch_note(const OrrPlanTraining *asked, const char *text,
                                   char *const *settings);

/* plan_stack.c: what texts call a device of @cluster: "GPU", "chip" (device.noun). Owned by the
 * library. */
const char *orr_plan_noun(OrrLibrary *library, const char *cluster);
/* plan_stack.c: the most that a device of @cluster draws (device.tdp); 0: none is known. */
double orr_plan_board_w(OrrLibrary *library, const char *cluster);

/* plan_stack.c: the stack for workloads of @kind that a plan takes on @cluster, a name of the
 * library or a path: the kind's default where it runs on the cluster's device, else the latest
 * released one that does. NULL: none is known. Newly allocated. */
char *orr_plan_stack(OrrLibrary *library, const char *kind, const char *cluster);

/* The document of the stack that answers: the one asked for, or orr_plan_stack's of megatron-core.
 * NULL: unknown. Newly allocated. */
char *orr_plan_training_stack(OrrLibrary *library, const OrrPlanTraining *asked);

/* Parses the scenario that options of `orrery plan` make. Findings name the option that says what
 * is wrong, as nobody wrote the text: "--model: error: unknown model". NULL with the reasons in
 * @diags. */
OrrNode *orr_plan_tree(const char *text, OrrDiags *diags);

/* GPUs of a node of the cluster that is asked about. 0 with ORR_FAULT_DOCUMENT: an unknown name. */
gint64 orr_plan_gpus_per_node(OrrLibrary *library, const OrrPlanTraining *asked, GError **error);

/* A model of the shape of @base (a name, or a path) with @factor times its layers and width, as an
 * inline document for OrrPlanTraining.model; newly allocated. Heads keep their size. NULL with
 * ORR_FAULT_DOCUMENT, or ORR_FAULT_USAGE for a model whose layers differ, with experts or with
 * latent attention. *@ret_parameters: all of its parameters. */
char *orr_plan_scaled_model(OrrLibrary *library, const char *base, double factor,
                            double *ret_parameters, GError **error);

/* The scenario of @file without its sweep: section and with @settings ("workload.parallel.tp=8",
 * strv) applied. NULL with @error. */
OrrNode *orr_plan_point(OrrLibrary *library, const char *file, char **settings, GError **error);

/* Simulates @points (of OrrNode *), one process each, @jobs at once (0: one per core). Returns as
 * many answers as points: orr_study_free. */
OrrStudyAnswer *orr_plan_try(OrrLibrary *library, const GPtrArray *points, guint jobs);
/* How long a caller waits for replays. */
typedef struct {
  double most_s;
  void (*progress)(guint n_done, guint n, void *user); /* may be NULL */
  gboolean (*stop)(void *user);                        /* as in children.h; may be NULL */
  void *user;
} OrrPlanPatience;

/* The results alone, on @world, of steps that are shortened as far as they are steady. Replays that
 * @watch stops have neither an error nor a kind. */
OrrStudyAnswer *orr_plan_try_brief(OrrLibrary *library, const OrrRunWorld *world,
                                   const GPtrArray *points, const OrrPlanPatience *watch);
/* Like orr_plan_try; NULL with the reason of the first that failed. */
OrrStudyAnswer *orr_plan_simulate(OrrLibrary *library, const GPtrArray *points, guint jobs,
                                  GError **error);

/* Why @other is slower than @best: "4.1 % slower: bubble +0.21 s, gemm +0.05 s", the kinds of time
 * that grow most. Newly allocated. */
char *orr_plan_why(const OrrStudyAnswer *best, const OrrStudyAnswer *other);

/* "4M", "2T", "512", "1.5e9": a count with K, M, B (or G) or T for thousands and so on. FALSE with
 * ORR_FAULT_USAGE that names @option. */
gboolean orr_plan_count(const char *option, const char *text, double *ret_count, GError **error);

/* plan_launch.c: the launch line of a scenario: the way back from `orrery import launch`. */

/* "torchrun ... pretrain_gpt.py ..." with Megatron-LM's arguments, in lines of at most 100 columns
 * with continuations. What no argument says (tokenizer, data, learning rate) is left out. Newly
 * allocated; NULL: the scenario is not a training job, or its stack's launcher is not known
 * (plan_launch.c lists them). `orrery import launch` reads it back as an equal job. */
char *orr_plan_launch(const OrrScenario *scenario);

/* plan_remedy.c: what would make a training job or an engine fit that does not, each with the time
 * that it would take. */

typedef struct {
  char **settings; /* "workload.recompute=full": strv, for --set */
  double memory_bytes;
  double iteration_s;    /* training; 0: not replayed */
  double ttft_s, tpot_s; /* serving: means over a brief load */
  gint64 gpus;           /* serving: in use */
  gboolean is_slow;      /* serving: it does not keep up with the load */
} OrrPlanRemedy;

void orr_plan_remedy_free(OrrPlanRemedy *remedy);

enum { ORR_PLAN_REMEDY_MOST_GPUS = 16384 };

/* Tries recomputation, smaller micro-batches, sharding, offload of the optimizer, fewer
 * chunks, fp8, more expert, tensor, pipeline and context parallelism, and some of them
 * together. Each that passes the checks and whose memory fits is replayed as a sweep replays its
 * points: folded, on the engine `fair`, of a step shortened as far as it is steady. On more than
 * ORR_PLAN_REMEDY_MOST_GPUS none is replayed, since routes of a million GPUs take ten seconds each:
 * what fits is then in the order above, with iteration_s 0, and so are replays that @watch stops.
 * @tree: the scenario's document, @scenario: what was read from it. Returns those that fit, fastest
 * first, of OrrPlanRemedy *; @ret_n_tried: how many passed the checks. The caller owns it. */
GPtrArray *orr_plan_remedy_list(OrrLibrary *library, const OrrNode *tree,
                                const OrrScenario *scenario, const OrrPlanPatience *watch,
                                guint *ret_n_tried);

/* Whether the findings of a serving scenario that was refused say that it does not fit. */
gboolean orr_plan_remedy_is_serving(const char *findings);

/* The same of an engine whose weights, or whose longest request, do not fit: narrower weights and
 * caches, and more tensor, pipeline and expert parallelism, on more GPUs where there are too few.
 * @scenario: its fields, which its checks refuse. Those on the fewest GPUs first. */
GPtrArray *orr_plan_remedy_serving_list(OrrLibrary *library, const OrrNode *tree,
                                        const OrrScenario *scenario, guint *ret_n_tried);

/* For both: the documents with one of @tries (strvs of settings) that pass the checks, on the
 * engine `fair`; their settings are copied to @ret_settings. The caller owns them. */
GPtrArray *orr_plan_remedy_points(OrrLibrary *library, const OrrNode *tree, const GPtrArray *tries,
                                  GPtrArray *ret_settings);

/* "tp 8, recompute full": the settings without their paths. Newly allocated. */
char *orr_plan_remedy_text(const OrrPlanRemedy *remedy);

/* scaling.c: what a model's loss is after how many tokens, by published laws.
 *
 *   L(N, D) = E + A / N^alpha + B / D^beta
 *
 * N parameters, D tokens seen once; E, A, alpha, B, beta were fitted to training runs of dense
 * transformers (Hoffmann et al. 2022, arXiv 2203.15556, approach 3). For a law that knows
 * repetition (Muennighoff et al. 2023, arXiv 2305.16264, eq. 5 and 6), U unique tokens and R = D/U
 * - 1 repetitions count as
 *
 *   D' = U + U r (1 - exp(-R / r))        r: after r repetitions a token is worth 1/e of a new one
 *
 * and likewise parameters beyond the N that is best for U tokens, with a constant of their own.
 *
 * Valid where the runs were: the loss is of the law's own data and tokenizer, so differences count
 * and not the number. No law here knows experts. */

typedef struct {
  const char *name, *source;
  double e, a, alpha, b, beta;
  double token_repeats, parameter_repeats; /* r of tokens and of parameters; 0: not known */
  double most_parameters;                  /* of the runs behind it */
} OrrScalingLaw;

/* The law of @name. NULL with ORR_FAULT_USAGE and the names that are known. */
const OrrScalingLaw *orr_scaling_law(const char *name, GError **error);

/* The loss of @parameters after @tokens. @unique: how many different tokens there are (INFINITY:
 * none repeats). */
double orr_scaling_loss(const OrrScalingLaw *law, double parameters, double tokens, double unique);
/* Parameters for which @tokens, each seen once, are the best use of compute (6 N D). */
double orr_scaling_parameters(const OrrScalingLaw *law, double tokens);
/* The best parameters for @flops = 6 N D: G (C / 6)^(beta / (alpha + beta)), G = (alpha A / (beta
 * B))^(1 / (alpha + beta)) (arXiv 2203.15556, eq. 4). */
double orr_scaling_parameters_of_flops(const OrrScalingLaw *law, double flops);
/* The tokens after which @parameters reach @loss, by bisection. INFINITY: never. */
double orr_scaling_tokens(const OrrScalingLaw *law, double parameters, double loss, double unique);

/* A size that was simulated. */
typedef struct {
  double parameters, tokens_per_s; /* of the fastest layout */
} OrrScalingSpeed;

/* The size of least loss after @seconds between the first and the last of @speeds (ascending, n >=
 * 1): tokens per second are interpolated in the logarithms of both. Returns the parameters, and in
 * *@ret_tokens what they are trained on. */
double orr_scaling_best(const OrrScalingLaw *law, const OrrScalingSpeed *speeds, guint n,
                        double seconds, double unique, double *ret_tokens);

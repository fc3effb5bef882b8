/*
 * plan_serving.h - which layout of an engine serves the most requests within objectives, and how
 * many GPUs a rate needs.
 *
 * A layout is a cell: one replica, or replicas that prefill and replicas that decode; with the
 * format of its weights and of its cache, how it is split, and the tokens of a step. Replicas of
 * the cell multiply its rate, which a run of the whole fleet then verifies.
 *
 *   layouts --memory--> lone request --too late--> burst --order--> highest rate
 *                                                             tried first at the rate that would
 *                                                             bring it among the best: else pruned
 *
 *  1. A layout whose weights leave no room for the longest request is refused by the workload's own
 *     checks.
 *  2. A request alone has the shortest latencies: where it misses an objective, all do. Of a trace
 *     that is its shortest request; where requests share texts, which a cache may hold, one of a
 *     single token. Where other requests can be faster than the lone one, as with lengths that
 *     --set draws, a prefix that a cache holds, or drafts that are accepted by chance, it decides
 *     nothing (is_least_ttft, is_least_tpot).
 *  3. A burst of requests gives each layout an estimate, which decides the order alone.
 *  4. Fewer requests meet the objectives the higher the rate. So a layout that fails at the rate
 *     that would bring it among the ORR_PLAN_BEST best fails at all higher ones.
 *
 *  5. The best layouts are then asked for the rate that holds with confidence, as whole fleets of
 *     up to eight cells, which `orrery plan rate` would answer alike. That rate orders them and
 *     sizes the fleet (plan_serving.c); a layout without one comes behind. Layouts whose simulated
 *     rate is above the best such rate are asked, too, up to three times as many as are shown.
 *  6. A trace is replayed end to end until there is a steady state (serving/fleet/steady.c), its
 *     times of arrival scaled to each rate that is tried.
 *
 * Hence the best layouts equal the best ones of a search that measures every layout (`exhaustive`),
 * while 2 and 4 hold: tests/plan/test_plan_serving.c compares the two. Layouts are taken in rounds
 * of ORR_PLAN_ROUND, and what prunes one are the rounds before its own: the answer does not depend
 * on the number of cores.
 */
#pragma once

#include "results/rows/rows.h"
#include "results/store.h"
#include "sim/run/scenario.h"
#include "workloads/serving/arrivals/arrival.h"

#define ORR_PLAN_BEST 5u
#define ORR_PLAN_ROUND 4u

/* A trace of requests: the load that a question can have instead of lengths. */
typedef struct {
  const char *kind;    /* of orr_arrival_registry */
  char *file;          /* from the working directory, or absolute */
  char *hash;          /* SHA-256 of what it holds */
  OrrTraceFacts facts; /* rate 0: its requests have no times */
} OrrPlanTrace;

/* What `orrery plan serving` was asked. Texts are borrowed; NULL: the default. */
typedef struct {
  const char *model;
  const char *stack;               /* of the library; orr_plan_serving_stack() */
  char **stacks;                   /* strv, of each machine; NULL: `stack` on all */
  const char *prices;              /* NULL: no money */
  char **clusters;                 /* strv, at least one */
  char **formats;                  /* strv of words of workload.quantization, at least one */
  gboolean has_all_formats;        /* of all stacks: a machine takes its own stack's */
  char **caches;                   /* strv of words of workload.kv-dtype, at least one */
  char **settings;                 /* "workload.engine.max-num-seqs=64": strv; NULL: none */
  gint64 gpus;                     /* what there is; 0: as many as the rate needs */
  double rate;                     /* requests/s; 0: as many as the GPUs serve */
  const OrrPlanTrace *trace;       /* NULL: all requests are alike */
  gint64 input_tokens;             /* of a prompt; of the longest one of a trace */
  gint64 output_tokens;            /* of an answer; of the shortest one of a trace */
  double ttft_s, tpot_s, fraction; /* the objectives, and how many requests must meet them */
  gboolean is_whole;               /* prompts are not computed apart from answers */
  gboolean has_pools;              /* also layouts with pools of feed-forwards */
  const char *feed_device;         /* of those pools; NULL: attention's */
  gboolean exhaustive;             /* measure every layout */
  guint jobs;                      /* layouts at once; 0: one per core */
} OrrPlanServing;

typedef enum {
  ORR_PLAN_OPEN,
  ORR_PLAN_MEASURED, /* its rates are known; 0: it meets the objectives at none */
  ORR_PLAN_PRUNED,   /* worse than the best: its rate was not searched */
  ORR_PLAN_LATE,     /* a request alone misses an objective */
  ORR_PLAN_REFUSED,  /* it cannot run: its memory, or a check of the workload */
  ORR_PLAN_FAILED,   /* a run could not finish */
  ORR_N_PLAN_STATUSES
} OrrPlanStatus;
extern const char *const orr_plan_status_words[]; /* "open", ... NULL */

/* What a higher rate would miss. */
typedef enum { ORR_PLAN_BOUND_NONE, ORR_PLAN_BOUND_TTFT, ORR_PLAN_BOUND_TPOT } OrrPlanBound;
extern const char *const orr_plan_bound_words[]; /* "-", "ttft", "tpot", NULL */

/* How a replica is split over GPUs. */
typedef struct {
  gint64 tp, pp, dp_attention, ep;
  gint64 feed_gpus, micro_batches; /* feed-forwards on GPUs of their own; 0: they have none */
} OrrPlanSplit;

/* One rate that was tried. Plain bytes that cross a pipe. */
typedef struct {
  double rate;
  gboolean meets;
  double fraction; /* of the requests within the objectives */
  double goodput_rps, ttft_p99_s, tpot_p99_s, tpot_mean_s;
  double output_tokens_per_s_per_gpu;
  double power_w; /* of all GPUs of the cell; NAN: not known */
  double cost_per_million_output_tokens;
} OrrPlanRate;

#define ORR_PLAN_MOST_RATES 64u

/* Plain bytes. */
typedef struct {
  guint cluster, format, cache; /* of the question's lists */
  OrrPlanSplit split, decode;   /* decode: of replicas that decode, where prefill > 0 */
  gint64 prefill, decoders;     /* replicas of the cell by role; 0, 0: one does both */
  gint64 batched_tokens;
  gint64 max_model_len; /* engine.max-model-len of the answer's fleet; 0: the model's context */
  gint64 gpus;          /* of the cell */
  gint32 status;        /* OrrPlanStatus */
  gint32 bound;         /* OrrPlanBound */
  double lone_ttft_s, lone_tpot_s, estimate_rps;
  gboolean ttft_is_least, tpot_is_least; /* no request of the load is faster than that lone one */
  double memory_bytes;                   /* of the fullest GPU; 0: not known */
  /* Requests/s of the cell within the objectives, by the simulation alone and with confidence. 0:
   * no rate is low enough; NAN: not known. */
  double rate, sure_rate;
  double fails;        /* the lowest rate above it that fails */
  gboolean is_assured; /* sure_rate was asked for, as it is for the best layouts */
  double below_rps;    /* of a pruned layout: at this rate it misses the objectives */
  OrrPlanRate at;      /* at `rate` */
  /* What a measured latency is over the simulated one, at most, with 90 % confidence; NAN: no band.
   */
  double ttft_factor, tpot_factor;
  gboolean is_weak; /* the bands are weak */
  char why[240];    /* why it is not measured; "": it is */
  guint n_rates;
  OrrPlanRate rates[ORR_PLAN_MOST_RATES];
  /* For the question: */
  gint64 replicas; /* cells */
  double fleet_rate, fleet_sure_rate;
} OrrPlanLayout;

/* The trace @file, a path from the working directory or from a folder of the library. Of its
 * requests `workload.requests=N` of @settings (may be NULL) takes the first N. @kind NULL: its
 * beginning says it. NULL with ORR_FAULT_USAGE: no such file; ORR_FAULT_DOCUMENT: not a trace, or
 * one that cannot be replayed at a rate. */
OrrPlanTrace *orr_plan_trace_new(OrrLibrary *library, const char *file, const char *kind,
                                 char **settings, GError **error);
void orr_plan_trace_free(OrrPlanTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrPlanTrace, orr_plan_trace_free)
/* Makes it the load of @asked, whose lengths follow. */
void orr_plan_trace_ask(const OrrPlanTrace *trace, OrrPlanServing *asked);

/* The document of the stack that answers: @asked, or orr_plan_stack's of vllm on @cluster. Newly
 * allocated. */
char *orr_plan_serving_stack(OrrLibrary *library, const char *asked, const char *cluster);

/* The stack that answers for @layout: borrowed. */
const char *orr_plan_serving_stack_of(const OrrPlanServing *asked, const OrrPlanLayout *layout);
/* All stacks that answer, each once: "vllm-0.21, mindie-2.0". Newly allocated. */
char *orr_plan_serving_stack_words(const OrrPlanServing *asked);

/* The formats to search where nobody names them: the formats of the model's public checkpoints, and
 * dynamic fp8 where the engine has it. A strv. */
char **orr_plan_serving_formats(OrrLibrary *library, const char *model, const char *stack,
                                GError **error);

/* The machine of a device: its cluster whose name begins with "dgx-", else the first by name.
 * Newly allocated; NULL with ORR_FAULT_USAGE. */
char *orr_plan_serving_machine(OrrLibrary *library, const char *device, GError **error);

/* The layouts to try, all open: an array of OrrPlanLayout. NULL with ORR_FAULT_DOCUMENT: an unknown
 * name. */
GArray *orr_plan_serving_layouts(OrrLibrary *library, const OrrPlanServing *asked, GError **error);

/* The whole layout in words: newly allocated. */
char *orr_plan_serving_words(const OrrPlanServing *asked, const OrrPlanLayout *layout);

/* The load of a scenario of plan: requests/s until there is a steady state, or, where rate is 0, a
 * number of clients that send `requests` requests. Of a trace one client sends its shortest
 * request, several clients send the first ones at once. */
typedef struct {
  double rate;
  gint64 clients, requests;
} OrrPlanLoad;

/* The unread scenario of @cells cells of @layout, with the question's settings; NULL with
 * @error. */
OrrNode *orr_plan_serving_tree(OrrLibrary *library, const OrrPlanServing *asked,
                               const OrrPlanLayout *layout, gint64 cells, const OrrPlanLoad *load,
                               GError **error);

/* Of a search: called after each layout, or round. */
typedef struct {
  void (*progress)(const char *what, guint n_done, guint n, void *user); /* may be NULL */
  /* Takes a layout that is answered; FALSE with @error ends the search. May be NULL. */
  gboolean (*keep)(guint index, const OrrPlanLayout *layout, void *user, GError **error);
  void *user;
} OrrPlanWatch;

/* Answers every open layout of @layouts. */
gboolean orr_plan_serving_search(OrrLibrary *library, const OrrPlanServing *asked, GArray *layouts,
                                 const OrrPlanWatch *watch, GError **error);

/* Cells for the question, from the rates with confidence; where there is none, or the GPUs are too
 * few for it, from the simulated ones. */
void orr_plan_serving_size(const OrrPlanServing *asked, OrrPlanLayout *layout);
/* Whether the upper ends of its bands say that @layout's fleet answers the question. */
gboolean orr_plan_serving_is_promised(const OrrPlanServing *asked, const OrrPlanLayout *layout);
/* Requests/s of its whole fleet: the rate asked for, or what it is promised to serve; where nothing
 * is promised, what it serves by the simulation alone. */
double orr_plan_serving_fleet_load(const OrrPlanServing *asked, const OrrPlanLayout *layout);
/* Indices (guint) of the measured layouts that answer the question, best first: those with a rate
 * that holds with confidence, by the fewest GPUs or the highest such rate of all GPUs, then the
 * others by their simulated rates. */
GArray *orr_plan_serving_rank(const OrrPlanServing *asked, const GArray *layouts);

/* The engine's launch lines, one per role, each with its newline; NULL: the engine has none for
 * this layout. Newly allocated. `orrery import launch` reads a line of one role back. */
char *orr_plan_serving_launch(OrrLibrary *library, const OrrPlanServing *asked,
                              const OrrPlanLayout *layout);

/* plan_serving_store.c: a serving plan in the results database.
 *
 * A plan is a run of kind "plan" whose hash covers the question, the machines, models and stacks
 * that it names, and the program's version. Layouts are stored one by one as they are answered.
 * The same question again finds them, so a search that was ended goes on, and an answer is printed
 * again at once. */

extern const OrrFieldTable orr_plan_layout_table, orr_plan_rate_table, orr_plan_sure_table;

/* Begins the plan's run in @store, or finds the newest of the same question, whose layouts are then
 * filled in. *@ret_n_known: how many. */
gboolean orr_plan_serving_store_begin(OrrStore *store, OrrLibrary *library,
                                      const OrrPlanServing *asked, GArray *layouts, gint64 *ret_run,
                                      guint *ret_n_known, GError **error);

/* Stores the answer of layout @index. */
gboolean orr_plan_serving_store_layout(OrrStore *store, gint64 run, const OrrPlanServing *asked,
                                       guint index, const OrrPlanLayout *layout, GError **error);

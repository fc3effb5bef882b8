/*
 * expert_exchange.c - all-to-alls that know what they carry: tokens on the way to their experts (dispatch) and back
 * (combine). DeepEP's normal and low-latency kernels (github deepseek-ai/DeepEP), TensorRT-LLM's over NVLink.
 *
 * T tokens a rank, hidden h, e bytes an element, k experts a token of E, n ranks in N domains of m:
 *
 *   to each expert (low-latency)   a rank sends k / n of T h e to each rank, straight
 *   to each rank once (others)     to each other domain once, on the rail of the sender, and from there over NVLink to
 *                                  each rank there that holds an expert of the token
 *
 *     rank 0 --NIC--> rank 4 --NVLink--> 5, 6         d(R) = R (1 - C(E - E/R, k) / C(E, k)): how many of R equal
 *                      (rail 0)                              parts of the experts a token meets
 *
 *   of a pair in a domain      T h e d(n) / m    NVLink;   low-latency   T h e k / n
 *   of a rail, to a domain     T h e d(N) / N    NIC;      low-latency   T h e k / n * m
 *
 *   launch + alpha + max((m-1) pair / B_scale_up, (N-1) rail / B_nic)
 *
 * Node-limited routing chooses M domains first: then d(M) and d(M m) over the experts of M domains, M / N of E.
 *
 * All sends are under way at once: alpha is one hop inside and one across. Low-latency kernels cross the rails in the
 * network; here their bytes are put on the sender's rail, which loads NICs alike and spines less.
 *
 * Where the profile has rows of the kernel (`libraries`) over so many ranks, and the group lies as theirs did (whole
 * nodes), the measured time replaces the model; TensorRT-LLM's two-sided dispatch is its prepare and dispatch.
 *
 * Never chosen by itself: which library exchanges is the engine's business.   algorithm: deepep
 */
#include "workloads/collectives/collective_private.h"

#include <math.h>

enum { RESOLUTION = 4096 }; /* weights are whole numbers: the larger of the two edges has this one */

double orr_expert_exchange_bytes(const OrrExpertExchange *exchange) {
  return exchange->tokens * (double)(exchange->hidden * exchange->topk) * exchange->bytes_per_element;
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  (void)context;
  return call->op == ORR_ALL_TO_ALL && call->exchange != NULL;
}

static gboolean supports_nvlink(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  for (guint i = 1; i < call->n; i++)
    if (!orr_fabric_same_domain(context->fabric, call->gpus[0], call->gpus[i])) return FALSE;
  return supports(context, call);
}

/* Bytes of the two kinds of edge; see above. */
typedef struct {
  double pair, rail;
} Edges;

static Edges edges_of(const OrrExpertExchange *exchange, const char *library, const OrrCollectiveLayout *layout) {
  const double token = exchange->tokens * (double)exchange->hidden * exchange->bytes_per_element;
  const guint m = layout->per_domain, n_domains = layout->n_domains, n = m * n_domains;
  const guint most = exchange->most_domains > 0 ? MIN((guint)exchange->most_domains, n_domains) : n_domains;
  const gint64 reached = exchange->experts * most / n_domains; /* experts of the domains that a token may choose from */
  double copies = orr_cost_library_copies(library, m * most, exchange->topk, reached);
  if (g_str_has_suffix(library, "-low-latency")) return (Edges){token * copies / n, token * copies / n * m};
  double met = n_domains > 1 ? orr_cost_library_copies(library, most, exchange->topk, reached) : 0;
  return (Edges){token * copies / m, token * met / n_domains};
}

/* Edges of each domain, all pairs; the dearest hop. */
static double add_inside(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout, guint32 weight) {
  guint m = layout->per_domain;
  double dearest_s = 0;
  for (guint d = 0; d < layout->n_domains; d++)
    for (guint i = 0; i < m; i++)
      for (guint r = 1; r < m; r++) {
        const gint64 *gpus = layout->gpus + d * m;
        double hop_s = orr_collective_flow_edge(flow, gpus[i], gpus[(i + r) % m], 0, weight);
        dearest_s = MAX(dearest_s, hop_s);
      }
  return dearest_s;
}

static double add_across(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout, guint32 weight) {
  guint m = layout->per_domain;
  double dearest_s = 0;
  for (guint d = 0; d < layout->n_domains; d++)
    for (guint r = 1; r < layout->n_domains; r++)
      for (guint rail = 0; rail < m; rail++) {
        gint64 from = layout->gpus[d * m + rail], to = layout->gpus[(d + r) % layout->n_domains * m + rail];
        double hop_s = orr_collective_flow_edge(flow, from, to, 0, weight);
        dearest_s = MAX(dearest_s, hop_s);
      }
  return dearest_s;
}

static void plan_by(const char *library, const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                    GArray *phases) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  const Edges edges = edges_of(call->exchange, library, &layout);
  double pair = layout.per_domain > 1 ? edges.pair : 0, rail = layout.n_domains > 1 ? edges.rail : 0;
  double unit = MAX(pair, rail) / RESOLUTION;
  double alpha_s = add_inside(&flow, &layout, unit > 0 ? (guint32)lround(pair / unit) : 0);
  alpha_s += add_across(&flow, &layout, unit > 0 ? (guint32)lround(rail / unit) : 0);
  orr_collective_flow_finish(&flow, alpha_s, unit, phases);
}

static double oracle_by(const char *library, const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  const OrrExpertExchange *exchange = call->exchange;
  double copies = orr_cost_library_copies(library, call->n, exchange->topk, exchange->experts);
  double token = exchange->tokens * (double)exchange->hidden * exchange->bytes_per_element;
  return alpha_s + token * copies * (call->n - 1.0) / call->n / bytes_per_s;
}

/* One kernel's function each: the family's table of functions has no place for the library. */
#define KERNEL(function_, library_)                                                                                    \
  static void plan_##function_(const OrrCollectiveContext *context, const OrrCollectiveCall *call, GArray *phases) {   \
    plan_by(library_, context, call, phases);                                                                          \
  }                                                                                                                    \
  static double oracle_##function_(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {                \
    return oracle_by(library_, call, alpha_s, bytes_per_s);                                                            \
  }
KERNEL(deepep, "deepep")
KERNEL(low_latency, "deepep-low-latency")
KERNEL(one_sided, "trtllm-one-sided")
KERNEL(two_sided, "trtllm-two-sided")

#define ENTRY(variable_, name_, function_, supports_, sentence_)                                                       \
  const OrrCollectiveAlgorithm variable_ = {.entry = {.name = name_, .sentence = sentence_},                           \
                                            .chosen = ORR_CHOSEN_NEVER,                                                \
                                            .library = name_,                                                          \
                                            .supports = supports_,                                                     \
                                            .plan = plan_##function_,                                                  \
                                            .oracle = oracle_##function_};
ENTRY(orr_deepep, "deepep", deepep, supports,
      "DeepEP's normal kernels: a token once to each node, and there to each rank.")
ENTRY(orr_deepep_low_latency, "deepep-low-latency", low_latency, supports,
      "DeepEP's low-latency kernels: a token straight to each of its experts.")
ENTRY(orr_trtllm_one_sided, "trtllm-one-sided", one_sided, supports_nvlink,
      "TensorRT-LLM's one-sided all-to-all over NVLink: a token once to each rank.")
ENTRY(orr_trtllm_two_sided, "trtllm-two-sided", two_sided, supports_nvlink,
      "TensorRT-LLM's two-sided all-to-all over NVLink: prepare, then a token once to each rank.")

/* --- measured times --- */

/* Whether the group lies as the rows' did: inside a domain, or on nodes as whole as the smallest group's. */
static gboolean lies_alike(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                           const OrrLibraryCall *asked) {
  OrrLibraryCall any = *asked;
  any.n_ranks = 0;
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  return layout.n_domains == 1 || (gint64)layout.per_domain == orr_cost_library_ranks(context->cost, &any);
}

gboolean orr_expert_exchange_measured(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                                      const char *library, OrrCost *ret_cost) {
  const OrrExpertExchange *exchange = call->exchange;
  OrrLibraryCall asked = {.library = library,
                          .op = exchange->is_combine ? "combine" : "dispatch",
                          .dtype =
                              g_str_has_prefix(library, "trtllm") ? orr_dtype_names[exchange->experts_dtype] : NULL,
                          .n_ranks = call->n,
                          .size = exchange->tokens,
                          .hidden = exchange->hidden,
                          .topk = exchange->topk,
                          .experts = exchange->experts};
  OrrCost prepare;
  if (exchange->most_domains > 0) return FALSE; /* rows are of tokens that go anywhere */
  if (orr_cost_library_ranks(context->cost, &asked) != (gint64)call->n || !lies_alike(context, call, &asked) ||
      !orr_cost_library(context->cost, &asked, ret_cost))
    return FALSE;
  asked.op = "prepare";
  if (!exchange->is_combine && orr_cost_library(context->cost, &asked, &prepare)) {
    ret_cost->time_s += prepare.time_s;
    ret_cost->how = MAX(ret_cost->how, prepare.how);
  }
  return TRUE;
}

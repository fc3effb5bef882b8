/*
 * expert_exchange.c - all-to-alls of tokens, sent to their experts (dispatch) and back (combine):
 * DeepEP's normal and low-latency kernels (github deepseek-ai/DeepEP), MORI's (ROCm/mori), and
 * TensorRT-LLM's over NVLink.
 *
 * T tokens per rank, hidden size h, e bytes per element, k of E experts per token, n ranks in N
 * domains of m:
 *
 *   to each expert (low-latency)   a rank sends k / n of T h e to each rank, straight
 *   to each rank once (others)     to each other domain once, on the rail of the sender, and from
 *                                  there over NVLink to each rank there that holds an expert of the
 *                                  token
 *
 *     rank 0 --NIC--> rank 4 --NVLink--> 5, 6         d(R) = R (1 - C(E - E/R, k) / C(E, k)): how
 *                                                     many of R equal
 *                      (rail 0)                              parts of the experts one token meets
 *
 *   of a pair in a domain      T h e d(n) / m    NVLink;   low-latency   T h e k / n
 *   of a rail, to a domain     T h e d(N) / N    NIC;      low-latency   T h e k / n * m
 *
 *   launch + alpha + max((m-1) pair / B_scale_up, (N-1) rail / B_nic)
 *
 * Low-latency kernels send each token to each of its experts as a message of its own, k T
 * (N-1)/N to other domains. Where the transport has a message-rate, a NIC takes these one after
 * another, on top of their bytes:
 *
 *   + k T (N-1)/N / (message-rate * NICs of a GPU)
 *
 * Checked, not fitted: the rate of EFA comes from streams of messages of UCCL's benchmark, and
 * predicts UCCL's low-latency dispatch and combine over it (validation set exchange-libraries).
 *
 * Node-limited routing first chooses M domains: then d(M) and d(M m) apply over the experts of M
 * domains, M / N of E.
 *
 * If domains differ in size, each holds experts in proportion to its members. What member i sends
 * to a smaller domain arrives at member i modulo that domain's members.
 *
 * All sends are in flight at once: alpha is one hop inside and one across. Low-latency kernels
 * cross rails in the network; the model puts their bytes on the sender's rail, which loads NICs
 * equally and spines less.
 *
 * If the profile has rows of the kernel (`libraries`) for this number of ranks, and the group is
 * laid out as in the measurement (whole nodes), the measured time replaces the model;
 * TensorRT-LLM's two-sided dispatch is the sum of its prepare and dispatch. The rows are of
 * InfiniBand: another transport adds its messages and what its hop takes beyond that, and the time
 * counts as carried over. Node-limited routing takes off the time of the transfers that it spares,
 * which also carries the time over (collective.c, ask_routed). Over NICs or switches that are
 * slower than the rows' NICs (`nic-rate`) the bytes take the difference longer, and the time counts
 * as modelled (collective.c, over_slower_network).
 *
 * Only used if forced, because the engine decides which library exchanges. algorithm: deepep
 */
#include "workloads/collectives/collective_private.h"

enum {
  RESOLUTION = 4096
}; /* weights are whole numbers; the larger of the two edges gets this weight */

gboolean orr_expert_exchange_is_direct(const char *library) {
  return g_str_has_suffix(library, "-low-latency");
}

double orr_expert_exchange_bytes(const OrrExpertExchange *exchange) {
  return exchange->tokens * (double)(exchange->hidden * exchange->topk) *
         exchange->bytes_per_element;
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  return call->op == ORR_ALL_TO_ALL && call->exchange != NULL;
}

static gboolean supports_nvlink(const OrrCollectiveContext *context,
                                const OrrCollectiveCall *call) {
  for (guint i = 1; i < call->n; i++)
    if (!orr_fabric_same_domain(context->fabric, call->gpus[0], call->gpus[i])) return FALSE;
  return supports(context, call);
}

/* The traffic of one rank's tokens: see above. */
typedef struct {
  const OrrCollectiveLayout *layout;
  gboolean low_latency;
  double rank_bytes;      /* bytes to each rank */
  double domain_fraction; /* fraction of the tokens sent once to each other domain of mean size */
  double token_bytes;
  double unit_bytes; /* bytes per unit of weight */
} Exchange;

static Exchange exchange_of(const OrrExpertExchange *experts, const char *library,
                            const OrrCollectiveLayout *layout) {
  const guint n_domains = layout->n_domains, n = layout->first[n_domains];
  const guint most =
      experts->most_domains > 0 ? MIN((guint)experts->most_domains, n_domains) : n_domains;
  const gint64 reached =
      experts->experts * most / n_domains; /* experts of the domains that a token can choose from */
  const double copies =
      orr_cost_library_copies(library, n * most / n_domains, experts->topk, reached);
  const double met =
      n_domains > 1 ? orr_cost_library_copies(library, most, experts->topk, reached) : 0;
  const double token_bytes = experts->tokens * (double)experts->hidden * experts->bytes_per_element;
  return (Exchange){.layout = layout,
                    .low_latency = orr_expert_exchange_is_direct(library),
                    .rank_bytes = token_bytes * copies / n,
                    .domain_fraction = met / n_domains,
                    .token_bytes = token_bytes};
}

/* Bytes from member @i of domain @d to each other member: its own tokens, and other domains' that
 * arrived on its rail. */
static double pair_bytes(const Exchange *exchange, guint d, guint i) {
  guint sources = 1;
  if (orr_collective_layout_size(exchange->layout, d) == 1) return 0;
  for (guint other = 0; !exchange->low_latency && other < exchange->layout->n_domains; other++)
    sources += other == d ? 0 : orr_collective_layout_behind(exchange->layout, d, i, other);
  return sources * exchange->rank_bytes;
}

/* Bytes from a rank to domain @d. A domain larger than the mean holds more experts, but receives
 * no token twice. */
static double rail_bytes(const Exchange *exchange, guint d) {
  const OrrCollectiveLayout *layout = exchange->layout;
  const double size = orr_collective_layout_size(layout, d);
  const double of_mean =
      layout->equal ? 1 : size * layout->n_domains / layout->first[layout->n_domains];
  if (layout->n_domains == 1) return 0;
  return exchange->low_latency
             ? exchange->rank_bytes * size
             : exchange->token_bytes * fmin(exchange->domain_fraction * of_mean, 1);
}

static void settle_unit(Exchange *exchange) {
  double most_bytes = 0;
  for (guint d = 0; d < exchange->layout->n_domains; d++) {
    most_bytes = fmax(most_bytes, rail_bytes(exchange, d));
    for (guint i = 0; i < orr_collective_layout_size(exchange->layout, d); i++)
      most_bytes = fmax(most_bytes, pair_bytes(exchange, d, i));
  }
  exchange->unit_bytes = most_bytes / RESOLUTION;
}

static guint32 weight_of(const Exchange *exchange, double bytes) {
  return exchange->unit_bytes > 0 ? (guint32)lround(bytes / exchange->unit_bytes) : 0;
}

/* Adds the edges between all pairs of each domain; returns the most expensive hop. */
static double add_inside(OrrCollectiveFlow *flow, const Exchange *exchange) {
  const OrrCollectiveLayout *layout = exchange->layout;
  double dearest_s = 0;
  for (guint d = 0; d < layout->n_domains; d++)
    for (guint i = 0; i < orr_collective_layout_size(layout, d); i++) {
      const guint32 weight = weight_of(exchange, pair_bytes(exchange, d, i));
      for (guint r = 1; r < orr_collective_layout_size(layout, d); r++) {
        const gint64 from = orr_collective_layout_gpu(layout, d, i),
                     to = orr_collective_layout_gpu(layout, d, i + r);
        double hop_s = orr_collective_flow_edge(flow, from, to, 0, weight);
        dearest_s = MAX(dearest_s, hop_s);
      }
    }
  return dearest_s;
}

static double add_across(OrrCollectiveFlow *flow, const Exchange *exchange) {
  const OrrCollectiveLayout *layout = exchange->layout;
  double dearest_s = 0;
  for (guint d = 0; d < layout->n_domains; d++)
    for (guint r = 1; r < layout->n_domains; r++) {
      const guint to = (d + r) % layout->n_domains;
      const guint32 weight = weight_of(exchange, rail_bytes(exchange, to));
      for (guint i = 0; i < orr_collective_layout_size(layout, d); i++) {
        const gint64 src = orr_collective_layout_gpu(layout, d, i),
                     dst = orr_collective_layout_gpu(layout, to, i);
        double hop_s = orr_collective_flow_edge(flow, src, dst, 0, weight);
        dearest_s = MAX(dearest_s, hop_s);
      }
    }
  return dearest_s;
}

/* The time that the transport's NICs take for a rank's messages to other domains. */
static double message_time(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                           const char *library, const OrrCollectiveLayout *layout) {
  const double per_s = orr_fabric_messages_per_s(context->fabric),
               away = 1 - 1.0 / layout->n_domains;
  if (per_s <= 0 || !orr_expert_exchange_is_direct(library)) return 0;
  return call->exchange->tokens * (double)call->exchange->topk * away / per_s;
}

static void plan_by(const char *library, const OrrCollectiveContext *context,
                    const OrrCollectiveCall *call, GArray *phases) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  Exchange exchange = exchange_of(call->exchange, library, &layout);
  settle_unit(&exchange);
  const double alpha_s = add_inside(&flow, &exchange);
  const double across_s = add_across(&flow, &exchange);
  orr_collective_flow_finish(&flow,
                             alpha_s + across_s + message_time(context, call, library, &layout),
                             exchange.unit_bytes, phases);
}

static double oracle_by(const char *library, const OrrCollectiveCall *call, double alpha_s,
                        double bytes_per_s) {
  const OrrExpertExchange *exchange = call->exchange;
  double copies = orr_cost_library_copies(library, call->n, exchange->topk, exchange->experts);
  double token = exchange->tokens * (double)exchange->hidden * exchange->bytes_per_element;
  return alpha_s + token * copies * (call->n - 1.0) / call->n / bytes_per_s;
}

/* One function per kernel, because the family's function table does not pass the library. */
#define KERNEL(function_, library_)                                                                \
  static void plan_##function_(const OrrCollectiveContext *context, const OrrCollectiveCall *call, \
                               GArray *phases) {                                                   \
    plan_by(library_, context, call, phases);                                                      \
  }                                                                                                \
  static double oracle_##function_(const OrrCollectiveCall *call, double alpha_s,                  \
                                   double bytes_per_s) {                                           \
    return oracle_by(library_, call, alpha_s, bytes_per_s);                                        \
  }
KERNEL(deepep, "deepep")
KERNEL(low_latency, "deepep-low-latency")
KERNEL(mori, "mori")
KERNEL(one_sided, "trtllm-one-sided")
KERNEL(two_sided, "trtllm-two-sided")

#define TOKENS "an exchange of experts' tokens"
#define KERNELS(library_, function_)                                                               \
  .chosen = ORR_CHOSEN_NEVER, .library = library_, .plan = plan_##function_,                       \
  .oracle = oracle_##function_
const OrrCollectiveAlgorithm orr_deepep = {
    .entry =
        {"deepep",
         "DeepEP's normal kernels: each token goes once to each node, and from there to each rank.",
         NULL},
    .needs = TOKENS,
    .supports = supports,
    KERNELS("deepep", deepep)};
const OrrCollectiveAlgorithm orr_deepep_low_latency = {
    .entry = {"deepep-low-latency",
              "DeepEP's low-latency kernels: each token goes directly to each of its experts.",
              NULL},
    .needs = TOKENS,
    .supports = supports,
    KERNELS("deepep-low-latency", low_latency)};
const OrrCollectiveAlgorithm orr_mori = {
    .entry = {"mori",
              "MORI's kernels on AMD: each token once to each node, and from there to each rank.",
              NULL},
    .needs = TOKENS,
    .supports = supports,
    KERNELS("mori", mori)};
const OrrCollectiveAlgorithm orr_trtllm_one_sided = {
    .entry = {"trtllm-one-sided",
              "TensorRT-LLM's one-sided all-to-all over NVLink: each token goes once to each rank.",
              NULL},
    .needs = TOKENS ", in one scale-up domain",
    .supports = supports_nvlink,
    KERNELS("trtllm-one-sided", one_sided)};
const OrrCollectiveAlgorithm orr_trtllm_two_sided = {
    .entry = {"trtllm-two-sided",
              "TensorRT-LLM's two-sided all-to-all over NVLink: prepare, then each token once to "
              "each rank.",
              NULL},
    .needs = TOKENS ", in one scale-up domain",
    .supports = supports_nvlink,
    KERNELS("trtllm-two-sided", two_sided)};

/* --- measured times --- */

/* Whether the group is laid out as in the rows' measurement: inside one domain, or on nodes as
 * complete as the smallest group's. */
static gboolean lies_alike(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                           const OrrLibraryCall *asked) {
  OrrLibraryCall any = *asked;
  any.n_ranks = 0;
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  return layout.n_domains == 1 ||
         (layout.equal && (gint64)layout.channels == orr_cost_library_ranks(context->cost, &any));
}

/* Adds to a time that was measured over InfiniBand what another transport's messages and hop
 * take. */
static void add_transport(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                          const char *library, OrrCost *cost) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  const double hop_s = orr_fabric_transport(context->fabric)->hop_latency_s -
                       orr_cost_collective_constants(context->cost).scale_out_step_s;
  const double more_s =
      message_time(context, call, library, &layout) + (layout.n_domains > 1 ? fmax(hop_s, 0) : 0);
  cost->time_s += more_s;
  if (more_s > 0) cost->how = MAX(cost->how, ORR_HOW_CARRIED);
}

/* The format by which the rows of a library differ: of the experts, or of what is sent; NULL: they
 * do not. */
static const char *format_of(const OrrExpertExchange *exchange, const char *library) {
  if (g_str_has_prefix(library, "trtllm")) return orr_dtype_names[exchange->experts_dtype];
  if (!g_str_equal(library, "mori")) return NULL;
  const double bytes = exchange->bytes_per_element;
  return orr_dtype_names[bytes >= 2 ? ORR_BF16 : bytes >= 1 ? ORR_FP8 : ORR_FP4];
}

static OrrLibraryCall asked_of(const OrrCollectiveCall *call, const char *library) {
  const OrrExpertExchange *exchange = call->exchange;
  return (OrrLibraryCall){.library = library,
                          .op = exchange->is_combine ? "combine" : "dispatch",
                          .dtype = format_of(exchange, library),
                          .n_ranks = call->n,
                          .size = exchange->tokens,
                          .hidden = exchange->hidden,
                          .topk = exchange->topk,
                          .experts = exchange->experts};
}

double orr_expert_exchange_nic(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                               const char *library) {
  const OrrLibraryCall asked = asked_of(call, library);
  return orr_cost_library_nic(context->cost, &asked);
}

gboolean orr_expert_exchange_measured(const OrrCollectiveContext *context,
                                      const OrrCollectiveCall *call, const char *library,
                                      OrrCost *ret_cost) {
  const OrrExpertExchange *exchange = call->exchange;
  OrrLibraryCall asked = asked_of(call, library);
  OrrCost prepare;
  if (orr_cost_library_ranks(context->cost, &asked) != (gint64)call->n ||
      !lies_alike(context, call, &asked) || !orr_cost_library(context->cost, &asked, ret_cost))
    return FALSE;
  asked.op = "prepare";
  if (!exchange->is_combine && orr_cost_library(context->cost, &asked, &prepare)) {
    ret_cost->time_s += prepare.time_s;
    ret_cost->how = MAX(ret_cost->how, prepare.how);
  }
  add_transport(context, call, library, ret_cost);
  return TRUE;
}

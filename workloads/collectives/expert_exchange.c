/*
 * expert_exchange.c - all-to-alls of tokens, sent to their experts (dispatch) and back (combine):
 * DeepEP's normal and low-latency kernels (github deepseek-ai/DeepEP), pplx-garden's
 * (perplexityai/pplx-garden), MORI's (ROCm/mori), and TensorRT-LLM's over NVLink.
 *
 * T tokens per rank, hidden size h, e bytes per element, k of E experts per token, n ranks in N
 * domains of m:
 *
 *   to each expert (low-latency,   a rank sends k / n of T h e to each rank, straight
 *     pplx-garden)
 *   to each rank once (others)     to each other domain once, on the rail of the sender, and from
 *                                  there over NVLink to each rank there that holds an expert of the
 *                                  token
 *
 *     rank 0 --NIC--> rank 4 --NVLink--> 5, 6         d(R) = R (1 - C(E - E/R, k) / C(E, k)): how
 *                                                     many of R equal
 *                      (rail 0)                              parts of the experts one token meets
 *
 *   of a pair in a domain      T h e d(n) / m    NVLink;   to each expert   T h e k / n
 *   of a rail, to a domain     T h e d(N) / N    NIC;      to each expert   T h e k / n * m
 *
 *   rest + max((m-1) pair / B_scale_up, (N-1) rail / B_nic) + messages
 *
 * rest is what the kernel takes beyond its transfers: launches, layout, copies to and from buffers,
 * hops. Over nodes, where the profile has rows of the kernel over another number of ranks, it is
 * the nearest row's time without the transfers of that row, which the same formula gives for its
 * ranks, over the NICs of the rows (`nic-rate`) or the device's links; rows inside a domain also
 * miss the hop across. Otherwise it is launch + alpha.
 *
 * Where the transport has a message-rate, a NIC takes a rank's messages one after another, on top
 * of their bytes:
 *
 *   low-latency    one for each token and expert: k T (N-1)/N
 *   deepep         one for each chunk of tokens to a domain: T d(N) (N-1)/N / chunk, with the
 *                  chunks of deep_ep/buffer.py (get_dispatch_config, get_combine_config)
 *   pplx-garden    dispatch: counts to each rank, tokens to each rank of other domains,
 *                  (n-1) + (n-m); combine: tokens by each NIC, (n-m) NICs
 *                  (p2p-all-to-all/src/a2a_worker.rs)
 *
 * Checked, not fitted: the rate of EFA comes from streams of messages of UCCL's benchmark, and
 * predicts UCCL's and pplx-garden's exchanges over it (validation set exchange-libraries).
 *
 * Node-limited routing first chooses M domains: then d(M) and d(M m) apply over the experts of M
 * domains, M / N of E. In turn, token i has the experts k i to k i + k - 1 (modulo E): d(R) is then
 * the mean number of the R parts that such a run touches.
 *
 * If domains differ in size, each holds experts in proportion to its members. Messages of member i
 * to a smaller domain arrive at member i modulo that domain's members.
 *
 * All sends are in flight at once: alpha is one hop inside and one across. Kernels that send to
 * each expert cross rails in the network; the model puts their bytes on the sender's rail, which
 * loads NICs equally and spines less.
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
#include "calibration/cost/cost_library.h"
#include "workloads/collectives/collective_private.h"

enum {
  RESOLUTION = 4096
}; /* weights are whole numbers; the larger of the two edges gets this weight */

gboolean orr_expert_exchange_is_direct(const char *library) {
  return orr_cost_library_is_direct(library);
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
  gboolean direct;        /* straight to the rank of each expert */
  double rank_bytes;      /* bytes to each rank */
  double domain_fraction; /* fraction of the tokens sent once to each other domain of mean size */
  double token_bytes;
  double unit_bytes; /* bytes per unit of weight */
} Exchange;

/* Of @parts equal parts of the experts, the mean number that a run of topk touches. Runs begin at
 * multiples of topk, modulo the number of experts, and so at all multiples of the two's common
 * divisor. */
static double parts_in_turn(const OrrExpertExchange *experts, gint64 parts) {
  const gint64 here = MAX(experts->experts / MAX(parts, 1), 1), topk = experts->topk;
  gint64 touched = 0, runs = 0, first = 0;
  do {
    touched += MIN((first + topk - 1) / here - first / here + 1, parts);
    first = (first + topk) % experts->experts;
    runs++;
  } while (first != 0);
  return (double)touched / (double)runs;
}

/* How many of @parts equal parts of @reached experts one token meets. */
static double parts_met(const OrrExpertExchange *experts, const char *library, gint64 parts,
                        gint64 reached) {
  if (experts->in_turn && !orr_expert_exchange_is_direct(library))
    return parts_in_turn(experts, parts);
  return orr_cost_library_copies(library, parts, experts->topk, reached);
}

static Exchange exchange_of(const OrrExpertExchange *experts, const char *library,
                            const OrrCollectiveLayout *layout) {
  const guint n_domains = layout->n_domains, n = layout->first[n_domains];
  const guint most = experts->most_domains > 0 && !experts->in_turn
                         ? MIN((guint)experts->most_domains, n_domains)
                         : n_domains;
  const gint64 reached =
      experts->experts * most / n_domains; /* experts of the domains that a token can choose from */
  const double copies = parts_met(experts, library, n * most / n_domains, reached);
  const double met = n_domains > 1 ? parts_met(experts, library, most, reached) : 0;
  const double token_bytes = experts->tokens * (double)experts->hidden * experts->bytes_per_element;
  return (Exchange){.layout = layout,
                    .direct = orr_expert_exchange_is_direct(library),
                    .rank_bytes = token_bytes * copies / n,
                    .domain_fraction = met / n_domains,
                    .token_bytes = token_bytes};
}

/* Bytes from member @i of domain @d to each other member: its own tokens, and other domains' that
 * arrived on its rail. */
static double pair_bytes(const Exchange *exchange, guint d, guint i) {
  guint sources = 1;
  if (orr_collective_layout_size(exchange->layout, d) == 1) return 0;
  for (guint other = 0; !exchange->direct && other < exchange->layout->n_domains; other++)
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
  return exchange->direct ? exchange->rank_bytes * size
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

/* --- messages --- */

static double messages_by_token(const OrrCollectiveCall *call, const Exchange *exchange,
                                double nics) {
  return call->exchange->tokens * (double)call->exchange->topk *
         (1 - 1.0 / exchange->layout->n_domains);
}

/* Tokens that one message to a domain holds, by number of ranks (deep_ep/buffer.py, 04b06f7a). */
static const struct {
  guint ranks;
  double dispatch, combine;
} chunks[] = {{16, 20, 28}, {24, 32, 20}, {64, 28, 20}, {128, 32, 12}, {G_MAXUINT, 12, 8}};

static double messages_by_chunk(const OrrCollectiveCall *call, const Exchange *exchange,
                                double nics) {
  guint at = 0;
  while (chunks[at].ranks < call->n) at++;
  return call->exchange->tokens * exchange->domain_fraction * (exchange->layout->n_domains - 1) /
         (call->exchange->is_combine ? chunks[at].combine : chunks[at].dispatch);
}

static double messages_by_rank(const OrrCollectiveCall *call, const Exchange *exchange,
                               double nics) {
  const double away = call->n * (1 - 1.0 / exchange->layout->n_domains);
  return call->exchange->is_combine ? away * nics : call->n - 1 + away;
}

static const struct {
  const char *library;
  double (*messages)(const OrrCollectiveCall *call, const Exchange *exchange, double nics);
} senders[] = {{"deepep", messages_by_chunk},
               {"deepep-low-latency", messages_by_token},
               {"pplx-garden", messages_by_rank}};

/* The time that the transport's NICs take for a rank's messages to other domains. */
static double message_time(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                           const char *library, const Exchange *exchange) {
  const double per_s = orr_fabric_messages_per_s(context->fabric),
               nics = per_s / orr_fabric_transport(context->fabric)->message_rate_per_s;
  if (per_s <= 0 || exchange->layout->n_domains == 1) return 0;
  for (guint i = 0; i < G_N_ELEMENTS(senders); i++)
    if (g_str_equal(senders[i].library, library))
      return senders[i].messages(call, exchange, nics) / per_s;
  return 0;
}

static const char *format_sent(const OrrExpertExchange *exchange) {
  const double bytes = exchange->bytes_per_element;
  return orr_dtype_names[bytes >= 2 ? ORR_BF16 : bytes >= 1 ? ORR_FP8 : ORR_FP4];
}

static gboolean is_by_format(const char *library) {
  return g_str_has_prefix(library, "trtllm") || g_str_equal(library, "mori");
}

/* The call as rows name it. They differ by the format of the experts (TensorRT-LLM), or by what is
 * sent, if the profile has rows of that; others stand for every format, but not MORI's. */
static OrrLibraryCall asked_of(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                               const char *library) {
  const OrrExpertExchange *exchange = call->exchange;
  OrrLibraryCall asked = {.library = library,
                          .op = exchange->is_combine ? "combine" : "dispatch",
                          .dtype = g_str_has_prefix(library, "trtllm")
                                       ? orr_dtype_names[exchange->experts_dtype]
                                       : format_sent(exchange),
                          .n_ranks = call->n,
                          .size = exchange->tokens,
                          .hidden = exchange->hidden,
                          .topk = exchange->topk,
                          .experts = exchange->experts};
  if (!is_by_format(library) && context->cost && orr_cost_library_ranks(context->cost, &asked) == 0)
    asked.dtype = NULL;
  return asked;
}

/* --- the kernel beyond its transfers --- */

/* The extra time of a hop of the transport over InfiniBand, on which rows were measured. */
static double more_of_hop(const OrrCollectiveContext *context) {
  return fmax(orr_fabric_transport(context->fabric)->hop_latency_s -
                  orr_cost_collective_constants(context->cost).scale_out_step_s,
              0);
}

/* The time of @asked's rows, with what comes before it; FALSE: none. */
static gboolean rows_time(const OrrCollectiveContext *context, const OrrLibraryCall *asked,
                          OrrCost *ret_cost) {
  OrrLibraryCall before = *asked;
  OrrCost prepare;
  before.op = "prepare";
  if (!orr_cost_library(context->cost, asked, ret_cost)) return FALSE;
  if (g_str_equal(asked->op, "dispatch") && orr_cost_library(context->cost, &before, &prepare)) {
    ret_cost->time_s += prepare.time_s;
    ret_cost->how = MAX(ret_cost->how, prepare.how);
  }
  return TRUE;
}

static double scale_up_rate(const OrrCollectiveContext *context) {
  return orr_fabric_link_bandwidth(context->fabric, 0); /* the first GPU's scale-up link */
}

/* The kernel's time beyond its transfers over nodes, launch and hops included, by the rows of the
 * nearest number of ranks; 0 without rows, and inside a domain. @across_s: the hop to another
 * domain, which rows inside a domain lack. */
static double rest_of_rows(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                           const char *library, const Exchange *exchange, double across_s) {
  OrrLibraryCall asked = asked_of(context, call, library);
  OrrLibraryRows rows;
  OrrCost cost;
  if (!context->cost || asked.size <= 0 || exchange->layout->n_domains == 1 ||
      !orr_cost_library_nearest(context->cost, &asked, &rows))
    return 0;
  asked.n_ranks = rows.ranks;
  if (!rows_time(context, &asked, &cost)) return 0;
  const gboolean between = rows.gpus_per_node > 0;
  const gint64 ends = between ? MAX(rows.ranks / rows.gpus_per_node, 1) : rows.ranks;
  const double copies = orr_cost_library_copies(library, ends, asked.topk, asked.experts),
               rate = between ? rows.nic_bytes_per_s : scale_up_rate(context);
  const double transfers_s =
      exchange->token_bytes * copies * ((double)ends - 1) / (double)ends / rate;
  return fmax(cost.time_s - transfers_s, 0) + (between ? more_of_hop(context) : across_s);
}

static void plan_by(const char *library, const OrrCollectiveContext *context,
                    const OrrCollectiveCall *call, GArray *phases) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  Exchange exchange = exchange_of(call->exchange, library, &layout);
  settle_unit(&exchange);
  const double alpha_s = add_inside(&flow, &exchange), across_s = add_across(&flow, &exchange);
  const double rest_s = rest_of_rows(context, call, library, &exchange, across_s);
  const double latency_s = fmax(alpha_s + across_s, rest_s - flow.costs.base_s);
  orr_collective_flow_finish(&flow, latency_s + message_time(context, call, library, &exchange),
                             exchange.unit_bytes, phases);
}

static double oracle_by(const char *library, const OrrCollectiveCall *call, double alpha_s,
                        double bytes_per_s) {
  const OrrExpertExchange *exchange = call->exchange;
  double copies = parts_met(exchange, library, call->n, exchange->experts);
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
KERNEL(pplx_garden, "pplx-garden")
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
const OrrCollectiveAlgorithm orr_pplx_garden = {
    .entry =
        {"pplx-garden",
         "pplx-garden's kernels: each token goes directly to each of its experts, in one message "
         "to each rank.",
         NULL},
    .needs = TOKENS,
    .supports = supports,
    KERNELS("pplx-garden", pplx_garden)};
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
  const Exchange exchange = exchange_of(call->exchange, library, &layout);
  const double more_s = message_time(context, call, library, &exchange) +
                        (layout.n_domains > 1 ? more_of_hop(context) : 0);
  cost->time_s += more_s;
  if (more_s > 0) cost->how = MAX(cost->how, ORR_HOW_CARRIED);
}

double orr_expert_exchange_nic(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                               const char *library) {
  const OrrLibraryCall asked = asked_of(context, call, library);
  return orr_cost_library_nic(context->cost, &asked);
}

gboolean orr_expert_exchange_measured(const OrrCollectiveContext *context,
                                      const OrrCollectiveCall *call, const char *library,
                                      OrrCost *ret_cost) {
  const OrrLibraryCall asked = asked_of(context, call, library);
  if (orr_cost_library_ranks(context->cost, &asked) != (gint64)call->n ||
      !lies_alike(context, call, &asked) || !rows_time(context, &asked, ret_cost))
    return FALSE;
  add_transport(context, call, library, ret_cost);
  return TRUE;
}

/*
 * training_jobs.h - small training jobs drawn from a seeded stream: model (dense, experts), machine
 * (16 or 32 GPUs), sizes of tp, cp, pp, ep, etp that fit, schedule, recomputation, sharding,
 * offload, overlaps.
 */
#pragma once

#include "sim/base/random.h"

static const char *const dense =
    "{name: dense, layers: 8, hidden: 1024, heads: 16, kv-heads: 8, vocab: 8192, context: "
    "2048, activation: swiglu, norm: "
    "rmsnorm, position: rope, bias: false}";
static const char *const experts = "{name: experts, layers: 8, hidden: 1024, heads: 16, kv-heads: "
                                   "8, vocab: 8192, context: 2048, activation: swiglu, "
                                   "norm: "
                                   "rmsnorm, position: rope, bias: false, moe: {experts: 16, topk: "
                                   "2, ffn: 512, shared-ffn: 512}, layout: [2 "
                                   "attention+dense, 6 attention+moe]}";

static inline gint64 pick(OrrRandom *random, const gint64 *from, guint n) {
  return from[orr_random_below(random, n)];
}
#define PICK(random_, ...)                                                                         \
  pick(random_, (const gint64[]){__VA_ARGS__}, G_N_ELEMENTS(((const gint64[]){__VA_ARGS__})))

static inline const char *word(OrrRandom *random, const char *const *words) {
  return words[orr_random_below(random, g_strv_length((char **)words))];
}

static const char *const schedules[] = {"1f1b",
                                        "gpipe",
                                        "{kind: interleaved-1f1b, chunks: 2}",
                                        "{kind: breadth-first, chunks: 2}",
                                        "zb-h1",
                                        "zb-v",
                                        "dualpipe",
                                        NULL};
static const char *const contexts[] = {"p2p", "all-gather", "all-to-all",
                                       "hierarchical, context-inner: 2", NULL};
static const char *const recomputes[] = {"none", "selective", "full", "operators", NULL};
static const char *const shardings[] = {"none",
                                        "none",
                                        "zero-1",
                                        "distributed-optimizer",
                                        "zero-2",
                                        "zero-3",
                                        "fsdp",
                                        "{kind: hsdp, group: 4}",
                                        "{kind: distributed-optimizer, overlap-param-gather: true}",
                                        NULL};
static const char *const overlaps[] = {"none", "userbuffers", "async-tp", NULL};
static const char *const loads[] = {"balanced", "{kind: zipf, exponent: 0.5}", NULL};
static const char *const dispatches[] = {"flat", "hierarchical", "deepep", NULL};
static const char *const offloads[] = {"{}",
                                       "{}",
                                       "{optimizer: 1}",
                                       "{optimizer: 0.5, activations: 1}",
                                       "{optimizer: 1, overlap: false}",
                                       "{activations: 2}",
                                       NULL};
static const char *const bools[] = {"false", "true", NULL};
static const char *const fabrics[] = {
    "{kind: rail-optimized, levels: 2, nodes-per-group: 2, oversubscription: 2}",
    "{kind: fat-tree, levels: 2, nodes-per-leaf: 1, oversubscription: 4}",
    "{kind: fat-tree, levels: 2, nodes-per-leaf: 2}", NULL};

/* A scenario's text; sizes divide, but a schedule or a group may still refuse it. */
static inline char *job_text(OrrRandom *random, const char *order) {
  const gint64 nodes = PICK(random, 2, 4), gpus = PICK(random, 4, 8), all = nodes * gpus;
  const gboolean moe = orr_random_below(random, 2);
  const gint64 tp = PICK(random, 1, 2, 4), cp = PICK(random, 1, 1, 2, 4),
               pp = PICK(random, 1, 2, 4);
  const gint64 ep = moe ? PICK(random, 1, 2, 4, 8, 16) : 1, etp = moe ? PICK(random, 1, 1, tp) : 0;
  const gint64 dp = all / (tp * cp * pp), micro_batches = pp * PICK(random, 2, 3, 4);
  const char *sequence_parallel = moe && tp > 1 ? "true" : word(random, bools);
  return g_strdup_printf(
      "schema: scenario/1\nname: job\nmodel: %s\n"
      "cluster: {base: dgx-h100-superpod, nodes: %d, max-nodes: 0, node: {gpus: %d}, fabric: %s}\n"
      "workload:\n  kind: training\n  stack: none\n"
      "  parallel: {tp: %d, cp: %d, pp: %d, ep: %d, etp: %d, sequence-parallel: %s, context: %s, "
      "order: %s, "
      "tp-comm-overlap: %s}\n"
      "  pipeline: %s\n  batch: {global: %d, micro: 1}\n  recompute: %s\n  data-parallel: "
      "{overlap: %s}\n"
      "  pipeline-comm: {overlap-p2p: %s}\n  experts: {shared-expert-overlap: %s, load: %s, "
      "dispatch: %s}\n"
      "  optimizer: {sharding: %s}\n  offload: %s\n",
      moe ? experts : dense, (int)nodes, (int)gpus, word(random, fabrics), (int)tp, (int)cp,
      (int)pp, (int)ep, (int)etp, sequence_parallel, word(random, contexts), order,
      g_str_equal(sequence_parallel, "true") ? word(random, overlaps) : "none",
      pp > 1 ? word(random, schedules) : "1f1b", (int)(MAX(dp, 1) * micro_batches),
      word(random, recomputes), word(random, bools), word(random, bools), word(random, bools),
      moe ? word(random, loads) : "balanced", moe ? word(random, dispatches) : "flat",
      word(random, shardings), word(random, offloads));
}

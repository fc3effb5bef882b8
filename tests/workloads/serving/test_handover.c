/*
 * test_handover.c - separate prefill and decode: what a hand-over takes, what it changes, what is
 * refused.
 */
#include "tests/workloads/serving/serving_fixture.h"

#define APART "workload.replicas=2;workload.input={tokens: 2000};workload.output={tokens: 50};"
/* Far apart: nothing waits for anything. */
#define ALONE APART "workload.load={kind: constant, rate: 0.5};workload.requests=20;"

static double handover_s(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_test_message("hand-over %g s, ttft %g s, tpot %g s", outcome->result.serving.handover_mean_s,
                 outcome->result.serving.ttft.mean, outcome->result.serving.tpot.mean);
  return outcome->result.serving.handover_mean_s;
}

/* Llama 3.1 8B: 2 (keys, values) * 32 layers * 8 heads * 128 * 2 bytes = 131,072 bytes per token.
 * 2,000 of them over NVLink at bandwidth B take 262,144,000 / B more than nothing does: halving
 * B adds as much again. */
static void test_bytes(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(ALONE "workload.disaggregation={prefill: 1}");
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.handover_bytes, 20 * 2000 * 131072.0, 1);
  const double full_s = outcome->result.serving.handover_mean_s;
  const double half_s = handover_s(
      ALONE "workload.disaggregation={prefill: 1};cluster.device.scale-up-bandwidth=225 GB/s");
  const double bytes_s = half_s - full_s;
  g_assert_cmpfloat(bytes_s, >, 2000 * 131072.0 / 450e9);
  g_assert_cmpfloat(bytes_s, <,
                    1.4 * 2000 * 131072.0 / 450e9);       /* NCCL's share of the nominal rate */
  g_assert_cmpfloat_with_epsilon(full_s, bytes_s, 20e-6); /* the rest is latency */
  const double later_s = handover_s(ALONE "workload.disaggregation={prefill: 1, overhead: 5 ms}");
  g_assert_cmpfloat_with_epsilon(later_s - full_s, 5e-3, 1e-9);
}

/* Gemma 3 27B: 62 layers: 10 are whole and 52 have a window of 1,024 tokens; 507,904 bytes per
 * token. With room of their own for windows a decoder keeps 1,024 tokens and a block of 16 of
 * these layers, all of them where they have as much room as the others; pushed in chunks it is the
 * same sum. */
static void test_windows(void) {
  static const char load[] = "workload.replicas=2;workload.input={tokens: 8000};workload.output={"
                             "tokens: 5};workload.requests=3;model=gemma-3-27b;"
                             "workload.load={kind: constant, rate: 0.2};"
                             "workload.engine.window-room=%s;"
                             "workload.disaggregation={prefill: 1, transfer: %s}";
  static const char *const rooms[] = {"0", "0.5", "1"}, *const ways[] = {"whole", "per-layer"};
  for (guint i = 0; i < G_N_ELEMENTS(rooms) * G_N_ELEMENTS(ways); i++) {
    g_autofree char *sets = g_strdup_printf(load, rooms[i / 2], ways[i % 2]);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const double kept = i / 2 == 2 ? 8000 : (10 * 8000.0 + 52 * 1040.0) / 62;
    g_assert_cmpfloat_with_epsilon(outcome->result.serving.handover_bytes, 3 * kept * 507904, 10);
  }
}

/* Rank by rank: with tp 2 each link has half of the bytes. fp8 halves them too. */
static void test_ranks(void) {
  const double one_s = handover_s(ALONE "workload.disaggregation={prefill: 1}");
  const double two_s =
      handover_s(ALONE "workload.disaggregation={prefill: 1};workload.parallel.tp=2");
  const double fp8_s =
      handover_s(ALONE "workload.disaggregation={prefill: 1};workload.kv-dtype=fp8");
  g_assert_cmpfloat_with_epsilon(two_s / one_s, 0.5, 0.03);
  g_assert_cmpfloat_with_epsilon(fp8_s / one_s, 0.5, 0.03);
}

/* Pushed layer by layer, all but the last of 32 layers is there at the prompt's end, where
 * NVLink is faster than the prefill. */
static void test_per_layer(void) {
  const double whole_s = handover_s(ALONE "workload.disaggregation={prefill: 1}");
  const double layer_s =
      handover_s(ALONE "workload.disaggregation={prefill: 1, transfer: per-layer}");
  g_assert_cmpfloat_with_epsilon(layer_s / whole_s, 1.0 / 32, 0.03);
}

/* Alone in the fleet a request has its mixed times, and the hand-over before its first token. */
static void test_alone(void) {
  g_autoptr(OrrOutcome) mixed = serving_run(ALONE "workload.replicas=1");
  g_autoptr(OrrOutcome) apart = serving_run(ALONE "workload.disaggregation={prefill: 1}");
  const OrrServingResult *m = &mixed->result.serving, *a = &apart->result.serving;
  g_assert_cmpfloat_with_epsilon(a->ttft.mean, m->ttft.mean + a->handover_mean_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(a->tpot.mean, m->tpot.mean, 1e-9);
  g_assert_cmpfloat_with_epsilon(a->e2e.mean, m->e2e.mean + a->handover_mean_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(a->itl.mean, m->itl.mean, 1e-9);
  g_assert_cmpfloat_with_epsilon(a->itl.mean, a->tpot.mean, 1e-9);
}

/* Long prompts delay nobody's next token; on one engine they do. */
static void test_interference(void) {
  static const char load[] =
      "workload.input={tokens: 6000};workload.output={tokens: 200};workload.requests=300;"
      "workload.load={kind: poisson, rate: 5};workload.replicas=2;%s";
  g_autofree char *mixed = g_strdup_printf(load, ""),
                  *apart = g_strdup_printf(load, "workload.disaggregation={prefill: 1}");
  g_autoptr(OrrOutcome) m = serving_run(mixed);
  g_autoptr(OrrOutcome) a = serving_run(apart);
  g_test_message("mixed: ttft %g, itl p99 %g; apart: ttft %g, itl p99 %g",
                 m->result.serving.ttft.mean, m->result.serving.itl.p99,
                 a->result.serving.ttft.mean, a->result.serving.itl.p99);
  g_assert_cmpfloat(a->result.serving.itl.p99, <, 0.5 * m->result.serving.itl.p99);
}

#define TOKEN_BYTES 131072.0

static double handover_bytes(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return outcome->result.serving.handover_bytes;
}

/* Twenty prompts of 1,600 tokens in common and 400 of their own, one after the other. The first
 * crosses whole; of the others the decoder has a hundred blocks of 16 and lacks 400 tokens:
 * enough to cross where 400 are asked for, and too few where 401 are. Without a prefix cache it
 * lacks all. */
static void test_conditional_on_prefix(void) {
  static const char all[] =
      ALONE "workload.input={tokens: "
            "400};workload.shared-prefix=1600;workload.disaggregation={prefill: 1, "
            "least-prompt: %d};%s";
  static const char cache[] = "workload.engine.prefix-caching=block-hash";
  g_autofree char *crosses = g_strdup_printf(all, 400, cache),
                  *stays = g_strdup_printf(all, 401, cache);
  g_autofree char *forgets = g_strdup_printf(all, 401, "");
  g_assert_cmpfloat_with_epsilon(handover_bytes(crosses), (2000 + 19 * 400) * TOKEN_BYTES, 1);
  g_assert_cmpfloat_with_epsilon(handover_bytes(stays), 2000 * TOKEN_BYTES, 1);
  g_assert_cmpfloat_with_epsilon(handover_bytes(forgets), 20 * 2000 * TOKEN_BYTES, 1);
}

/* Where none may wait, none crosses, and one decoder does it all: one replica that never heard of
 * the other. The more may wait, the more cross; each of eight prompts at once finds those before it
 * waiting. */
static void test_conditional_on_queue(void) {
  g_autoptr(OrrOutcome) none =
      serving_run(ALONE "workload.disaggregation={prefill: 1, most-waiting: 0}");
  g_autoptr(OrrOutcome) mixed = serving_run(ALONE "workload.replicas=1");
  g_assert_cmpfloat(none->result.serving.handover_bytes, ==, 0);
  for (guint i = 0; i < mixed->serving_requests->len; i++)
    g_assert_true(serving_request(none, i)->e2e_s == serving_request(mixed, i)->e2e_s);
  for (int most = -1; most <= 8; most++) {
    g_autofree char *sets = g_strdup_printf(
        APART "workload.requests=8;workload.load={kind: closed-loop, concurrency: 8};"
              "workload.disaggregation={prefill: 1, most-waiting: %d}",
        most);
    g_assert_cmpfloat_with_epsilon(handover_bytes(sets), (most < 0 ? 8 : most) * 2000 * TOKEN_BYTES,
                                   1);
  }
}

/* Too many prompts for one that prefills: first tokens come earlier where decoders help. */
static void test_conditional_helps(void) {
  static const char load[] =
      "workload.replicas=4;workload.input={tokens: 6000};workload.output={tokens: 50};"
      "workload.load={kind: poisson, rate: 6};workload.disaggregation={prefill: 1, most-waiting: "
      "%d}";
  g_autofree char *always = g_strdup_printf(load, -1), *sometimes = g_strdup_printf(load, 2);
  g_autoptr(OrrOutcome) a = serving_run(always);
  g_autoptr(OrrOutcome) b = serving_run(sometimes);
  g_test_message("ttft %g s, with help %g s", a->result.serving.ttft.mean,
                 b->result.serving.ttft.mean);
  g_assert_cmpfloat(b->result.serving.ttft.mean, <, 0.5 * a->result.serving.ttft.mean);
}

static const char *const kinds[] = {
    "",
    "workload.disaggregation.transfer=per-layer",
    "workload.disaggregation.least-prompt=1000",
    "workload.disaggregation.most-waiting=1;workload.load={kind: poisson, rate: 100}",
    "workload.disaggregation={prefill: 1, least-prompt: 500, most-waiting: 2, transfer: per-layer};"
    "workload.load={kind: sessions, rate: 1, longest: "
    "4000};workload.engine.prefix-caching=block-hash",
    "workload.engine.kv-blocks=200",
    "workload.engine.kv-blocks=200;workload.disaggregation.transfer=per-layer",
    "workload.engine.prefix-caching=block-hash;workload.shared-prefix=500",
    "workload.engine.prefix-caching=block-hash;workload.shared-prefix=500;workload.router=kv-aware;"
    "workload.disaggregation.transfer=per-layer",
    "workload.parallel.pp=2;workload.replicas=3",
    "workload.engine.scheduler=sarathi",
    "workload.engine.scheduler=trtllm",
    "workload.output={tokens: 1}",
    "workload.load={kind: closed-loop, concurrency: 16}",
    "workload.load={kind: sessions, rate: 1, longest: "
    "4000};workload.engine.prefix-caching=block-hash",
    "workload.admission={in-flight: 8}",
    "workload.admission={in-flight: 2, queue: 2}",
};

/* Little's law, conserved blocks (by the run itself), and runs of steps that are single steps. */
static void test_laws(void) {
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *runs =
        g_strdup_printf("workload.replicas=4;workload.disaggregation={prefill: 1};%s", kinds[k]);
    g_autofree char *steps = g_strdup_printf("fidelity=full;%s", runs);
    g_autoptr(OrrOutcome) a = serving_run(runs);
    g_autoptr(OrrOutcome) b = serving_run(steps);
    g_test_message("%s: %g", kinds[k], a->result.serving.ttft.mean);
    g_assert_cmpfloat(a->result.serving.littles_law_error, <, 1e-9);
    g_assert_cmpuint(a->serving_requests->len, ==, b->serving_requests->len);
    for (guint i = 0; i < a->serving_requests->len; i++)
      g_assert_true(serving_request(a, i)->e2e_s == serving_request(b, i)->e2e_s);
  }
}

/* Three prefill, one decodes: caches share its way in on SimGrid, and have it to themselves on
 * the ideal engine. One run on SimGrid a process. */
static void test_contention(void) {
  static const char load[] =
      "workload.input={tokens: 4000};workload.output={tokens: 2};workload.requests=60;"
      "workload.load={kind: constant, rate: 40};workload.replicas=4;"
      "workload.disaggregation={prefill: 3};cluster.device.scale-up-bandwidth=20 GB/s;%s";
  g_autofree char *ideal = g_strdup_printf(load, ""),
                  *shared = g_strdup_printf(load, "engine=auto");
  const double ideal_s = handover_s(ideal), shared_s = handover_s(shared);
  g_assert_cmpfloat(shared_s, >, 1.2 * ideal_s);
}

static void test_refused(void) {
  serving_refused("workload.groups=[{replicas: 2, parallel: {tp: 4}}]",
                  "1 * 1 * 1 * 1 + 2 * 4 * 1 * 1 = 9 GPUs");
  serving_refused("workload.groups=[{parallel: {tp: 3}}]", "cannot be divided by tp (3)");
  serving_refused("workload.groups=[{parallel: {pp: 33}}]", "pp (33) is above the 32 layers");
  serving_refused("workload.groups=[{device: h20-sxm}]", "h200-sxm");
  serving_refused("workload.groups=[{parallel: {all-to-all: rong}}]",
                  "unknown parallel.all-to-all 'rong'");
  serving_refused("workload.quantization=fp8;workload.groups=[{device: a100-80gb-sxm}]",
                  "does not multiply");
  serving_refused("workload.replicas=2;workload.disaggregation={prefill: 2}",
                  "leaves none of the 2 replicas");
  serving_refused("workload.replicas=2;workload.disaggregation={prefill: 1, transfer: layers}",
                  "per-layer");
  serving_refused("workload.replicas=2;workload.disaggregation={prefill: 1, transfer: per-layer};"
                  "workload.admission={in-flight: 1, queue: 1}",
                  "exclude each other");
}

/* What crosses is what the request has, whatever the layouts: 131,072 bytes per token, times the
 * copies that decoders of tp 16 on 8 heads would hold. From tp 2 to tp 4 each of two senders has
 * half of the bytes on its link, as with tp 2 on both sides; from tp 4 to tp 1 the receiver's
 * link has all of them, as with tp 1. */
static void test_layouts(void) {
  static const char one[] =
      "workload.replicas=1;workload.input={tokens: 2000};workload.output={tokens: 50};"
      "workload.load={kind: constant, rate: 0.5};workload.requests=20;"
      "workload.disaggregation={prefill: 1%s};workload.parallel={tp: %d, pp: %d, dp-attention: %d};"
      "workload.groups=[{parallel: {tp: %d, pp: %d, dp-attention: %d}}]";
  static const struct {
    int from[3], to[3];
    double ranks; /* that share the bytes of the fullest link */
  } all[] = {{{1, 1, 1}, {1, 1, 1}, 1}, {{2, 1, 1}, {2, 1, 1}, 2}, {{2, 1, 1}, {4, 1, 1}, 2},
             {{4, 1, 1}, {2, 1, 1}, 2}, {{4, 1, 1}, {1, 1, 1}, 1}, {{1, 1, 1}, {4, 1, 1}, 1},
             {{2, 2, 1}, {4, 1, 1}, 4}, {{4, 1, 1}, {1, 2, 1}, 2}, {{1, 1, 4}, {1, 1, 2}, 1},
             {{2, 1, 2}, {4, 1, 1}, 2}, {{1, 3, 1}, {1, 2, 1}, 2}};
  const double whole_s = handover_s(ALONE "workload.disaggregation={prefill: 1}");
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    for (guint layered = 0; layered < 2; layered++) {
      g_autofree char *sets =
          g_strdup_printf(one, layered ? ", transfer: per-layer" : "", all[i].from[0],
                          all[i].from[1], all[i].from[2], all[i].to[0], all[i].to[1], all[i].to[2]);
      g_autoptr(OrrOutcome) outcome = serving_run(sets);
      const OrrServingResult *result = &outcome->result.serving;
      g_test_message("%s: %g s of %g s", sets, result->handover_mean_s, whole_s);
      g_assert_cmpint(result->completed, ==, 20);
      g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
      g_assert_cmpfloat_with_epsilon(result->handover_bytes / (20 * 2000 * 131072.0), 1, 1e-9);
      /* 3 stages of 11, 11 and 10 layers to 2 of 16: the fullest link has 16 of 32 */
      if (!layered)
        g_assert_cmpfloat_with_epsilon(result->handover_mean_s / whole_s, 1 / all[i].ranks, 0.04);
    }
}

/* Decoders that are short of blocks: caches come in another order than requests did, so that the
 * last by order need not be the one that was admitted last. All are answered, whichever request is
 * preempted. */
static void test_preempted(void) {
  static const char *const preemptions[] = {"recompute", "swap"}, *const transfers[] = {
                                                                      "whole", "per-layer"};
  for (guint i = 0; i < G_N_ELEMENTS(preemptions); i++)
    for (guint k = 0; k < G_N_ELEMENTS(transfers); k++) {
      g_autofree char *sets =
          g_strdup_printf("workload.replicas=8;workload.disaggregation={prefill: 2, transfer: "
                          "%s};workload.engine.kv-blocks=100;"
                          "workload.engine.preemption=%s;workload.load={kind: poisson, rate: 30}",
                          transfers[k], preemptions[i]);
      g_autoptr(OrrOutcome) outcome = serving_run(sets);
      g_assert_cmpint(outcome->result.serving.completed, ==, 400);
      g_assert_cmpint(outcome->result.serving.preemptions, >, 0);
    }
}

/* Replicas of other layouts share one load: all work, and the ones with more GPUs get more done. */
static void test_groups(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      "workload.replicas=2;workload.groups=[{replicas: 1, parallel: {tp: 4}}, {replicas: 1, "
      "parallel: {tp: 2}, "
      "device: h200-sxm}];workload.router=least-loaded;workload.load={kind: poisson, rate: 40}");
  const OrrServingResult *result = &outcome->result.serving;
  const OrrServingReplicaRow *rows =
      (OrrServingReplicaRow *)(void *)outcome->serving_replicas->data;
  g_assert_cmpint(result->n_gpus, ==, 2 * 1 + 4 + 2);
  g_assert_cmpint(result->completed, ==, 400);
  g_assert_cmpuint(outcome->serving_replicas->len, ==, 4);
  g_assert_cmpint(rows[2].requests, >, rows[0].requests);
  g_assert_cmpint(rows[3].requests, >, rows[0].requests);
}

/* A prefill on one GPU and a decode on eight are on two nodes, not the decode on both: all of a
 * prompt's cache, 10,000 tokens of 128 KiB, leaves through the one NIC of the prefill's GPU, 48
 * GB/s. Three replicas of 3 GPUs on a node of 8 cannot avoid it, which is a warning. */
static void test_places(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      "cluster.nodes=2;workload.replicas=1;workload.groups=[{replicas: 1, parallel: {tp: "
      "8}}];workload.disaggregation={prefill: 1};workload.load={kind: closed-loop, "
      "concurrency: 1};workload.requests=2;workload.input={tokens: "
      "10000};workload.output={tokens: 200}");
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.handover_mean_s, 10000 * 131072 / 48e9,
                                 1e-4);
  static const char split[] = "on two nodes, though each has 8";
  for (int replicas = 2; replicas <= 3; replicas++) {
    g_autofree char *findings = NULL,
                    *sets = g_strdup_printf(
                        "cluster.nodes=2;workload.replicas=%d;workload.parallel={pp: 3}", replicas);
    g_autoptr(OrrScenario) scenario = serving_scenario(shared_library(), sets, &findings);
    g_assert_nonnull(scenario);
    g_assert_true((strstr(findings, split) != NULL) == (replicas == 3));
  }
}

/* Groups equal to the first replicas are more replicas of the same kind: nothing in a group's own
 * figures moves. */
static void test_alike(void) {
  static const char *const engines[] = {
      "workload.parallel={tp: 2, dp-attention: 2}",
      "workload.engine.lora={adapters: 20, max-loras: 4, shape: {rank: 16}};workload.parallel={tp: "
      "2}",
      "workload.engine.prefix-caching=block-hash;workload.shared-prefix=400;workload.engine.kv-"
      "blocks=600;"
      "workload.engine.cache-tiers={host: 1 GiB, ssd: 4 GiB, remote: 20 "
      "GiB};workload.parallel={tp: 2}",
      "model=gemma-2-9b;workload.engine.kv-blocks=0;workload.engine.watermark=1 "
      "%;workload.parallel={pp: 2}",
  };
  for (guint i = 0; i < G_N_ELEMENTS(engines); i++) {
    const char *parallel = strstr(engines[i], "workload.parallel=") + strlen("workload.parallel=");
    g_autofree char *one = g_strdup_printf("%s;workload.replicas=2", engines[i]);
    g_autofree char *two = g_strdup_printf(
        "%s;workload.replicas=1;workload.groups=[{parallel: %s}]", engines[i], parallel);
    g_autoptr(OrrOutcome) a = serving_run(one);
    g_autoptr(OrrOutcome) b = serving_run(two);
    const OrrServingResult *x = &a->result.serving, *y = &b->result.serving;
    g_assert_cmpint(x->completed, ==, 400);
    g_assert_cmpfloat(x->ttft.mean, ==, y->ttft.mean);
    g_assert_cmpfloat(x->e2e.mean, ==, y->e2e.mean);
    g_assert_cmpfloat(x->prefix_hit_rate, ==, y->prefix_hit_rate);
    g_assert_cmpfloat(x->prefix_remote_rate, ==, y->prefix_remote_rate);
    g_assert_cmpint(x->adapter_loads, ==, y->adapter_loads);
    g_assert_cmpfloat(x->kv_utilization, ==, y->kv_utilization);
  }
}

/* A run that fails with caches on their way leaves nothing behind: what the sanitizers look at. */
static void test_ends_early(void) {
  static const char load[] =
      "workload.replicas=3;workload.input={tokens: 6000};workload.output={tokens: 100};"
      "workload.load={kind: constant, rate: 200};workload.longest-queue=0.5 s;"
      "workload.disaggregation={prefill: 1%s};cluster.device.scale-up-bandwidth=2 GB/s%s";
  static const char *const ways[][2] = {{"", ""},
                                        {", transfer: per-layer", ""},
                                        {"", ";workload.parallel.pp=2"},
                                        {", overhead: 2 s", ""}};
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
    g_autofree char *sets = g_strdup_printf(load, ways[i][0], ways[i][1]);
    serving_refused(sets, "the queue diverges");
  }
}

/* Replicas that decode have a host of their own, 20 ms per step: outputs take that longer, prompts
 * do not, and the other settings are the workload's. What all groups share is refused. */
static void test_engines(void) {
  static const char roles[] = ALONE
      "workload.replicas=1;workload.disaggregation={prefill: 1};workload.engine.max-num-seqs=8;"
      "workload.groups=[{replicas: 1%s}]";
  g_autofree char *same = g_strdup_printf(roles, ""),
                  *own = g_strdup_printf(roles, ", engine: {host: {step: 20 ms}}"),
                  *blocks = g_strdup_printf(roles, ", engine: {block-size: 64}"),
                  *batch = g_strdup_printf(roles, ", engine: {max-num-batched-tokens: 4}");
  g_autoptr(OrrOutcome) first = serving_run(same);
  g_autoptr(OrrOutcome) second = serving_run(own);
  const OrrServingResult *a = &first->result.serving, *b = &second->result.serving;
  g_assert_cmpfloat_with_epsilon(b->ttft.mean, a->ttft.mean, 1e-9);
  g_assert_cmpfloat_with_epsilon(b->tpot.mean - a->tpot.mean, 20e-3, 1e-4);
  serving_refused(blocks, "engine.block-size must be the same in all groups");
  serving_refused(batch, "engine.max-num-batched-tokens (4) is below max-num-seqs (8)");
}

/* Replicas that decode with weights of 8 bits: the prompts of the others take as before. null takes
 * a setting of the workload's engine away, and a format: the published one remains. What the
 * workload has between kernels goes for a group that names the weights alone. */
static void test_formats(void) {
  static const char roles[] = ALONE
      "workload.replicas=1;workload.disaggregation={prefill: 1};workload.engine.host={step: 20 "
      "ms};workload.groups=[{replicas: 1%s}]";
  g_autofree char *same = g_strdup_printf(roles, ""),
                  *narrow = g_strdup_printf(roles, ", quantization: fp8"),
                  *none = g_strdup_printf(roles, ", engine: {host: {step: null}}"),
                  *both = g_strdup_printf(roles, ", quantization: fp8, precision: fp8"),
                  *whole = g_strconcat(same, ";workload.quantization=fp8", NULL);
  g_autoptr(OrrOutcome) first = serving_run(same);
  g_autoptr(OrrOutcome) second = serving_run(narrow);
  g_autoptr(OrrOutcome) third = serving_run(whole);
  g_autoptr(OrrOutcome) fourth = serving_run(none);
  const OrrServingResult *a = &first->result.serving, *b = &second->result.serving,
                         *c = &third->result.serving, *d = &fourth->result.serving;
  g_assert_cmpfloat(b->tpot.mean, <, a->tpot.mean);
  g_assert_cmpfloat_with_epsilon(b->tpot.mean, c->tpot.mean, 1e-9);
  g_assert_cmpfloat_with_epsilon(b->ttft.mean, a->ttft.mean, 1e-9);
  g_assert_cmpfloat(c->ttft.mean, !=, a->ttft.mean);
  g_assert_cmpfloat_with_epsilon(a->tpot.mean - d->tpot.mean, 20e-3, 1e-4);
  serving_refused(both, "exclude each other");
  g_autofree char *wide = g_strconcat(narrow, ";workload.activations=fp32", NULL),
                  *all_wide = g_strconcat(whole, ";workload.activations=fp32", NULL);
  g_autoptr(OrrOutcome) of_group = serving_run(wide);
  g_autoptr(OrrOutcome) of_all = serving_run(all_wide);
  g_assert_cmpfloat(of_group->result.serving.tpot.mean, >, b->tpot.mean);
  g_assert_cmpfloat_with_epsilon(of_group->result.serving.tpot.mean,
                                 of_all->result.serving.tpot.mean, 1e-9);
  static const char published[] =
      ALONE "model=gpt-oss-20b;workload.replicas=1;workload.disaggregation={prefill: 1};"
            "workload.groups=[{replicas: 1%s}]%s";
  g_autofree char *mxfp4 = g_strdup_printf(published, "", ""),
                  *null = g_strdup_printf(published, ", quantization: null",
                                          ";workload.quantization=fp8");
  g_autoptr(OrrOutcome) fifth = serving_run(mxfp4);
  g_autoptr(OrrOutcome) sixth = serving_run(null);
  g_assert_cmpfloat_with_epsilon(fifth->result.serving.tpot.mean, sixth->result.serving.tpot.mean,
                                 1e-9);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/handover/bytes", test_bytes);
  g_test_add_func("/workloads/handover/ranks", test_ranks);
  g_test_add_func("/workloads/handover/windows", test_windows);
  g_test_add_func("/workloads/handover/per-layer", test_per_layer);
  g_test_add_func("/workloads/handover/alone", test_alone);
  g_test_add_func("/workloads/handover/conditional-on-prefix", test_conditional_on_prefix);
  g_test_add_func("/workloads/handover/conditional-on-queue", test_conditional_on_queue);
  g_test_add_func("/workloads/handover/conditional-helps", test_conditional_helps);
  g_test_add_func("/workloads/handover/interference", test_interference);
  g_test_add_func("/workloads/handover/laws", test_laws);
  g_test_add_func("/workloads/handover/contention", test_contention);
  g_test_add_func("/workloads/handover/refused", test_refused);
  g_test_add_func("/workloads/handover/layouts", test_layouts);
  g_test_add_func("/workloads/handover/preempted", test_preempted);
  g_test_add_func("/workloads/handover/groups", test_groups);
  g_test_add_func("/workloads/handover/places", test_places);
  g_test_add_func("/workloads/handover/engines", test_engines);
  g_test_add_func("/workloads/handover/formats", test_formats);
  g_test_add_func("/workloads/handover/alike", test_alike);
  g_test_add_func("/workloads/handover/ends-early", test_ends_early);
  return g_test_run();
}

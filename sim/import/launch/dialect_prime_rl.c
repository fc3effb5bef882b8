/*
 * dialect_prime_rl.c - prime-rl: an orchestrator, engines of vLLM and an FSDP trainer, each on GPUs
 * of its own.
 *
 *   [deployment] num_train_nodes, num_infer_nodes    whole nodes (of 8 GPUs)
 *   [deployment] num_train_gpus, num_infer_gpus      GPUs of one node
 *   trainer_gpu_ids, inference_gpu_ids               the same, by number
 *
 * orchestrator.batch_size counts responses, of rollouts_per_example (group_size) to each prompt.
 * An update is one step on all of them, packed into sequences of seq_len.
 *
 * Source: src/prime_rl/orchestrator/config.py and configs of PrimeIntellect-ai/prime-rl, 0.2 to
 * 0.6: batch_size 128, rollouts_per_example 1, seq_len 2048, max_async_level 1; no pass of a
 * reference model, and the engines' log-probabilities for the old ones.
 */
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_prime_rl;

#include "sim/import/launch/own_keys.inc"

static void set(OrrLaunchDraft *draft, const char *path, gint64 value, const char *remark) {
  orr_launch_draft_set_number(draft, path, value, NULL, remark);
}

/* How many numbers "[0, 1, 2]" has. */
static gint64 n_ids(OrrLaunchDraft *draft, const char *key) {
  const char *text = text_of(draft, key);
  gint64 n = 0;
  for (const char *at = text; at && *at; at++) n += g_ascii_isdigit(*at) && !g_ascii_isdigit(at[1]);
  return n;
}

/* GPUs of the trainer or of the engines; 0: not said. */
static gint64 gpus_of(OrrLaunchDraft *draft, const char *nodes, const char *gpus, const char *ids) {
  const gint64 per_node = count(draft, "deployment.gpus-per-node", 8);
  const gint64 whole = count(draft, nodes, 0) * per_node;
  const gint64 some = count(draft, gpus, 0);
  return whole > 0 ? whole : some > 0 ? some : n_ids(draft, ids);
}

static void set_machine(OrrLaunchDraft *draft) {
  gint64 train =
      gpus_of(draft, "deployment.num-train-nodes", "deployment.num-train-gpus", "trainer-gpu-ids");
  gint64 infer = gpus_of(draft, "deployment.num-infer-nodes", "deployment.num-infer-gpus",
                         "inference-gpu-ids");
  if (train < 1 && infer < 1 && orr_launch_draft_options(draft)->strict)
    orr_launch_draft_ask(draft, "on which GPUs? The config has no [deployment]");
  if (train < 1) train = 1; /* one GPU each: rl's own default */
  if (infer < 1) infer = 1;
  set(draft, "workload.pools.rollout-gpus", infer, "the engines' GPUs");
  orr_launch_draft_set_nodes(draft, 1, "GPUs of the trainer and of the engines");
  orr_launch_draft_set_gpus_per_node(draft, train + infer, NULL);
}

static void set_batch(OrrLaunchDraft *draft) {
  const gint64 samples = count(draft, "orchestrator.group-size", 1);
  const gint64 batch = count(draft, "orchestrator.batch-size", 128);
  const gint64 prompts = MAX(batch / MAX(samples, 1), 1);
  set(draft, "workload.prompts", prompts, "batch_size / rollouts_per_example");
  set(draft, "workload.samples", samples,
      find(draft, "orchestrator.group-size") ? "of a prompt" : "the launcher's default");
  set(draft, "workload.update.batch.global", prompts * samples, "all samples of a step");
}

static void finish(OrrLaunchDraft *draft) {
  const gint64 level = count(draft, "max-async-level", 1);
  const gint64 longest = count(draft, "seq-len", 2048);
  set_machine(draft);
  set_batch(draft);
  set(draft, "workload.update.sequence", longest, "seq_len (2048 by default)");
  if (level > 0) {
    orr_launch_draft_set(draft, "workload.mode.kind", "asynchronous", NULL, "prime-rl's default");
    set(draft, "workload.mode.staleness", level, "max_async_level (1 by default)");
  }
  orr_launch_draft_set(draft, "workload.algorithm", "grpo", NULL, "advantages of a group");
  orr_dialect_rollouts_finish(draft);
  orr_launch_draft_set(draft, "workload.algorithm",
                       "{kind: grpo, reference: false, old-log-probs: false}", NULL,
                       "the engines' log-probabilities");
}

/* An empty table turns a feature on: [trainer.model.ac]. */
static void read(OrrLaunchDraft *draft, const OrrNode *tree) {
  const OrrNode *model = orr_node_get(orr_node_get(tree, "trainer"), "model");
  const OrrNode *ac = orr_node_get(model, "ac");
  orr_launch_config_add(draft, own, tree, NULL);
  if (ac && ac->kind == ORR_NODE_MAP)
    orr_launch_draft_add(draft, own, "trainer.model.ac", "true", ac->place);
}

const OrrLaunchDialect orr_dialect_prime_rl = {
    .name = "prime-rl",
    .kind = "post-training",
    .is_trainer = TRUE,
    .has_own_options = TRUE,
    .signs = "orchestrator trainer_gpu_ids inference_gpu_ids",
    .read = read,
    .finish = finish,
};

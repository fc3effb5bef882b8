/*
 * dialect_areal.c - AReaL: rollouts on GPUs of their own, which run ahead of the trainer.
 *
 *   allocation_mode: sglang.d96p1t1+d32p1t1          96 GPUs of engines, 32 of the trainer
 *   allocation_mode: sglang:d4p1t1+megatron:d2p1t2   d, p, t, c, e: degrees, with or without p
 *   rollout: {backend: "sglang:d4p1t1"}              the same in two keys, since AReaL 1.0
 *   actor: {backend: "fsdp:d4p1t1"}
 *
 * A micro-batch is as many samples as max_tokens_per_mb holds: `sequence` of the scenario's update,
 * which is packed. ppo_n_minibatches updates are made of a step's samples.
 *
 * Source: docs/tutorial and examples/math of inclusionAI/AReaL, 0.3 to 1.0.
 */
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_areal;

#include "sim/import/launch/own_keys.inc"

typedef struct {
  gint64 d, t, p, c, e;
  gint64 experts_t; /* tensor parallelism of experts; 0: nothing says it */
  char *backend;
} Part;

static void part_clear(Part *part) { g_free(part->backend); }
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Part, part_clear)

/* "sglang:d4p1t2", or "(attn:d1p2t4|ffn:d1p2t1e4)": attention's degrees, and the experts' e and t.
 * FALSE: no degree is there. */
static gboolean read_part(const char *text, Part *ret_part) {
  Part part = {1, 1, 1, 1, 1, 0, NULL};
  const char *of_experts = strstr(text, "ffn:");
  gboolean is_read = FALSE;
  const char *colon = strpbrk(text, ":.");
  for (const char *at = colon ? colon + 1 : text; *at; at++) {
    static const char letters[] = "dtpce";
    gint64 *degrees[] = {&part.d, &part.t, &part.p, &part.c, &part.e};
    const char *letter = strchr(letters, *at);
    if (!letter || !g_ascii_isdigit(at[1])) continue;
    const gint64 degree = CLAMP(g_ascii_strtoll(at + 1, NULL, 10), 1, 1 << 20);
    is_read = TRUE;
    if (of_experts && at > of_experts && *at == 't')
      part.experts_t = degree;
    else if (!of_experts || at < of_experts || *at == 'e')
      *degrees[letter - letters] = degree;
  }
  part.backend = colon ? g_strndup(text, (gsize)(colon - text)) : g_strdup("");
  if (is_read)
    *ret_part = part;
  else
    g_free(part.backend);
  return is_read;
}

static gint64 gpus_of(const Part *part) { return part->d * part->t * part->p * part->c; }

static void put(OrrLaunchDraft *draft, const char *path, gint64 value,
                const OrrLaunchSetting *source) {
  if (value > 1) orr_launch_draft_set_number(draft, path, value, source, NULL);
}

static void put_trainer(OrrLaunchDraft *draft, const Part *part, const OrrLaunchSetting *source) {
  put(draft, "workload.update.parallel.tp", part->t, source);
  put(draft, "workload.update.parallel.pp", part->p, source);
  put(draft, "workload.update.parallel.cp", part->c, source);
  put(draft, "workload.update.parallel.ep", part->e, source);
  if (part->experts_t == 1 && part->t > 1)
    orr_launch_draft_set(draft, "workload.update.parallel.etp", "1", source, NULL);
  put(draft, "workload.update.parallel.etp", part->experts_t, source);
  if (strstr(part->backend, "megatron") || (!*part->backend && (part->p > 1 || part->e > 1)))
    orr_launch_draft_set(draft, "workload.update.optimizer.sharding.kind", "distributed-optimizer",
                         source, NULL);
}

/* Engines and trainer share nothing: the GPUs are theirs together. */
static void put_machine(OrrLaunchDraft *draft, const Part *rollout, const Part *trainer,
                        const OrrLaunchSetting *source) {
  orr_launch_draft_set_number(draft, "workload.pools.rollout-gpus", gpus_of(rollout), source, NULL);
  put(draft, "workload.rollout.parallel.tp", rollout->t, source);
  put(draft, "workload.rollout.parallel.pp", rollout->p, source);
  orr_launch_draft_set_nodes(draft, 1, "GPUs of the engines and of the trainer");
  orr_launch_draft_set_gpus_per_node(draft, gpus_of(rollout) + gpus_of(trainer), NULL);
}

/* Both parts of the allocation. FALSE: an error or a question is made. */
static gboolean read_parts(OrrLaunchDraft *draft, Part *rollout, Part *trainer,
                           const OrrLaunchSetting **ret_source) {
  OrrLaunchSetting *mode = find(draft, "allocation-mode");
  const char *actor = text_of(draft, "actor.backend");
  const char *text = mode && mode->value ? mode->value : "";
  g_auto(GStrv) halves = g_strsplit(text, "+", 2);
  *ret_source = mode;
  if (halves[0] && halves[1])
    actor = halves[1]; /* `backend: fsdp` of the actor then has no degrees */
  if (!mode)
    orr_launch_draft_ask(draft, "which GPUs roll out? The config has no allocation_mode");
  else if (!actor || !read_part(halves[0], rollout))
    orr_launch_draft_bad(draft, mode,
                         "'%s' has no GPUs of engines and of a trainer, as in sglang:d4p1t1+d4p1t1",
                         text);
  else if (!read_part(actor, trainer))
    orr_launch_draft_bad(draft, mode, "'%s' has no degrees, as in d4p1t1", actor);
  else
    return TRUE;
  return FALSE;
}

/* The allocation counts, whatever the cluster has. */
static void note_cluster(OrrLaunchDraft *draft, gint64 allocated) {
  const gint64 all =
      count(draft, "cluster.n-nodes", 1) * count(draft, "cluster.n-gpus-per-node", 8);
  if (all != allocated)
    orr_launch_draft_remark(
        draft, "assumed: the allocation's %ld GPUs; the config's cluster has %ld", allocated, all);
}

static void set_batch(OrrLaunchDraft *draft) {
  const gint64 n = count(draft, "actor.ppo-n-minibatches", 4);
  const gint64 samples = count(draft, "gconfig.n-samples", 1);
  const gint64 prompts = count(draft, "train-dataset.batch-size", 0);
  const gint64 tokens = count(draft, "actor.mb-spec.max-tokens-per-mb", 0);
  if (prompts < 1)
    orr_launch_draft_ask(draft, "how many prompts has a step? The config has no "
                                "train_dataset.batch_size");
  orr_launch_draft_set_number(draft, "workload.update.batch.global",
                              MAX(prompts * samples / MAX(n, 1), 1), NULL,
                              "a step's samples / ppo_n_minibatches (4 by default)");
  if (tokens > 0)
    orr_launch_config_put_count(draft, own, "workload.update.sequence", tokens,
                                "actor.mb-spec.max-tokens-per-mb");
}

static void choose_engine(OrrLaunchDraft *draft, gboolean is_vllm) {
  static const char sglang[] = "sglang.mem-fraction-static sglang.max-running-requests";
  static const char vllm[] = "vllm.gpu-memory-utilization vllm.max-num-seqs";
  orr_dialect_rollouts_choose(draft, own, is_vllm ? vllm : sglang, is_vllm ? sglang : vllm,
                              "of the engine that is not started");
}

static void finish(OrrLaunchDraft *draft) {
  g_auto(Part) rollout = {1, 1, 1, 1, 1, 0, NULL}, trainer = {1, 1, 1, 1, 1, 0, NULL};
  const OrrLaunchSetting *source = NULL;
  if (read_parts(draft, &rollout, &trainer, &source)) {
    put_machine(draft, &rollout, &trainer, source);
    note_cluster(draft, gpus_of(&rollout) + gpus_of(&trainer));
    const OrrLaunchSetting *own_key = find(draft, "actor.backend");
    put_trainer(draft, &trainer,
                own_key && strpbrk(own_key->value, "0123456789") ? own_key : source);
    choose_engine(draft, strstr(rollout.backend, "vllm") != NULL);
    if (!find(draft, "async-training")) {
      const gint64 far = count(draft, "rollout.max-head-offpolicyness", 0);
      g_autofree char *text = g_strdup_printf("%ld", far);
      if (far > 0) {
        orr_launch_draft_set(draft, "workload.mode.kind", "asynchronous", NULL, "AReaL's default");
        orr_launch_config_put(draft, own, "workload.mode.staleness", text,
                              "rollout.max-head-offpolicyness");
      }
    }
  }
  set_batch(draft);
  if (find(draft, "critic.path"))
    orr_launch_config_put(draft, own, "workload.algorithm", "ppo", "critic.path");
  if (!orr_launch_draft_get(draft, "workload.samples"))
    orr_launch_draft_set(draft, "workload.samples", "1", NULL, "AReaL's default");
  orr_dialect_rollouts_finish(draft);
}

/* model.backend: "megatron:d2p1t4", or "fsdp" on all GPUs. */
void orr_dialect_areal_layout(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *sft = &orr_dialect_areal_sft;
  const OrrLaunchSetting *backend = orr_launch_draft_find(draft, sft, "model.backend");
  g_auto(Part) part = {1, 1, 1, 1, 1, 0, NULL};
  const gboolean is_read = backend && backend->value && read_part(backend->value, &part);
  const gint64 all = orr_launch_config_count(draft, sft, "cluster.n-nodes", 1) *
                     orr_launch_config_count(draft, sft, "cluster.n-gpus-per-node", 8);
  const struct {
    const char *path;
    gint64 value;
  } lines[] = {{"workload.parallel.tp", part.t},
               {"workload.parallel.pp", part.p},
               {"workload.parallel.cp", part.c},
               {"workload.parallel.ep", part.e},
               {"workload.parallel.etp", part.experts_t}};
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
    put(draft, lines[i].path, lines[i].value, backend);
  if (backend && backend->value && strstr(backend->value, "megatron"))
    orr_launch_draft_set(draft, "workload.optimizer.sharding.kind", "distributed-optimizer",
                         backend, NULL);
  if (orr_launch_config_gpus(draft) > 0) return;
  orr_launch_draft_set_nodes(draft, 1, is_read ? backend->written : "the config's cluster");
  orr_launch_draft_set_gpus_per_node(draft, is_read ? gpus_of(&part) : all, NULL);
}

const OrrLaunchDialect orr_dialect_areal = {
    .name = "areal",
    .kind = "post-training",
    .is_trainer = TRUE,
    .has_own_options = TRUE,
    .signs = "allocation_mode gconfig.n_samples actor.mb_spec",
    .finish = finish,
};

/*
 * plan_launch.c - Megatron-LM's arguments for a training scenario. sim/import/launch reads them
 * (dialect_megatron*.c); tests/plan/test_plan_launch.c goes there and back.
 */
#include "sim/plan/plan.h"

#include "sim/base/yaml.h"

typedef struct {
  const OrrScenario *scenario;
  const OrrNode *tree; /* resolved: every default filled in */
  GPtrArray *words;    /* of char * */
} Line;

static void G_GNUC_PRINTF(2, 3) add(Line *line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(line->words, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

/* The text at @path of the resolved scenario; "": there is none. */
static const char *text_at(const Line *line, const char *path) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  const OrrNode *node = line->tree;
  for (char **key = keys; node && *key; key++) node = orr_node_get(node, *key);
  return node && node->kind == ORR_NODE_SCALAR && node->text ? node->text : "";
}

static gboolean is_at(const Line *line, const char *path, const char *text) {
  return strcmp(text_at(line, path), text) == 0;
}

static gint64 number_at(const Line *line, const char *path) {
  return g_ascii_strtoll(text_at(line, path), NULL, 10);
}

/* --- Model --- */

/* "([0]*3+[1]*58)": which layers have experts, where not all do. */
static void add_layer_pattern(Line *line, const OrrModel *model) {
  const OrrModelLayout *layout = &model->settled;
  g_autoptr(GString) text = g_string_new(NULL);
  gboolean has_dense = FALSE;
  for (gint64 i = 0, n = 0; layout->length && i < model->layers; i += n) {
    const guint8 feed = layout->kinds[layout->at[i % layout->length]].feed;
    for (n = 1;
         i + n < model->layers && layout->kinds[layout->at[(i + n) % layout->length]].feed == feed;)
      n++;
    has_dense = has_dense || feed != ORR_FEED_MOE;
    g_string_append_printf(text, "%s[%d]*%ld", i ? "+" : "", feed == ORR_FEED_MOE, n);
  }
  if (has_dense) add(line, "--moe-layer-freq '(%s)'", text->str);
}

static void add_moe(Line *line, const OrrModel *model) {
  const OrrMoe *moe = &model->moe;
  if (moe->experts < 1) return;
  add(line, "--num-experts %ld", moe->experts);
  add(line, "--moe-router-topk %ld", moe->topk);
  if (moe->ffn) add(line, "--moe-ffn-hidden-size %ld", moe->ffn);
  if (moe->shared_ffn) add(line, "--moe-shared-expert-intermediate-size %ld", moe->shared_ffn);
  add_layer_pattern(line, model);
  add(line, "--moe-grouped-gemm --moe-permute-fusion");
  add(line, "%s",
      is_at(line, "workload.experts.dispatch", "deepep") ? "--moe-enable-deepep"
                                                         : "--moe-token-dispatcher-type alltoall");
}

static void add_attention(Line *line, const OrrModel *model) {
  if (model->mla.kv_rank) {
    add(line, "--multi-latent-attention");
    if (model->mla.q_rank) add(line, "--q-lora-rank %ld", model->mla.q_rank);
    add(line, "--kv-lora-rank %ld", model->mla.kv_rank);
    add(line, "--qk-head-dim %ld", model->mla.nope_dim);
    add(line, "--qk-pos-emb-head-dim %ld", model->mla.rope_dim);
    add(line, "--v-head-dim %ld", model->mla.value_dim);
  } else if (model->kv_heads && model->kv_heads != model->heads) {
    add(line, "--group-query-attention");
    add(line, "--num-query-groups %ld", model->kv_heads);
  }
  if (model->head_dim && !model->mla.kv_rank) add(line, "--kv-channels %ld", model->head_dim);
  if (model->qkv_bias) add(line, "--add-qkv-bias");
  if (model->qk_norm) add(line, "--qk-layernorm");
}

static void add_model(Line *line) {
  const OrrModel *model = &line->scenario->model;
  add(line, "--num-layers %ld", model->layers);
  if (model->mtp_layers) add(line, "--mtp-num-layers %ld", model->mtp_layers);
  add(line, "--hidden-size %ld", model->hidden);
  add(line, "--num-attention-heads %ld", model->heads);
  if (model->ffn) add(line, "--ffn-hidden-size %ld", model->ffn);
  add_attention(line, model);
  add_moe(line, model);
  if (is_at(line, "model.activation", "swiglu")) add(line, "--swiglu");
  if (is_at(line, "model.activation", "squared-relu")) add(line, "--squared-relu");
  if (is_at(line, "model.activation", "geglu")) add(line, "--geglu");
  if (is_at(line, "model.norm", "rmsnorm")) add(line, "--normalization RMSNorm");
  if (is_at(line, "model.position", "rope")) add(line, "--position-embedding-type rope");
  if (is_at(line, "model.position", "none")) add(line, "--position-embedding-type none");
  if (!model->bias) add(line, "--disable-bias-linear");
  if (!model->tied_embeddings) add(line, "--untie-embeddings-and-output-weights");
  add(line, "--vocab-size %ld", model->vocab);
  add(line, "--max-position-embeddings %ld", model->context);
}

/* --- Layout --- */

static void add_pipeline(Line *line) {
  const gint64 pp = number_at(line, "workload.parallel.pp");
  const gint64 chunks = number_at(line, "workload.pipeline.chunks");
  const gint64 layers = line->scenario->model.layers;
  if (pp > 1) add(line, "--pipeline-model-parallel-size %ld", pp);
  if (chunks > 1 && layers % (pp * chunks) == 0)
    add(line, "--num-layers-per-virtual-pipeline-stage %ld", layers / (pp * chunks));
  else if (chunks > 1)
    add(line, "--num-virtual-stages-per-pipeline-rank %ld", chunks);
  if (is_at(line, "workload.pipeline-comm.overlap-p2p", "false") && chunks > 1)
    add(line, "--no-overlap-p2p-communication");
}

static void add_tensor(Line *line) {
  if (is_at(line, "workload.parallel.sequence-parallel", "true")) add(line, "--sequence-parallel");
  if (is_at(line, "workload.parallel.tp-comm-overlap.kind", "userbuffers") ||
      is_at(line, "workload.parallel.tp-comm-overlap", "userbuffers"))
    add(line, "--tp-comm-overlap");
}

static void add_parallel(Line *line) {
  static const struct {
    const char *path, *option;
  } sizes[] = {{"workload.parallel.tp", "--tensor-model-parallel-size"},
               {"workload.parallel.cp", "--context-parallel-size"},
               {"workload.parallel.ep", "--expert-model-parallel-size"}};
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    if (number_at(line, sizes[i].path) > 1)
      add(line, "%s %s", sizes[i].option, text_at(line, sizes[i].path));
  if (line->scenario->model.moe.experts > 0 && number_at(line, "workload.parallel.etp") > 0)
    add(line, "--expert-tensor-parallel-size %s", text_at(line, "workload.parallel.etp"));
  if (number_at(line, "workload.parallel.tp") > 1) add_tensor(line);
  add_pipeline(line);
}

static void add_precision(Line *line) {
  static const struct {
    const char *ours, *theirs;
  } recipes[] = {{"fp8", "tensorwise"}, /* is fp8-current */
                 {"fp8-delayed", "delayed"},
                 {"fp8-current", "tensorwise"},
                 {"fp8-blockwise", "blockwise"},
                 {"mxfp8", "mxfp8"}};
  add(line, "%s", is_at(line, "workload.precision", "fp16") ? "--fp16" : "--bf16");
  for (guint i = 0; i < G_N_ELEMENTS(recipes); i++) {
    if (!is_at(line, "workload.precision", recipes[i].ours)) continue;
    add(line, "--fp8-format hybrid");
    add(line, "--fp8-recipe %s", recipes[i].theirs);
  }
}

static void add_memory(Line *line) {
  if (is_at(line, "workload.recompute", "selective"))
    add(line, "--recompute-granularity selective");
  if (is_at(line, "workload.recompute", "full")) {
    add(line, "--recompute-granularity full");
    add(line, "--recompute-method uniform");
    add(line, "--recompute-num-layers 1");
  }
}

/* What Megatron does by an option only. */
static void add_options(Line *line) {
  static const struct {
    const char *path, *value, *option;
  } options[] = {
      {"workload.optimizer.sharding.kind", "distributed-optimizer", "--use-distributed-optimizer"},
      {"workload.optimizer.sharding.overlap-param-gather", "true", "--overlap-param-gather"},
      {"workload.data-parallel.overlap", "true", "--overlap-grad-reduce"},
      {"workload.data-parallel.gradients", "same", "--grad-reduce-in-bf16"},
      {"workload.loss", "fused", "--cross-entropy-loss-fusion"},
      {"workload.loss", "fused", "--cross-entropy-fusion-impl te"},
      {"workload.attention", "unfused", "--attention-backend unfused"},
      {"workload.rope", "apart", "--no-rope-fusion"},
      {"workload.experts.router-fp32", "true", "--moe-router-dtype fp32"},
      {"workload.offload.optimizer", "1", "--optimizer-cpu-offload"},
      {"workload.optimizer.moments", "bf16", "--use-precision-aware-optimizer"},
      {"workload.optimizer.moments", "bf16", "--exp-avg-dtype bf16"},
      {"workload.optimizer.moments", "bf16", "--exp-avg-sq-dtype bf16"},
      {"workload.launches", "graphs", "--cuda-graph-impl local"},
      {"workload.launches", "graphs", "--cuda-graph-scope full_iteration"},
      {"workload.launches", "graphs-but-experts", "--cuda-graph-impl transformer_engine"},
      {"workload.launches", "graphs-but-experts", "--cuda-graph-scope attn"}};
  for (guint i = 0; i < G_N_ELEMENTS(options); i++)
    if (is_at(line, options[i].path, options[i].value)) add(line, "%s", options[i].option);
  if (is_at(line, "workload.offload.optimizer", "1") &&
      !is_at(line, "workload.optimizer.moments", "bf16"))
    add(line, "--use-precision-aware-optimizer"); /* Megatron wants it with the offload */
}

static void add_batch(Line *line) {
  add(line, "--seq-length %s", text_at(line, "workload.sequence"));
  add(line, "--micro-batch-size %s", text_at(line, "workload.batch.micro"));
  add(line, "--global-batch-size %s", text_at(line, "workload.batch.global"));
  if (!is_at(line, "workload.dropout", "true")) {
    add(line, "--attention-dropout 0");
    add(line, "--hidden-dropout 0");
  }
}

/* --- The line --- */

static char *joined(const GPtrArray *words) {
  GString *text = g_string_new(NULL);
  gsize column = 0;
  ORR_EACH_POINTER_AT(i, const char, word, words) {
    if (column + strlen(word) > 96) {
      g_string_append(text, " \\\n ");
      column = 1;
    }
    g_string_append_printf(text, "%s%s", i ? " " : "", word);
    column += strlen(word) + 1;
  }
  g_string_append_c(text, '\n');
  return g_string_free(text, FALSE);
}

/* Frameworks whose launcher takes Megatron's arguments. */
static gboolean is_megatron(const char *stack) { return g_str_has_prefix(stack, "megatron"); }

char *orr_plan_launch(const OrrScenario *scenario) {
  const OrrCluster *cluster = &scenario->cluster;
  g_autofree char *text = orr_scenario_resolved(scenario);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "the scenario", diags);
  g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
  Line line = {scenario, tree, words};
  if (!tree || !is_at(&line, "workload.kind", "training")) return NULL;
  const char *stack = text_at(&line, "workload.stack.name");
  if (!is_megatron(*stack ? stack : text_at(&line, "workload.stack"))) return NULL;
  const gint64 gpus = orr_cluster_n_gpus(cluster);
  gint64 per_node = MIN(cluster->node.gpus, gpus);
  while (gpus % per_node) per_node--; /* torchrun starts as many processes on each node */
  add(&line, "torchrun --nproc-per-node %ld", per_node);
  add(&line, "--nnodes %ld", gpus / per_node);
  add(&line, "pretrain_gpt.py");
  add_parallel(&line);
  add_batch(&line);
  add_precision(&line);
  add_memory(&line);
  add_options(&line);
  add_model(&line);
  return joined(words);
}

/*
 * plan_serving_tree.c - a layout becomes a scenario, and an engine's launch line.
 */
#include "sim/base/settings.h"
#include "sim/plan/plan.h"
#include "sim/plan/plan_serving.h"

enum {
  SMALL_STEP =
      1024 /* tokens; engines refuse steps of fewer than max-num-seqs, 1,024 on large GPUs */
};

/* A trace replayed so much faster comes as if at once. A rate would do, too, where not all of the
 * first requests have one time already. */
#define AT_ONCE 1e9

/* --- The scenario --- */

static void add_parallel(GString *out, const OrrPlanServing *asked, const OrrPlanSplit *split) {
  g_string_append_printf(out, "{tp: %ld", split->tp);
  if (split->pp > 1) g_string_append_printf(out, ", pp: %ld", split->pp);
  if (split->dp_attention > 1)
    g_string_append_printf(out, ", dp-attention: %ld", split->dp_attention);
  if (split->ep > 1) g_string_append_printf(out, ", ep: %ld", split->ep);
  if (split->feed_gpus > 0)
    g_string_append_printf(out, ", feed-forward: {gpus: %ld, micro-batches: %ld%s%s}",
                           split->feed_gpus, split->micro_batches,
                           asked->feed_device ? ", device: " : "",
                           asked->feed_device ? asked->feed_device : "");
  g_string_append_c(out, '}');
}

static void add_replicas(GString *out, const OrrPlanServing *asked, const OrrPlanLayout *layout,
                         gint64 cells) {
  const gboolean alike = memcmp(&layout->split, &layout->decode, sizeof layout->split) == 0;
  g_string_append(out, "  parallel: ");
  add_parallel(out, asked, &layout->split);
  if (layout->prefill == 0) {
    g_string_append_printf(out, "\n  replicas: %ld\n", cells);
    return;
  }
  g_string_append_printf(out, "\n  replicas: %ld\n  disaggregation: {prefill: %ld}\n",
                         cells * (layout->prefill + (alike ? layout->decoders : 0)),
                         cells * layout->prefill);
  if (alike) return;
  g_string_append_printf(out, "  groups: [{replicas: %ld, parallel: ", cells * layout->decoders);
  add_parallel(out, asked, &layout->decode);
  g_string_append(out, "}]\n");
}

/* The tokens of a step, by the engine's own setting for chunks: SGLang's is for all groups of
 * attention together. */
static void add_engine(GString *out, const char *stack, gint64 tokens, gint64 groups) {
  if (tokens > 0 && g_str_has_prefix(stack, "sglang"))
    g_string_append_printf(
        out, "  engine: {scheduler: {kind: sglang, chunked-prefill-size: %ld}}\n", tokens * groups);
  else if (tokens > 0 && tokens < SMALL_STEP)
    g_string_append_printf(out, "  engine: {max-num-batched-tokens: %ld, max-num-seqs: %ld}\n",
                           tokens, tokens / 2);
  else if (tokens > 0)
    g_string_append_printf(out, "  engine: {max-num-batched-tokens: %ld}\n", tokens);
}

static void add_lengths(GString *out, gint64 input, gint64 output) {
  g_string_append_printf(out, "  input: {tokens: %ld}\n  output: {tokens: %ld}\n", input, output);
}

/* A rate is run until it is steady, and its requests have the objectives of the question. */
static void add_load(GString *out, const OrrPlanServing *asked, const OrrPlanLoad *load) {
  const OrrPlanTrace *trace = asked->trace;
  const char *kind = trace ? trace->kind : "poisson";
  if (load->rate > 0)
    g_string_append_printf(out,
                           "  load: {kind: %s, rate: %.6g}\n"
                           "  metrics: {window: steady}\n"
                           "  slo: {ttft: %.6g s, tpot: %.6g s}\n",
                           kind, load->rate, asked->ttft_s, asked->tpot_s);
  else if (trace && load->clients > 1)
    g_string_append_printf(out, "  load: {kind: %s, speed: %g}\n  requests: %ld\n", kind, AT_ONCE,
                           MIN(load->requests, trace->facts.requests));
  else
    g_string_append_printf(out,
                           "  load: {kind: closed-loop, concurrency: %ld}\n"
                           "  requests: %ld\n",
                           load->clients, load->requests);
  if (!trace)
    add_lengths(out, asked->input_tokens, asked->output_tokens);
  else if (load->rate <= 0 && load->clients <= 1)
    add_lengths(out, trace->facts.shares ? 1 : trace->facts.shortest_prompt, asked->output_tokens);
}

static char *text_of(const OrrPlanServing *asked, const OrrPlanLayout *layout, gint64 cells,
                     const OrrPlanLoad *load) {
  GString *out = g_string_new("schema: scenario/1\n");
  g_string_append_printf(out,
                         "name: Serving %s\n"
                         "question: Does it meet its objectives?\n"
                         "cluster: {base: %s, nodes: 0, gpus: %ld}\n"
                         "model: %s\n",
                         asked->model, asked->clusters[layout->cluster], cells * layout->gpus,
                         asked->model);
  if (asked->prices) g_string_append_printf(out, "prices: %s\n", asked->prices);
  g_string_append_printf(out,
                         "workload:\n  kind: serving\n  stack: %s\n  quantization: %s\n"
                         "  kv-dtype: %s\n",
                         orr_plan_serving_stack_of(asked, layout), asked->formats[layout->format],
                         asked->caches[layout->cache]);
  add_replicas(out, asked, layout, cells);
  add_engine(out, orr_plan_serving_stack_of(asked, layout), layout->batched_tokens,
             layout->split.dp_attention);
  add_load(out, asked, load);
  return g_string_free(out, FALSE);
}

OrrNode *orr_plan_serving_tree(OrrLibrary *library, const OrrPlanServing *asked,
                               const OrrPlanLayout *layout, gint64 cells, const OrrPlanLoad *load,
                               GError **error) {
  g_autofree char *text = text_of(asked, layout, cells, load);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_plan_tree(text, diags);
  if (!tree) {
    orr_diags_check(diags, error);
    return NULL;
  }
  g_autofree char *longest = g_strdup_printf("%ld", layout->max_model_len);
  if (layout->max_model_len > 0 &&
      !orr_field_set(&orr_scenario_table, tree, "workload.engine.max-model-len", longest, error))
    return NULL;
  OrrNode *at = orr_node_get(orr_node_get(tree, "workload"), "load");
  if (asked->trace && g_str_equal(orr_node_get_text(at, "kind"), asked->trace->kind))
    orr_node_set(at, "file", orr_node_new_scalar(at->place, asked->trace->file));
  return orr_settings_apply(&orr_scenario_table, tree, asked->settings, error)
             ? g_steal_pointer(&tree)
             : NULL;
}

/* --- The launch line --- */

typedef struct {
  const char *family, *command, *tp, *pp, *tokens;
  const char *sequences; /* with few tokens; NULL: the chunk does not limit them */
  const char *cache;
  gboolean casts;               /* it can cast weights to fp8 when it loads them */
  const char *prefill, *decode; /* options of roles; NULL: not by options */
  const char *groups, *experts; /* attention data parallelism; NULL: not by options */
  const char *over_all;         /* experts over all GPUs, as a flag; NULL: a number follows */
} Engine;

static const Engine engines[] = {
    {"vllm", "vllm serve", "--tensor-parallel-size", "--pipeline-parallel-size",
     "--max-num-batched-tokens", "--max-num-seqs", "--kv-cache-dtype", TRUE,
     "--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_producer\"}'",
     "--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_consumer\"}'",
     "--data-parallel-size", "", "--enable-expert-parallel"},
    {"sglang", "python -m sglang.launch_server --model-path", "--tp-size", "--pp-size",
     "--chunked-prefill-size", NULL, "--kv-cache-dtype", TRUE, "--disaggregation-mode prefill",
     "--disaggregation-mode decode", "--enable-dp-attention --dp-size", "--ep-size", NULL},
    {"trtllm", "trtllm-serve", "--tp_size", "--pp_size",
     "--enable_chunked_prefill --max_num_tokens", "--max_batch_size", "--kv_cache_dtype", FALSE,
     NULL, NULL, NULL, "--ep_size", NULL},
};

static const Engine *engine_of(const char *stack) {
  for (guint i = 0; i < G_N_ELEMENTS(engines); i++)
    if (g_str_has_prefix(stack, engines[i].family)) return &engines[i];
  return NULL;
}

/* The checkpoint's public name: the first one in this format. NULL: none; then the weights of the
 * first are cast. */
static char *checkpoint(const OrrModel *model, const char *format) {
  for (char **alias = model->aliases; alias && *alias; alias++) {
    const char *word = strchr(*alias, ' ');
    if (strcmp(word ? word + 1 : "none", format) == 0)
      return g_strndup(*alias, word ? (gsize)(word - *alias) : strlen(*alias));
  }
  return NULL;
}

static void add_size(GString *out, const char *option, gint64 size) {
  if (size > 1) g_string_append_printf(out, " %s %ld", option, size);
}

/* vLLM counts ranks of data parallelism apart from tp, SGLang among its GPUs. */
static void add_split(GString *out, const Engine *engine, const OrrPlanSplit *split) {
  const gboolean counts = !engine->over_all && split->dp_attention > 1;
  add_size(out, engine->tp, counts ? split->tp * split->dp_attention : split->tp);
  add_size(out, engine->pp, split->pp);
  add_size(out, engine->groups, split->dp_attention);
  if (split->ep > 1 && engine->over_all)
    g_string_append_printf(out, " %s", engine->over_all);
  else
    add_size(out, engine->experts, split->ep);
}

static gboolean add_model(GString *out, const Engine *engine, const OrrModel *model,
                          const char *format) {
  g_autofree char *own = checkpoint(model, format);
  g_autofree char *wide = own ? NULL : checkpoint(model, "none");
  const char *name = own ? own : wide ? wide : model->name;
  g_string_append_printf(out, "%s %s", engine->command, name);
  if (own || strcmp(format, "none") == 0) return TRUE;
  g_string_append_printf(out, " --quantization %s", format);
  return engine->casts && strcmp(format, "fp8") == 0;
}

/* Of one role; @role: its options, "" for a replica that does both. */
static char *line_of(const OrrPlanServing *asked, const OrrPlanLayout *layout,
                     const OrrModel *model, const OrrPlanSplit *split, const char *role) {
  const Engine *engine = engine_of(orr_plan_serving_stack_of(asked, layout));
  GString *out = g_string_new(NULL);
  const gboolean is_known = add_model(out, engine, model, asked->formats[layout->format]);
  add_split(out, engine, split);
  g_string_append_printf(out, " %s %ld", engine->tokens,
                         layout->batched_tokens * (engine->over_all ? 1 : split->dp_attention));
  if (engine->sequences && layout->batched_tokens < SMALL_STEP)
    g_string_append_printf(out, " %s %ld", engine->sequences, layout->batched_tokens / 2);
  if (strcmp(asked->caches[layout->cache], "fp8") == 0)
    g_string_append_printf(out, " %s fp8", engine->cache);
  if (layout->max_model_len > 0)
    g_string_append_printf(out, " --max-model-len %ld", layout->max_model_len);
  if (*role) g_string_append_printf(out, " %s", role);
  return g_string_free(out, !is_known);
}

static gboolean has_line(const Engine *engine, const OrrPlanLayout *layout) {
  const gboolean has_groups =
      layout->split.dp_attention > 1 || (layout->prefill > 0 && layout->decode.dp_attention > 1);
  const gboolean has_pools = layout->split.feed_gpus + layout->decode.feed_gpus > 0;
  return engine && !has_pools && (engine->groups || !has_groups) &&
         (engine->prefill || layout->prefill == 0);
}

char *orr_plan_serving_launch(OrrLibrary *library, const OrrPlanServing *asked,
                              const OrrPlanLayout *layout) {
  const Engine *engine = engine_of(orr_plan_serving_stack_of(asked, layout));
  const OrrPlanLoad load = {.rate = 1};
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_plan_serving_tree(library, asked, layout, 1, &load, NULL);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read_fields(library, tree, diags) : NULL;
  if (!scenario || !has_line(engine, layout)) return NULL;
  const gboolean apart = layout->prefill > 0;
  g_autofree char *one =
      line_of(asked, layout, &scenario->model, &layout->split, apart ? engine->prefill : "");
  g_autofree char *other =
      apart ? line_of(asked, layout, &scenario->model, &layout->decode, engine->decode) : NULL;
  if (!one || (apart && !other)) return NULL;
  return apart
             ? g_strdup_printf("# servers that prefill: %ld\n%s\n# servers that decode: %ld\n%s\n",
                               layout->prefill * MAX(layout->replicas, 1), one,
                               layout->decoders * MAX(layout->replicas, 1), other)
         : layout->replicas > 1 ? g_strdup_printf("# servers: %ld\n%s\n", layout->replicas, one)
                                : g_strdup_printf("%s\n", one);
}

/*
 * launch_serving_finish.c - what settings of a server decide together: how it is split over GPUs,
 * how servers of one deployment share the work, and which load a scenario without one gets.
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_serving.h"

/* The load of a server without a benchmark: said in a remark, meant to be replaced. */
enum { DEFAULT_CLIENTS = 16, DEFAULT_PROMPT = 1024, DEFAULT_OUTPUT = 1024 };

static gint64 line_number(OrrLaunchDraft *draft, const char *path, gint64 fallback) {
  double number = 0;
  const char *text = orr_launch_draft_get(draft, path);
  return text && orr_quantity_parse(text, ORR_UNIT_NONE, &number, NULL) ? (gint64)number : fallback;
}

/* --- The model --- */

const OrrNode *orr_launch_serving_document(OrrLaunchDraft *draft) {
  const char *name = orr_launch_draft_options(draft)->model;
  if (!name) name = orr_launch_draft_get(draft, "model");
  if (!name) name = orr_launch_draft_get(draft, "model.base");
  const OrrPlace nowhere = {0};
  OrrDiags *own = orr_diags_new();
  const OrrNode *tree =
      name ? orr_library_borrow(orr_launch_draft_library(draft), "model", name, nowhere, own)
           : NULL;
  orr_diags_free(own);
  return tree;
}

static gboolean has_lines_below(OrrLaunchDraft *draft, const char *prefix) {
  ORR_EACH_POINTER(const OrrLaunchLine, line, draft->lines)
    if (g_str_has_prefix(line->path, prefix)) return TRUE;
  return FALSE;
}

gboolean orr_launch_serving_has_experts(OrrLaunchDraft *draft) {
  const OrrNode *tree = orr_launch_serving_document(draft);
  return (tree && orr_node_get(tree, "moe")) || has_lines_below(draft, "model.moe");
}

gboolean orr_launch_serving_has_mtp(OrrLaunchDraft *draft) {
  const OrrNode *tree = orr_launch_serving_document(draft);
  return (tree && orr_node_get(tree, "mtp-layers")) || has_lines_below(draft, "model.mtp-layers");
}

/* vLLM and SGLang stop at a limit above the config's context ("User-specified max_model_len ... is
 * greater than the derived max_model_len", vllm/config/model.py; sglang/srt/configs), unless a
 * variable lets them. */
static void warn_context(OrrLaunchDraft *draft, gint64 asked, const char *context) {
  static const struct {
    const OrrLaunchDialect *dialect;
    const char *key, *permit;
  } limits[] = {
      {&orr_dialect_vllm, "max-model-len", "vllm.allow-long-max-model-len"},
      {&orr_dialect_sglang, "context-length", "sglang.allow-overwrite-longer-context-len"}};
  for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
    if (orr_launch_draft_find(draft, limits[i].dialect, limits[i].key) &&
        !orr_launch_draft_is_on(draft, &orr_dialect_environment, limits[i].permit))
      orr_launch_draft_remark(draft,
                              "--%s %ld is above the model's context of %s: the server does not "
                              "start, unless its environment has %s or an override of the model's "
                              "config lengthens the context",
                              limits[i].key, asked, context,
                              i == 0 ? "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"
                                     : "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1");
}

/* A server may take longer requests than the model was made for (YaRN), by its limit or by keys
 * that it lays over the model's config. */
static void widen_context(OrrLaunchDraft *draft) {
  const gboolean is_overridden = orr_launch_draft_get(draft, "model.context") != NULL;
  const OrrNode *tree = orr_launch_serving_document(draft);
  const gint64 asked = line_number(draft, "workload.engine.max-model-len", 0);
  const char *text = tree ? orr_node_get_text(tree, "context") : NULL;
  double context = 0;
  OrrLaunchLine *model = orr_launch_draft_line(draft, "model");
  if (!model || !text || !orr_quantity_parse(text, ORR_UNIT_NONE, &context, NULL)) return;
  if ((double)asked <= context && !is_overridden) return;
  g_free(model->path);
  model->path = g_strdup("model.base");
  if (is_overridden) return;
  warn_context(draft, asked, text);
  g_autofree char *why = g_strdup_printf("the server takes more than the model's own %s", text);
  orr_launch_draft_set_number(draft, "model.context", asked, NULL, why);
}

/* --- The load --- */

static gboolean has_load(OrrLaunchDraft *draft) {
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, settings)
    if (g_str_has_suffix(setting->dialect->name, "-bench")) return TRUE;
  return has_lines_below(draft, "workload.load");
}

gint64 orr_launch_serving_longest(OrrLaunchDraft *draft) {
  const OrrNode *tree = orr_launch_serving_document(draft);
  const char *text = tree ? orr_node_get_text(tree, "context") : NULL;
  double context = 0;
  if (!text || !orr_quantity_parse(text, ORR_UNIT_NONE, &context, NULL) || context < 4)
    context = G_MAXINT32;
  const gint64 asked = line_number(draft, "workload.engine.max-model-len", 0);
  return asked > 0 ? asked : (gint64)context;
}

static void assume_load(OrrLaunchDraft *draft) {
  static const char why[] = "assumed";
  const gint64 longest = orr_launch_serving_longest(draft);
  const gint64 prompt = MIN(DEFAULT_PROMPT, longest / 2);
  const gint64 output = MIN(DEFAULT_OUTPUT, longest / 4);
  orr_launch_draft_set(draft, "workload.load.kind", "closed-loop", NULL, why);
  orr_launch_draft_set_number(draft, "workload.load.concurrency", DEFAULT_CLIENTS, NULL, why);
  orr_launch_draft_set_number(draft, "workload.input.tokens", MAX(prompt, 1), NULL, why);
  orr_launch_draft_set_number(draft, "workload.output.tokens", MAX(output, 1), NULL, why);
  orr_launch_draft_remark(
      draft, "no load: %d clients are assumed; change it, or paste the benchmark's line too",
      DEFAULT_CLIENTS);
}

/* --- Parallelism --- */

static const char *const parallel_keys[] = {"tp", "pp", "dp-attention", "ep", "all-to-all", NULL};

static void set_parallel(OrrLaunchDraft *draft, const char *key, gint64 number,
                         const OrrLaunchSetting *source, const char *remark) {
  g_autofree char *path = g_strdup_printf("workload.parallel.%s", key);
  if (number > 1) orr_launch_draft_set_number(draft, path, number, source, remark);
}

static gint64 gpus_of(OrrLaunchDraft *draft) {
  return line_number(draft, "workload.parallel.tp", 1) *
         line_number(draft, "workload.parallel.pp", 1) *
         line_number(draft, "workload.parallel.dp-attention", 1);
}

static gint64 replicas_of(OrrLaunchDraft *draft) {
  return line_number(draft, "workload.replicas", 1);
}

static void set_layout(OrrLaunchDraft *draft, const OrrServingLayout *layout) {
  set_parallel(draft, "tp", layout->tp, layout->tp_from, NULL);
  set_parallel(draft, "pp", layout->pp, layout->pp_from, NULL);
  set_parallel(draft, "dp-attention", layout->dp_attention, layout->dp_from, NULL);
  set_parallel(draft, "ep", layout->ep, layout->ep_from, NULL);
  const gint64 replicas = layout->replicas * MAX(draft->replicas, 1);
  const gboolean is_manifest = draft->replicas > 1;
  if (replicas > 1)
    orr_launch_draft_set_number(draft, "workload.replicas", replicas,
                                is_manifest ? NULL : layout->dp_from,
                                is_manifest ? "of the manifest" : NULL);
}

/* An engine stops where its node shows fewer GPUs than its ranks there want. */
static void judge_visible(OrrLaunchDraft *draft, const OrrServingLayout *layout) {
  static const char *const keys[] = {"cuda.visible-devices", "hip.visible-devices"};
  const gint64 gpus = gpus_of(draft) * layout->replicas;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_environment, keys[i]);
    if (!setting || setting->is_unresolved || !setting->value) continue;
    g_auto(GStrv) devices = g_strsplit(setting->value, ",", -1);
    if (g_strv_length(devices) < gpus)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "fewer GPUs than the %ld of the layout, unless other nodes have the "
                             "rest: %ld are simulated",
                             gpus, gpus);
  }
}

/* Each rank of an engine has LMCache's buffers (LMCACHE_MAX_LOCAL_CPU_SIZE is a rank's): the
 * scenario's are a replica's. */
static void widen_buffers(OrrLaunchDraft *draft) {
  static const char *const keys[][2] = {
      {"servingenginespec.modelspec.lmcacheconfig.cpuoffloadingbuffersize",
       "workload.engine.cache-tiers.host"},
      {"servingenginespec.modelspec.lmcacheconfig.diskoffloadingbuffersize",
       "workload.engine.cache-tiers.ssd"}};
  const gint64 ranks = gpus_of(draft);
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const OrrLaunchSetting *setting =
        orr_launch_draft_find(draft, &orr_dialect_manifest, keys[i][0]);
    double size = 0;
    if (ranks < 2 || !setting || !orr_launch_draft_get(draft, keys[i][1]) ||
        !orr_launch_serving_number(setting->value, &size))
      continue;
    g_autofree char *text = g_strdup_printf("%.9g GiB", size * (double)ranks);
    orr_launch_draft_set(draft, keys[i][1], text, setting, "for each rank of the engine");
  }
}

/* --- Servers of one deployment --- */

/* The layout of @draft in one line, "{tp: 8, ep: 8}". Newly allocated. */
static char *parallel_text(OrrLaunchDraft *draft) {
  g_autoptr(GString) text = g_string_new("{");
  for (const char *const *key = parallel_keys; *key; key++) {
    g_autofree char *path = g_strdup_printf("workload.parallel.%s", *key);
    const char *value = orr_launch_draft_get(draft, path);
    if (value) g_string_append_printf(text, "%s%s: %s", text->len > 1 ? ", " : "", *key, value);
  }
  return g_strdup_printf("%s}", text->str);
}

/* Gives @draft what @other says at @path, or nothing. */
static void take(OrrLaunchDraft *draft, OrrLaunchDraft *other, const char *path) {
  OrrLaunchLine *line = orr_launch_draft_line(draft, path);
  const char *value = orr_launch_draft_get(other, path);
  if (line) g_ptr_array_remove(draft->lines, line);
  if (value) orr_launch_draft_set(draft, path, value, NULL, "of the servers that prefill");
}

/* Gives @draft the layout of @other. */
static void copy_parallel(OrrLaunchDraft *draft, OrrLaunchDraft *other) {
  for (const char *const *key = parallel_keys; *key; key++) {
    g_autofree char *path = g_strdup_printf("workload.parallel.%s", *key);
    take(draft, other, path);
  }
}

/* Whether servers that prefill and servers that decode may differ in what @path says. */
static gboolean is_own(const char *path) {
  static const char *const formats[] = {"workload.quantization", "workload.precision",
                                        "workload.activations", NULL};
  static const char *const shared[] = {
      "workload.engine.block-size",  "workload.engine.prefix",
      "workload.engine.window-room", "workload.engine.max-model-len",
      "workload.engine.host.token",  "workload.engine.lora",
      "workload.engine.cache-tiers", NULL};
  for (const char *const *other = shared; *other; other++)
    if (g_str_has_prefix(path, *other)) return FALSE;
  return g_str_has_prefix(path, "workload.engine.") || g_str_has_prefix(path, "workload.weights") ||
         g_strv_contains(formats, path);
}

static gboolean is_engine(const char *path) {
  return is_own(path) || g_str_has_prefix(path, "workload.engine") ||
         strcmp(path, "workload.kv-dtype") == 0;
}

/* Says of each setting of @of for engines that @other does not have: @why it is not simulated.
 * Without @all: of settings in which the two may not differ. */
static void judge_engine(OrrLaunchDraft *draft, OrrLaunchDraft *of, OrrLaunchDraft *other,
                         gboolean all, const char *why) {
  ORR_EACH_POINTER(OrrLaunchSetting, setting, of->settings) {
    const char *path = setting->rule ? setting->rule->path : NULL;
    if (!path || setting->verdict != ORR_LAUNCH_MAPPED || !is_engine(path)) continue;
    if (!all && is_own(path)) continue;
    if (g_strcmp0(orr_launch_draft_get(of, path), orr_launch_draft_get(other, path)) != 0)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "%s", why);
  }
}

/* --- What decoding servers have of their own --- */

/* Adds "engine: {max-num-seqs: 64, speculation: {kind: mtp}}" for the paths of @paths below
 * @prefix, as @draft has them; null where it has none. */
static void add_own(GString *text, OrrLaunchDraft *draft, const GPtrArray *paths,
                    const char *prefix) {
  const gsize length = strlen(prefix);
  g_autoptr(GHashTable) done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  ORR_EACH_POINTER(const char, path, paths) {
    if (!g_str_has_prefix(path, prefix)) continue;
    const gsize n = strcspn(path + length, ".");
    char *key = g_strndup(path + length, n);
    if (!g_hash_table_add(done, key)) continue;
    g_string_append_printf(text, "%s%s: ", g_hash_table_size(done) > 1 ? ", " : "", key);
    if (path[length + n] == '\0') {
      const char *value = orr_launch_draft_get(draft, path);
      g_string_append(text, value ? value : "null");
      continue;
    }
    g_autofree char *below = g_strndup(path, length + n + 1);
    g_string_append_c(text, '{');
    add_own(text, draft, paths, below);
    g_string_append_c(text, '}');
  }
}

static void add_differing(GPtrArray *paths, OrrLaunchDraft *of, OrrLaunchDraft *other) {
  ORR_EACH_POINTER(const OrrLaunchLine, line, of->lines)
    if (is_own(line->path) &&
        g_strcmp0(line->value, orr_launch_draft_get(other, line->path)) != 0 &&
        !g_ptr_array_find_with_equal_func(paths, line->path, g_str_equal, NULL))
      g_ptr_array_add(paths, g_strdup(line->path));
}

/* The paths in which the two differ and may: of char *, sorted. */
static GPtrArray *differing(OrrLaunchDraft *draft, OrrLaunchDraft *prefill) {
  GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
  add_differing(paths, draft, prefill);
  add_differing(paths, prefill, draft);
  g_ptr_array_sort(paths, orr_order_texts);
  return paths;
}

/* Replicas of the parts with @role; @ret_first: the first of them. */
static gint64 count_role(OrrLaunchDraft *draft, OrrLaunchRole role, OrrLaunchDraft **ret_first) {
  gint64 sum = 0;
  ORR_EACH_POINTER(OrrLaunchDraft, part, draft->parts) {
    if (part->role != role) continue;
    if (sum == 0) *ret_first = part;
    if (role == ORR_LAUNCH_SERVES)
      judge_engine(draft, part, draft, TRUE, "all of them have the settings of the first");
    else if (sum > 0)
      judge_engine(draft, part, *ret_first, TRUE, "those that prefill have the first one's");
    sum += replicas_of(part);
  }
  return sum;
}

static void set_groups(OrrLaunchDraft *draft, OrrLaunchDraft *prefill, gint64 prefills,
                       gint64 decodes) {
  g_autofree char *own = parallel_text(draft), *other = parallel_text(prefill);
  g_autoptr(GPtrArray) paths = differing(draft, prefill);
  judge_engine(draft, draft, prefill, FALSE,
               "all engines share one setting: here the servers that prefill have it, too");
  judge_engine(draft, prefill, draft, FALSE,
               "all engines share one setting: the decoding servers'");
  if (strcmp(own, other) == 0 && paths->len == 0)
    return orr_launch_draft_set_number(draft, "workload.replicas", prefills + decodes, NULL,
                                       "those that prefill and those that decode");
  g_autoptr(GString) groups = g_string_new(NULL);
  g_string_printf(groups, "[{replicas: %ld", decodes);
  if (strcmp(own, "{}") != 0) g_string_append_printf(groups, ", parallel: %s", own);
  if (paths->len > 0) g_string_append(groups, ", ");
  add_own(groups, draft, paths, "workload.");
  g_string_append(groups, "}]");
  orr_launch_draft_set_number(draft, "workload.replicas", prefills, NULL, "those that prefill");
  orr_launch_draft_set(draft, "workload.groups", groups->str, NULL, "those that decode");
  copy_parallel(draft, prefill);
  ORR_EACH_POINTER(const char, path, paths) take(draft, prefill, path);
}

/* A server that only prefills or only decodes, without its counterpart. */
static void judge_roles(OrrLaunchDraft *draft) {
  static const char *const whole[] = {"kv_both", "null", "none", "agg", "mixed", NULL};
  ORR_EACH_POINTER(OrrLaunchSetting, setting, draft->settings) {
    const char *path = setting->rule ? setting->rule->path : NULL;
    const char *value = setting->value ? setting->value : "";
    if (g_strcmp0(path, "workload.disaggregation") != 0 || strchr(value, '{')) continue;
    if (setting->verdict != ORR_LAUNCH_MAPPED) continue;
    if (g_strv_contains(whole, value))
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "one server does both");
    else
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "the input has no counterpart: this server does both");
  }
}

/* The GPUs of all servers. */
static gint64 join_parts(OrrLaunchDraft *draft) {
  OrrLaunchDraft *prefill = NULL, *decode = NULL;
  gint64 decodes = replicas_of(draft);
  const gint64 own = gpus_of(draft);
  const gint64 prefills = count_role(draft, ORR_LAUNCH_PREFILLS, &prefill);
  decodes += count_role(draft, ORR_LAUNCH_SERVES, &decode);
  const gint64 gpus = decodes * own + (prefill ? prefills * gpus_of(prefill) : 0);
  if (prefill) {
    set_groups(draft, prefill, prefills, decodes);
    orr_launch_draft_set_number(draft, "workload.disaggregation.prefill", prefills, NULL,
                                "the servers that only prefill");
  } else if (decodes > replicas_of(draft)) {
    orr_launch_draft_set_number(draft, "workload.replicas", decodes, NULL, "equal servers");
  }
  if (!prefill) judge_roles(draft);
  return gpus;
}

/* "Qwen/Qwen3-32B served by vllm" */
static void set_name(OrrLaunchDraft *draft) {
  const char *model = orr_launch_draft_options(draft)->model;
  if (!model) model = orr_launch_draft_get(draft, "model");
  if (!model) model = orr_launch_draft_get(draft, "model.base");
  for (guint i = 0; model && i < draft->settings->len; i++) {
    const OrrLaunchSetting *setting = draft->settings->pdata[i];
    if (!setting->dialect->stack) continue;
    g_autofree char *name = g_strdup_printf("%s served by %s", model, setting->dialect->name);
    orr_launch_draft_set(draft, "name", name, NULL, NULL);
    return;
  }
}

/* Takes away the lines below @prefix and says @why of the settings that made them. */
static void drop_lines(OrrLaunchDraft *draft, const char *prefix, const char *why) {
  gboolean any = FALSE;
  for (guint i = draft->lines->len; i-- > 0;) {
    const OrrLaunchLine *line = draft->lines->pdata[i];
    if (!g_str_has_prefix(line->path, prefix)) continue;
    g_ptr_array_remove_index(draft->lines, i);
    any = TRUE;
  }
  ORR_EACH_POINTER(OrrLaunchSetting, setting, draft->settings)
    if (any && setting->rule && setting->rule->path &&
        g_str_has_prefix(setting->rule->path, prefix))
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "%s", why);
}

/* LMCache keeps prefixes of engines that keep none themselves; tiers are simulated only below an
 * engine's own prefix cache. */
static void judge_tiers(OrrLaunchDraft *draft) {
  const char *caching = orr_launch_draft_get(draft, "workload.engine.prefix-caching");
  if (g_strcmp0(caching, "none") == 0)
    drop_lines(draft, "workload.engine.cache-tiers",
               "a tier of cached prefixes under an engine that caches none itself");
}

/* Mamba's and linear attention's layers, which cannot give back rejected tokens. */
static gboolean keeps_state(const OrrNode *model) {
  return orr_node_get(model, "mamba") || orr_node_get(model, "linear-attention");
}

/* A checkpoint may have layers of multi-token prediction that the library's model lacks. */
static void judge_drafts(OrrLaunchDraft *draft) {
  static const char speculation[] = "workload.engine.speculation";
  const char *kind = orr_launch_draft_get(draft, "workload.engine.speculation.kind");
  const char *name =
      draft->options->model ? draft->options->model : orr_launch_draft_get(draft, "model");
  g_autofree char *known = name ? orr_launch_serving_known(draft, name) : NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const OrrNode *model =
      known ? orr_library_borrow(draft->library, "model", known, (OrrPlace){0}, ignored) : NULL;
  const char *layers = model ? orr_node_get_text(model, "mtp-layers") : NULL;
  if (g_strcmp0(kind, "mtp") == 0 && model && (!layers || strcmp(layers, "0") == 0))
    drop_lines(draft, speculation,
               "the library's model has no layers of multi-token prediction: no drafts are made");
  else if (kind && model && keeps_state(model))
    drop_lines(draft, speculation,
               "layers that keep a state cannot drop rejected tokens: no drafts are made");
}

/* GPUs on each node of servers that their line spreads over nodes: --nnodes of each of a manifest's
 * servers, --gpus_per_node or --data-parallel-size-local (engines of tp x pp GPUs). 0: the line
 * leaves that to the machine. */
static gint64 spread_of(OrrLaunchDraft *draft, gint64 gpus, OrrLaunchSetting **by) {
  OrrLaunchSetting *nodes = orr_launch_draft_at(draft, "cluster.nodes", FALSE),
                   *local = orr_launch_draft_find(draft, NULL, "data-parallel-size-local");
  *by = nodes ? nodes : orr_launch_draft_at(draft, "cluster.node.gpus", FALSE);
  if (!*by || !(*by)->value) return 0;
  const gint64 n = g_ascii_strtoll((*by)->value, NULL, 10);
  if (n < 1 || n > gpus) return 0;
  const gint64 all = n * MAX(draft->replicas, 1);
  if (nodes && gpus % all != 0) return 0;
  if (nodes) return gpus / all;
  return *by == local ? n * line_number(draft, "workload.parallel.tp", 1) *
                            line_number(draft, "workload.parallel.pp", 1)
                      : n;
}

static void place(OrrLaunchDraft *draft, gint64 gpus, const char *from) {
  OrrLaunchSetting *by = NULL;
  const gint64 each = spread_of(draft, gpus, &by);
  const gboolean is_spread = draft->parts->len == 0 && each > 0 && each < gpus && gpus % each == 0;
  if (by && !is_spread && each != gpus)
    orr_launch_draft_judge(draft, by, ORR_LAUNCH_NOT_SIMULATED,
                           "how servers are spread over nodes: they fill one node after another");
  g_autofree char *text = is_spread ? g_strdup_printf("%s, %s", from, by->written) : NULL;
  orr_launch_draft_set_nodes(draft, is_spread ? gpus / each : 1, is_spread ? text : from);
  orr_launch_draft_set_gpus_per_node(draft, is_spread ? each : gpus, NULL);
}

void orr_launch_serving_finish(OrrLaunchDraft *draft, const OrrServingLayout *layout) {
  set_layout(draft, layout);
  judge_visible(draft, layout);
  widen_buffers(draft);
  orr_launch_serving_settle_format(draft);
  widen_context(draft);
  judge_tiers(draft);
  judge_drafts(draft);
  if (draft->role != ORR_LAUNCH_WHOLE) return;
  const gint64 gpus = join_parts(draft);
  g_autofree char *own = parallel_text(draft);
  const gboolean is_one = draft->parts->len == 0;
  g_autofree char *from =
      is_one ? g_strdup_printf("%s of the server", strcmp(own, "{}") == 0 ? "the GPU" : own)
             : g_strdup("all servers");
  place(draft, gpus, from);
  if (!has_load(draft)) assume_load(draft);
  set_name(draft);
}

/* --- Speculation --- */

void orr_launch_serving_speculate(OrrLaunchDraft *draft, const OrrLaunchSetting *source,
                                  const char *kind, gint64 tokens, const char *more) {
  static const char path[] = "workload.engine.speculation.";
  g_auto(GStrv) pairs = g_strsplit(more, ";", -1);
  g_autofree char *kind_path = g_strconcat(path, "kind", NULL);
  g_autofree char *tokens_path = g_strconcat(path, "num-speculative-tokens", NULL);
  g_autofree char *acceptance = g_strconcat(path, "acceptance", NULL);
  orr_launch_draft_set(draft, kind_path, kind, source, NULL);
  orr_launch_draft_set_number(draft, tokens_path, MAX(tokens, 1), NULL, NULL);
  orr_launch_draft_set(draft, acceptance, "[0.75, 0.7, 0.65]", NULL,
                       "assumed: the server's log has the rate of your prompts");
  for (char **pair = pairs; *pair; pair++) {
    g_auto(GStrv) halves = g_strsplit(*pair, "=", 2);
    if (!halves[0] || !halves[1]) continue;
    g_autofree char *key = g_strconcat(path, halves[0], NULL);
    orr_launch_draft_set(draft, key, halves[1], NULL, NULL);
  }
  orr_launch_draft_remark(draft, "the acceptance of drafts is assumed: no launch line says it");
}

void orr_launch_serving_draft_model(OrrLaunchDraft *draft, OrrLaunchSetting *source,
                                    gint64 tokens) {
  g_autofree char *name = orr_launch_serving_known(draft, source->value ? source->value : "");
  if (!name)
    return orr_launch_draft_judge(draft, source, ORR_LAUNCH_NOT_SIMULATED,
                                  "the library does not have this draft model");
  g_autofree char *more = g_strdup_printf("model=%s", name);
  orr_launch_serving_speculate(draft, source, "draft-model", tokens, more);
}

/*
 * exchange_aiconfigurator.c - an experiment of NVIDIA's AIConfigurator becomes a scenario of
 * serving.
 *
 *   exps: [exp_agg]
 *   exp_agg:
 *     serving_mode: agg
 *     model_name: QWEN3_32B           (or model_path: Qwen/Qwen3-32B)
 *     total_gpus: 8
 *     system_name: h200_sxm
 *     backend_name: trtllm
 *     isl: 4000
 *     osl: 1000
 *     ttft: 1000.0                    ms
 *     tpot: 40.0
 *     config: {worker_config: {gemm_quant_mode: fp8, tp_list: [1, 2, 4], pp_list: [1], ...}}
 *
 * AIConfigurator searches layouts: lists of two or more values become axes of a sweep. A replica of
 * each layout is given the load at which AIConfigurator rates it, a number of requests in flight:
 * 64 clients are assumed. `orrery plan serving` asks the whole question; the document's first line
 * has its command. Experiments of disaggregated serving are refused with that command.
 *
 * Source: ai-dynamo/aiconfigurator, src/aiconfigurator/cli/example.yaml (00efb04).
 */
#include "sim/import/exchange/exchange_format.h"

#include "workloads/stack.h"

static gboolean is_experiment(const OrrNode *map) {
  return map->kind == ORR_NODE_MAP && orr_node_get(map, "serving_mode") &&
         orr_node_get(map, "total_gpus");
}

static gboolean recognise(const OrrNode *tree) {
  if (tree->kind != ORR_NODE_MAP) return FALSE;
  for (guint i = 0; i < tree->items->len; i++)
    if (is_experiment(tree->items->pdata[i])) return TRUE;
  return is_experiment(tree);
}

/* The experiment that --choose names, or the only one. */
static const OrrNode *experiment_of(OrrExchange *exchange, const OrrNode *tree) {
  const OrrNode *found = is_experiment(tree) ? tree : NULL;
  g_autoptr(GString) names = g_string_new(NULL);
  guint n = 0;
  for (guint i = 0; !found && i < tree->items->len; i++) {
    const OrrNode *one = tree->items->pdata[i], *key = tree->keys->pdata[i];
    if (!is_experiment(one)) continue;
    g_autofree char *safe = orr_exchange_name(key->text);
    g_string_append_printf(names, "%s%s", n++ ? ", " : "", safe);
    if (g_strcmp0(exchange->answers->choose, key->text) == 0) return one;
  }
  for (guint i = 0; !found && n == 1 && !exchange->answers->choose && i < tree->items->len; i++)
    if (is_experiment(tree->items->pdata[i])) found = tree->items->pdata[i];
  if (!found)
    orr_diags_error(exchange->diags, tree->place, "%u experiments: add --choose NAME (%s)", n,
                    names->str);
  return found;
}

static const char *text_of(const OrrNode *map, const char *key, const char *fallback) {
  const char *text = orr_node_get_text(map, key);
  return text ? text : fallback;
}

/* The library's document of @kind for another tool's name: lower case, '-' for other characters,
 * and with one of @endings taken off or put on. Newly allocated; NULL: none. */
static char *document_of(OrrLibrary *library, const char *kind, const char *name,
                         const char *const *endings) {
  const char *base = strrchr(name, '/');
  g_autofree char *plain = orr_exchange_name(base ? base + 1 : name);
  g_autofree char *lower = g_ascii_strdown(plain, -1);
  g_strdelimit(lower, "_", '-');
  for (guint i = 0; endings[i]; i++) {
    const gsize n = strlen(lower), cut = strlen(endings[i]);
    g_autofree char *longer = g_strconcat(lower, endings[i], NULL);
    g_autofree char *shorter = g_str_has_suffix(lower, endings[i]) && n > cut
                                   ? g_strndup(lower, n - cut)
                                   : g_strdup(lower);
    g_autofree char *at = orr_library_path(library, kind, longer);
    g_autofree char *below = orr_library_path(library, kind, shorter);
    if (at) return g_steal_pointer(&longer);
    if (below) return g_steal_pointer(&shorter);
  }
  return NULL;
}

static char *model_of(OrrExchange *exchange, const OrrNode *experiment) {
  static const char *const endings[] = {"", "-instruct", "-fp8", "-hf", "b", NULL};
  const char *name = text_of(experiment, "model_path", text_of(experiment, "model_name", NULL));
  char *found = name ? document_of(exchange->library, "model", name, endings) : NULL;
  if (!found)
    orr_diags_error(exchange->diags, experiment->place,
                    "model_path or model_name names no model of the library (orrery list models)");
  return found;
}

static char *device_of(OrrExchange *exchange, const OrrNode *experiment) {
  static const char *const endings[] = {"", "-sxm", "-80gb-sxm", NULL};
  const char *name = text_of(experiment, "system_name", "");
  g_autofree char *shorter =
      g_str_has_suffix(name, "_sxm") ? g_strndup(name, strlen(name) - 4) : NULL;
  char *found = document_of(exchange->library, "device", name, endings);
  if (!found && shorter) found = document_of(exchange->library, "device", shorter, endings);
  if (!found)
    orr_diags_error(exchange->diags, experiment->place,
                    "system_name names no device of the library (orrery list devices)");
  return found;
}

/* The machine that --cluster names, with the experiment's device. */
static void write_cluster(OrrExchange *exchange, const OrrNode *experiment, const char *device,
                          gint64 gpus) {
  const char *machine = exchange->answers->cluster;
  if (machine && !orr_library_borrow(exchange->library, "cluster", machine, experiment->place,
                                     exchange->diags))
    return;
  if (machine)
    g_string_append_printf(exchange->text, "cluster: {base: %s, device: %s, nodes: 0, gpus: %ld}\n",
                           machine, device, gpus);
  else
    orr_diags_error(exchange->diags, experiment->place,
                    "a system has a device, %s, and no fabric: add --cluster NAME", device);
}

/* The newest stack of the backend that is not newer than its version; without one, the newest. */
static void write_stack(OrrExchange *exchange, const OrrNode *experiment) {
  const char *backend = text_of(experiment, "backend_name", "trtllm");
  const char *version = text_of(experiment, "backend_version", NULL);
  g_autofree char *safe = orr_exchange_name(backend);
  g_autofree char *release = version ? orr_exchange_name(version) : NULL;
  const gboolean is_known = release && g_ascii_isdigit(*release);
  g_autofree char *wanted = g_strconcat(safe, "-", is_known ? release : "9999", NULL);
  g_autofree char *stack = orr_stack_resolve(exchange->library, wanted);
  if (stack)
    g_string_append_printf(exchange->text, "  stack: %s%s\n", stack,
                           is_known ? "" : "  # the newest known: no backend_version");
  else
    orr_exchange_note(exchange,
                      "backend %s%s%s: the library has no stack of it; set workload.stack, or the "
                      "run takes its default",
                      safe, release ? " " : "", release ? release : "");
}

/* The values of a list; a scalar is a list of one. */
static GArray *values_of(OrrExchange *exchange, const OrrNode *worker, const char *key) {
  GArray *values = g_array_new(FALSE, FALSE, sizeof(gint64));
  const OrrNode *list = worker ? orr_node_get(worker, key) : NULL;
  const guint n = !list ? 0 : list->kind == ORR_NODE_LIST ? list->items->len : 1;
  for (guint i = 0; i < n && i < 64; i++) {
    const OrrNode *one = list->kind == ORR_NODE_LIST ? list->items->pdata[i] : list;
    gint64 value = 0;
    if (one->kind == ORR_NODE_SCALAR &&
        g_ascii_string_to_signed(one->text, 10, 1, 1 << 20, &value, NULL))
      g_array_append_val(values, value);
    else
      orr_diags_error(exchange->diags, one->place, "%s takes whole numbers", key);
  }
  return values;
}

static const struct { const char *key, *ours; } axes[] = {{"tp_list", "tp"}, {"pp_list", "pp"}};

/* Lists of one value are the layout, longer ones axes, which @sweep gets. */
static void write_parallel(OrrExchange *exchange, const OrrNode *worker, GString *sweep) {
  g_string_append(exchange->text, "  parallel: {");
  for (guint i = 0; i < G_N_ELEMENTS(axes); i++) {
    g_autoptr(GArray) values = values_of(exchange, worker, axes[i].key);
    const gint64 first = values->len ? g_array_index(values, gint64, 0) : 1;
    g_string_append_printf(exchange->text, "%s%s: %ld", i ? ", " : "", axes[i].ours, first);
    if (values->len < 2) continue;
    g_string_append_printf(sweep, "    workload.parallel.%s: [", axes[i].ours);
    for (guint k = 0; k < values->len; k++)
      g_string_append_printf(sweep, "%s%ld", k ? ", " : "", g_array_index(values, gint64, k));
    g_string_append(sweep, "]\n");
  }
  g_string_append(exchange->text, "}\n");
}

static void write_precision(OrrExchange *exchange, const OrrNode *worker) {
  const char *gemm = worker ? text_of(worker, "gemm_quant_mode", NULL) : NULL;
  const char *cache = worker ? text_of(worker, "kvcache_quant_mode", NULL) : NULL;
  const char *ours = !gemm || strstr(gemm, "16") ? "bf16"
                     : strstr(gemm, "fp8")       ? "fp8"
                     : strstr(gemm, "fp4")       ? "fp4"
                                                 : NULL;
  if (ours)
    g_string_append_printf(exchange->text, "  precision: %s\n", ours);
  else
    orr_diags_error(exchange->diags, worker->place,
                    "gemm_quant_mode takes float16, fp8, fp8_block or nvfp4");
  if (cache && strstr(cache, "fp8")) g_string_append(exchange->text, "  kv-dtype: fp8\n");
}

/* The question of the whole experiment. */
static char *plan_of(const char *model, const char *cluster, gint64 gpus, const double load[4]) {
  return g_strdup_printf("orrery plan serving --model %s --cluster %s --gpus %ld --input %.0f "
                         "--output %.0f --ttft %gms --tpot %gms",
                         model, cluster ? cluster : "NAME", gpus, load[0], load[1], load[2],
                         load[3]);
}

static const char *const known[] = {
    "mode",        "serving_mode", "model_name",      "model_path", "total_gpus",
    "system_name", "backend_name", "backend_version", "isl",        "osl",
    "ttft",        "tpot",         "config",          NULL};
static const char *const known_worker[] = {"gemm_quant_mode", "kvcache_quant_mode", "tp_list",
                                           "pp_list", NULL};

static void write_scenario(OrrExchange *exchange, const OrrNode *experiment, const char *model,
                           const char *device, gint64 gpus, const double load[4]) {
  const OrrNode *config = orr_node_get(experiment, "config");
  const OrrNode *worker = config ? orr_node_get(config, "worker_config") : NULL;
  g_autoptr(GString) sweep = g_string_new(NULL);
  GString *out = exchange->text;
  g_string_append_printf(out, "schema: scenario/1\nname: %s on %s, from AIConfigurator\n", model,
                         device);
  write_cluster(exchange, experiment, device, gpus);
  g_string_append_printf(out, "model: %s\nworkload:\n  kind: serving\n", model);
  write_stack(exchange, experiment);
  write_precision(exchange, worker);
  write_parallel(exchange, worker, sweep);
  g_string_append_printf(
      out,
      "  load: {kind: closed-loop, concurrency: 64}\n  requests: 512\n"
      "  input: {kind: fixed, tokens: %.0f}\n  output: {kind: fixed, tokens: %.0f}\n"
      "  slo: {ttft: %.10g ms, tpot: %.10g ms}\n",
      load[0], load[1], load[2], load[3]);
  if (sweep->len) g_string_append_printf(out, "sweep:\n  axes:\n%s", sweep->str);
  orr_exchange_note(exchange, "the load: 64 clients are assumed");
  orr_exchange_note_unknown(exchange, experiment, known, "keys that have no place here");
  if (worker)
    orr_exchange_note_unknown(exchange, worker, known_worker,
                              "worker_config keys that have no place here");
}

static void read_files(OrrExchange *exchange) {
  const OrrNode *tree = exchange->trees->pdata[0];
  const OrrNode *experiment = experiment_of(exchange, tree);
  if (!experiment) return;
  g_autofree char *model = model_of(exchange, experiment);
  g_autofree char *device = device_of(exchange, experiment);
  const gint64 gpus = (gint64)orr_exchange_number(exchange, experiment, "total_gpus", 1, 1e6, NAN);
  const double load[4] = {orr_exchange_number(exchange, experiment, "isl", 1, 1e7, 4000),
                          orr_exchange_number(exchange, experiment, "osl", 1, 1e7, 1000),
                          orr_exchange_number(exchange, experiment, "ttft", 1e-3, 1e7, 1000),
                          orr_exchange_number(exchange, experiment, "tpot", 1e-3, 1e7, 40)};
  if (!model || !device) return;
  g_autofree char *plan = plan_of(model, exchange->answers->cluster, gpus, load);
  if (strcmp(text_of(experiment, "serving_mode", ""), "agg") != 0)
    return orr_diags_error(exchange->diags, experiment->place,
                           "a search over disaggregated replicas is a question, not a scenario: %s",
                           plan);
  g_string_append_printf(exchange->text, "# The whole question: %s\n", plan);
  write_scenario(exchange, experiment, model, device, gpus, load);
}

const OrrExchangeFormat orr_exchange_aiconfigurator = {
    .name = "aiconfigurator",
    .sentence =
        "An experiment of AIConfigurator becomes a scenario of serving, its lists axes of a sweep.",
    .recognise = recognise,
    .read = read_files,
};

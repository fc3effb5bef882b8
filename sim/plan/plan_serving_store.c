/*
 * plan_serving_store.c - layouts and the rates that were tried, as rows.
 */
#include "sim/plan/plan_serving.h"

#include "sim/base/yaml.h"

typedef struct {
  gint64 layout;
  int status, bound;
  char *reason, *words, *cluster, *weights, *cache;
  OrrPlanLayout of;
} LayoutRow;

#define INT(key_, member_, sentence_) ORR_FIELD_INT(LayoutRow, key_, member_, NULL, sentence_)
#define REAL(key_, member_, unit_, sentence_)                                                      \
  ORR_FIELD_REAL(LayoutRow, key_, member_, ORR_UNIT_##unit_, NULL, sentence_)

const OrrFieldTable orr_plan_layout_table = ORR_FIELDS(
    "plan_layout", "One row per layout that plan serving considered.", LayoutRow,
    INT("layout", layout, "Number of the layout, from 0."),
    ORR_FIELD_WORD(LayoutRow, "status", status, orr_plan_status_words, NULL,
                   "measured; pruned: worse than the best, so its rate was not searched; late: a "
                   "request alone misses an objective; refused: it cannot run; failed."),
    ORR_FIELD_WORD(LayoutRow, "bound-by", bound, orr_plan_bound_words, NULL,
                   "The objective that a higher rate would miss; -: not known."),
    ORR_COLUMN_TEXT(LayoutRow, "reason", reason, "Why the layout is not measured."),
    ORR_FIELD_TEXT(LayoutRow, "words", words, NULL, "The layout in words."),
    ORR_FIELD_TEXT(LayoutRow, "cluster", cluster, NULL, "The machine."),
    ORR_FIELD_TEXT(LayoutRow, "weights", weights, NULL, "Format of the weights; none: bf16."),
    ORR_FIELD_TEXT(LayoutRow, "cache", cache, NULL, "Format of the key-value cache."),
    INT("tp", of.split.tp, "Tensor-parallel size, of replicas that prefill where roles differ."),
    INT("pp", of.split.pp, "Pipeline-parallel size."),
    INT("dp-attention", of.split.dp_attention, "Ranks of attention data parallelism."),
    INT("ep", of.split.ep, "Expert-parallel size."),
    INT("feed-gpus", of.split.feed_gpus,
        "GPUs of a replica that compute feed-forwards alone; 0: attention's GPUs do."),
    INT("micro-batches", of.split.micro_batches, "Micro-batches between the two pools of GPUs."),
    INT("prefill", of.prefill, "Replicas of a cell that only prefill; 0: all do both."),
    INT("decoders", of.decoders, "Replicas of a cell that only decode."),
    INT("decode-tp", of.decode.tp, "Tensor-parallel size of replicas that decode."),
    INT("decode-dp-attention", of.decode.dp_attention,
        "Attention data parallelism of replicas that decode."),
    INT("decode-ep", of.decode.ep, "Expert-parallel size of replicas that decode."),
    INT("decode-feed-gpus", of.decode.feed_gpus,
        "GPUs of a replica that decodes which compute feed-forwards alone."),
    INT("decode-micro-batches", of.decode.micro_batches, "Micro-batches between its pools."),
    INT("batched-tokens", of.batched_tokens, "Tokens of a step at most."),
    INT("gpus-per-cell", of.gpus, "GPUs of a cell: one replica, or replicas of both roles."),
    REAL("memory-bytes", of.memory_bytes, BYTES, "Memory in use of the fullest GPU."),
    REAL("lone-ttft-s", of.lone_ttft_s, SECONDS, "Time to the first token of a request alone."),
    REAL("lone-tpot-s", of.lone_tpot_s, SECONDS, "Its time per output token."),
    REAL("estimate-rps", of.estimate_rps, NONE,
         "Requests per second of a burst, by which layouts are ordered."),
    REAL("rate-rps", of.rate, NONE, "Highest rate of a cell within the objectives."),
    REAL("fails-rps", of.fails, NONE, "The lowest rate above rate-rps at which it misses them."),
    REAL("below-rps", of.below_rps, NONE,
         "Of a pruned layout: a rate at which it misses the objectives."),
    REAL("ttft-p99-s", of.at.ttft_p99_s, SECONDS, "ttft at that rate, 99th percentile."),
    REAL("tpot-p99-s", of.at.tpot_p99_s, SECONDS, "tpot at that rate, 99th percentile."),
    REAL("output-tokens-per-s-per-gpu", of.at.output_tokens_per_s_per_gpu, NONE,
         "Output tokens per second per GPU at that rate."),
    REAL("power-w", of.at.power_w, WATTS, "Mean power of the cell's GPUs at that rate."),
    REAL("cost-per-million-output-tokens", of.at.cost_per_million_output_tokens, NONE,
         "Cost of a million output tokens at that rate, in the currency of the prices."),
    INT("cells", of.replicas, "Cells that answer the question."),
    REAL("fleet-rate-rps", of.fleet_rate, NONE, "Rate of all cells."));

typedef struct {
  gint64 layout;
  double sure_rate, ttft_factor, tpot_factor;
  gboolean is_weak;
} SureRow;

const OrrFieldTable orr_plan_sure_table = ORR_FIELDS(
    "plan_sure", "One row per best layout of plan serving: what holds with confidence.", SureRow,
    ORR_FIELD_INT(SureRow, "layout", layout, NULL, "The layout's number."),
    ORR_FIELD_REAL(SureRow, "sure-rate-rps", sure_rate, ORR_UNIT_NONE, NULL,
                   "Rate of a cell at which a measurement meets the objectives, too, with 90 % "
                   "probability; 0: none is low enough."),
    ORR_FIELD_REAL(SureRow, "ttft-factor", ttft_factor, ORR_UNIT_NONE, NULL,
                   "Upper bound, with 90 % confidence, of a measured ttft over the simulated one."),
    ORR_FIELD_REAL(SureRow, "tpot-factor", tpot_factor, ORR_UNIT_NONE, NULL, "The same of tpot."),
    ORR_FIELD_BOOL(SureRow, "weak", is_weak, NULL, "Whether those bands are weak."));

typedef struct {
  gint64 layout;
  OrrPlanRate of;
} RateRow;

#define RATE(key_, member_, unit_, sentence_)                                                      \
  ORR_FIELD_REAL(RateRow, key_, member_, ORR_UNIT_##unit_, NULL, sentence_)

const OrrFieldTable orr_plan_rate_table = ORR_FIELDS(
    "plan_rate",
    "One row per rate that plan serving tried on a layout; of the best layouts the last one is a "
    "cell's part of its fleet's rate.",
    RateRow, ORR_FIELD_INT(RateRow, "layout", layout, NULL, "The layout's number."),
    RATE("rate-rps", of.rate, NONE, "Requests per second that arrive at the cell."),
    ORR_FIELD_BOOL(RateRow, "meets", of.meets, NULL, "Whether the objectives are met."),
    RATE("fraction", of.fraction, FRACTION, "Fraction of the requests within the objectives."),
    RATE("goodput-rps", of.goodput_rps, NONE, "Requests per second within the objectives."),
    RATE("ttft-p99-s", of.ttft_p99_s, SECONDS, "ttft, 99th percentile."),
    RATE("tpot-p99-s", of.tpot_p99_s, SECONDS, "tpot, 99th percentile."),
    RATE("tpot-mean-s", of.tpot_mean_s, SECONDS, "tpot, mean."),
    RATE("output-tokens-per-s-per-gpu", of.output_tokens_per_s_per_gpu, NONE,
         "Output tokens per second per GPU."),
    RATE("power-w", of.power_w, WATTS, "Mean power of the cell's GPUs."),
    RATE("cost-per-million-output-tokens", of.cost_per_million_output_tokens, NONE,
         "Cost of a million output tokens."));

/* --- The question --- */

static void G_GNUC_PRINTF(3, 4) say(OrrNode *map, const char *key, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  orr_node_set(map, key, orr_node_new_scalar(map->place, text));
}

static void say_all(OrrNode *map, const char *key, char **words) {
  OrrNode *list = orr_node_new_list(map->place);
  for (; words && *words; words++) orr_node_append(list, orr_node_new_scalar(map->place, *words));
  orr_node_set(map, key, list);
}

static void say_load(OrrNode *map, const OrrPlanServing *asked) {
  const OrrPlanTrace *trace = asked->trace;
  if (trace) {
    say(map, "trace", "%s", trace->file);
    say(map, "trace-kind", "%s", trace->kind);
    say(map, "trace-sha256", "%s", trace->hash);
  } else {
    say(map, "input", "%ld", asked->input_tokens);
    say(map, "output", "%ld", asked->output_tokens);
  }
}

/* The question as YAML; the list of layouts follows from it. */
static char *question_text(const OrrPlanServing *asked, guint n_layouts) {
  g_autoptr(OrrNode) map = orr_node_new_map((OrrPlace){"plan serving", 0, 0, NULL});
  say(map, "model", "%s", asked->model);
  g_autofree char *stacks = orr_plan_serving_stack_words(asked);
  say(map, "stack", "%s", stacks);
  say(map, "prices", "%s", asked->prices ? asked->prices : "none");
  say_all(map, "clusters", asked->clusters);
  say_all(map, "weights", asked->formats);
  say_all(map, "caches", asked->caches);
  say_all(map, "set", asked->settings);
  say(map, "gpus", "%ld", asked->gpus);
  say(map, "rate", "%.17g", asked->rate);
  say_load(map, asked);
  say(map, "ttft", "%.17g s", asked->ttft_s);
  say(map, "tpot", "%.17g s", asked->tpot_s);
  say(map, "fraction", "%.17g", asked->fraction);
  say(map, "exhaustive", "%s", asked->exhaustive ? "true" : "false");
  say(map, "layouts", "%u", n_layouts);
  say(map, "best", "by whole fleets"); /* as rows of the best layouts are stored */
  return orr_yaml_text(map);
}

/* Of the question, and of what it names as the library has it: the first layout of each machine,
 * resolved. */
static char *hash_of(OrrLibrary *library, const OrrPlanServing *asked, const GArray *layouts,
                     const char *question) {
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  const OrrPlanLoad load = {.rate = 1};
  g_checksum_update(sum, (const guchar *)ORR_VERSION, -1);
  g_checksum_update(sum, (const guchar *)question, -1);
  for (guint i = 0, cluster = G_MAXUINT; i < layouts->len; i++) {
    const OrrPlanLayout *layout = &g_array_index(layouts, OrrPlanLayout, i);
    if (layout->cluster == cluster) continue;
    cluster = layout->cluster;
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_plan_serving_tree(library, asked, layout, 1, &load, NULL);
    g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read_fields(library, tree, diags) : NULL;
    g_autofree char *resolved = scenario ? orr_scenario_resolved(scenario) : NULL;
    if (resolved) g_checksum_update(sum, (const guchar *)resolved, -1);
  }
  char *hash = g_strdup(g_checksum_get_string(sum));
  g_checksum_free(sum);
  return hash;
}

/* --- Rows that are there --- */

static double number(const char *cell) { return cell ? g_ascii_strtod(cell, NULL) : NAN; }

static int word_of(const char *cell, const char *const *words) {
  for (int i = 0; words[i]; i++)
    if (g_strcmp0(cell, words[i]) == 0) return i;
  return 0;
}

static void recall_layout(char **cells, GArray *layouts) {
  const guint index = (guint)number(cells[0]);
  if (index >= layouts->len) return;
  OrrPlanLayout *layout = &g_array_index(layouts, OrrPlanLayout, index);
  layout->status = word_of(cells[1], orr_plan_status_words);
  g_strlcpy(layout->why, cells[2] ? cells[2] : "", sizeof layout->why);
  double *const members[] = {&layout->memory_bytes, &layout->lone_ttft_s, &layout->lone_tpot_s,
                             &layout->estimate_rps, &layout->rate,        &layout->below_rps,
                             &layout->fails};
  for (guint i = 0; i < G_N_ELEMENTS(members); i++) *members[i] = number(cells[3 + i]);
  layout->bound = word_of(cells[3 + G_N_ELEMENTS(members)], orr_plan_bound_words);
  layout->sure_rate = layout->ttft_factor = layout->tpot_factor = NAN;
}

static void recall_sure(char **cells, GArray *layouts) {
  const guint index = (guint)number(cells[0]);
  if (index >= layouts->len) return;
  OrrPlanLayout *layout = &g_array_index(layouts, OrrPlanLayout, index);
  layout->sure_rate = number(cells[1]);
  layout->ttft_factor = number(cells[2]);
  layout->tpot_factor = number(cells[3]);
  layout->is_weak = number(cells[4]) > 0;
  layout->is_assured = TRUE;
  if (layout->n_rates == 0) return;
  layout->at = layout->rates[layout->n_rates - 1]; /* as add_rows stores it */
  layout->rate = layout->at.rate;
}

static void recall_rate(char **cells, GArray *layouts) {
  const guint index = (guint)number(cells[0]);
  if (index >= layouts->len) return;
  OrrPlanLayout *layout = &g_array_index(layouts, OrrPlanLayout, index);
  if (layout->n_rates == ORR_PLAN_MOST_RATES) layout->n_rates--;
  OrrPlanRate *rate = &layout->rates[layout->n_rates++];
  double *const members[] = {&rate->rate,
                             &rate->fraction,
                             &rate->goodput_rps,
                             &rate->ttft_p99_s,
                             &rate->tpot_p99_s,
                             &rate->tpot_mean_s,
                             &rate->output_tokens_per_s_per_gpu,
                             &rate->power_w,
                             &rate->cost_per_million_output_tokens};
  for (guint i = 0; i < G_N_ELEMENTS(members); i++) *members[i] = number(cells[2 + i]);
  rate->meets = number(cells[1]) > 0;
  if (rate->rate == layout->rate) layout->at = *rate;
}

/* What was stored of each layout; a search that was ended may lack the later tables. */
static const struct {
  const OrrFieldTable *table;
  const char *columns;
  void (*take)(char **cells, GArray *layouts);
} recalls[] = {
    {&orr_plan_layout_table,
     "layout, status, reason, memory_bytes, lone_ttft_s, lone_tpot_s, estimate_rps, rate_rps, "
     "below_rps, fails_rps, bound_by",
     recall_layout},
    {&orr_plan_rate_table,
     "layout, meets, rate_rps, fraction, goodput_rps, ttft_p99_s, tpot_p99_s, tpot_mean_s, "
     "output_tokens_per_s_per_gpu, power_w, cost_per_million_output_tokens",
     recall_rate},
    {&orr_plan_sure_table, "layout, sure_rate_rps, ttft_factor, tpot_factor, weak", recall_sure},
};

static gboolean has_table(OrrStore *store, const char *name, gboolean *ret_has, GError **error) {
  const OrrBinding bindings[] = {{"name", name}};
  g_autoptr(OrrAnswer) answer = orr_store_ask(
      store, "SELECT count(*) FROM sqlite_schema WHERE name = :name", 0, bindings, 1, error);
  if (answer) *ret_has = strcmp(((char **)answer->rows->pdata[0])[0], "0") != 0;
  return answer != NULL;
}

static gboolean recall_all(OrrStore *store, gint64 run, GArray *layouts, guint *ret_n,
                           GError **error) {
  for (guint i = 0; i < G_N_ELEMENTS(recalls); i++) {
    gboolean has = FALSE;
    if (!has_table(store, recalls[i].table->name, &has, error)) return FALSE;
    if (!has) continue;
    g_autofree char *sql = g_strdup_printf("SELECT %s FROM %s WHERE run_id = :run",
                                           recalls[i].columns, recalls[i].table->name);
    g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, run, error);
    if (!answer) return FALSE;
    for (guint row = 0; row < answer->rows->len; row++)
      recalls[i].take(answer->rows->pdata[row], layouts);
    if (i == 0) *ret_n = answer->rows->len;
  }
  return TRUE;
}

/* The newest plan of the same question that has layouts; 0: none. */
static gboolean find(OrrStore *store, const char *hash, gint64 *ret_run, GError **error) {
  const OrrBinding bindings[] = {{"hash", hash}};
  *ret_run = 0;
  g_autoptr(OrrAnswer) answer =
      orr_store_ask(store, "SELECT max(id) FROM run WHERE kind = 'plan' AND hash = :hash", 0,
                    bindings, G_N_ELEMENTS(bindings), error);
  if (!answer) return FALSE;
  const char *id = ((char **)answer->rows->pdata[0])[0];
  if (id) *ret_run = g_ascii_strtoll(id, NULL, 10);
  return TRUE;
}

gboolean orr_plan_serving_store_begin(OrrStore *store, OrrLibrary *library,
                                      const OrrPlanServing *asked, GArray *layouts, gint64 *ret_run,
                                      guint *ret_n_known, GError **error) {
  g_autofree char *question = question_text(asked, layouts->len);
  g_autofree char *hash = hash_of(library, asked, layouts, question);
  g_autofree char *name = g_strdup_printf("Serving %s", asked->model);
  *ret_n_known = 0;
  if (!find(store, hash, ret_run, error)) return FALSE;
  if (*ret_run > 0) return recall_all(store, *ret_run, layouts, ret_n_known, error);
  const OrrRunFacts facts = {.scenario = name,
                             .kind = "plan",
                             .file = "plan serving",
                             .hash = hash,
                             .resolved = question,
                             .tool_version = ORR_VERSION,
                             .engine = "fair",
                             .fidelity = "folded"};
  return orr_store_begin_run(store, &facts, ret_run, error) && orr_store_end_run(store, 0, error);
}

/* --- Rows that are new --- */

static gboolean add_layout(OrrStore *store, const OrrPlanServing *asked, guint index,
                           const OrrPlanLayout *layout, GError **error) {
  g_autofree char *words = orr_plan_serving_words(asked, layout);
  LayoutRow row = {.layout = index,
                   .status = layout->status,
                   .bound = layout->bound,
                   .reason = *layout->why ? (char *)layout->why : NULL,
                   .words = words,
                   .cluster = asked->clusters[layout->cluster],
                   .weights = asked->formats[layout->format],
                   .cache = asked->caches[layout->cache],
                   .of = *layout};
  orr_plan_serving_size(asked, &row.of);
  if (!orr_store_add_row(store, &orr_plan_layout_table, &row, error)) return FALSE;
  for (guint i = 0; i < layout->n_rates; i++) {
    const RateRow rate = {index, layout->rates[i]};
    if (!orr_store_add_row(store, &orr_plan_rate_table, &rate, error)) return FALSE;
  }
  return TRUE;
}

/* A layout that is asked for confidence was stored when it was measured. */
static gboolean add_rows(OrrStore *store, const OrrPlanServing *asked, guint index,
                         const OrrPlanLayout *layout, GError **error) {
  const SureRow sure = {index, layout->sure_rate, layout->ttft_factor, layout->tpot_factor,
                        layout->is_weak};
  if (!layout->is_assured) return add_layout(store, asked, index, layout, error);
  const RateRow rate = {index, layout->at}; /* of one cell of the fleet */
  return orr_store_add_row(store, &orr_plan_rate_table, &rate, error) &&
         orr_store_add_row(store, &orr_plan_sure_table, &sure, error);
}

gboolean orr_plan_serving_store_layout(OrrStore *store, gint64 run, const OrrPlanServing *asked,
                                       guint index, const OrrPlanLayout *layout, GError **error) {
  if (!orr_store_begin_batch(store, error)) return FALSE;
  if (orr_store_begin_again(store, run, error) && add_rows(store, asked, index, layout, error) &&
      orr_store_end_again(store, error))
    return orr_store_end_batch(store, error);
  orr_store_abandon_batch(store);
  return FALSE;
}

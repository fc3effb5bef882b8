/*
 * plan_serving_layouts.c - the layouts of an engine that a question could have, in an order that
 * depends on the question alone.
 */
#include "sim/plan/plan.h"
#include "sim/plan/plan_serving.h"
#include "workloads/stack.h"

enum {
  MOST_TP = 16,   /* of a domain's GPUs */
  MOST_PP = 8,    /* vLLM's users rarely go beyond a few nodes */
  MOST_WIDE = 64, /* GPUs of attention data parallelism */
  MOST_CELL = 32, /* GPUs of a cell with separate prefill and decode, where nobody says how many */
  MOST_ROLES = 4  /* replicas of such a cell */
};

/* Tokens of a step: small chunks keep decodes short, large ones compute prompts at once. */
static const gint64 budgets[] = {8192, 2048, 512};

char *orr_plan_serving_stack(OrrLibrary *library, const char *asked, const char *cluster) {
  char *found =
      asked ? orr_stack_resolve(library, asked) : orr_plan_stack(library, "serving", cluster);
  return found ? found : g_strdup(asked);
}

const char *orr_plan_serving_stack_of(const OrrPlanServing *asked, const OrrPlanLayout *layout) {
  return asked->stacks ? asked->stacks[layout->cluster] : asked->stack;
}

char *orr_plan_serving_stack_words(const OrrPlanServing *asked) {
  g_autoptr(GPtrArray) words = g_ptr_array_new();
  for (char **name = asked->stacks; name && *name; name++)
    if (!g_ptr_array_find_with_equal_func(words, *name, g_str_equal, NULL))
      g_ptr_array_add(words, *name);
  if (words->len == 0) return g_strdup(asked->stack);
  g_ptr_array_add(words, NULL);
  return g_strjoinv(", ", (char **)words->pdata);
}

/* --- Formats and machines --- */

static void add_format(GPtrArray *formats, const char *word) {
  for (guint i = 0; i < formats->len; i++)
    if (strcmp(formats->pdata[i], word) == 0) return;
  g_ptr_array_add(formats, g_strdup(word));
}

char **orr_plan_serving_formats(OrrLibrary *library, const char *model, const char *stack,
                                GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrNode *tree = orr_library_borrow(library, "model", model, (OrrPlace){0}, diags);
  if (!tree) {
    orr_diags_check(diags, error);
    return NULL;
  }
  g_autoptr(GPtrArray) formats = g_ptr_array_new();
  const OrrNode *aliases = orr_node_get(tree, "aliases");
  const guint n = aliases && aliases->kind == ORR_NODE_LIST ? orr_node_length(aliases) : 0;
  gboolean has_fp8 = FALSE;
  for (guint i = 0; i < n; i++) {
    const char *text = ((const OrrNode *)aliases->items->pdata[i])->text;
    const char *word = text ? strchr(text, ' ') : NULL;
    add_format(formats, word ? word + 1 : "none");
    has_fp8 = has_fp8 || (word && g_str_has_prefix(word + 1, "fp8"));
  }
  if (n == 0) add_format(formats, "none");
  if (!has_fp8 && (g_str_has_prefix(stack, "vllm") || g_str_has_prefix(stack, "sglang")) &&
      strcmp(formats->pdata[0], "none") == 0)
    add_format(formats, "fp8"); /* cast when the weights are loaded */
  g_ptr_array_add(formats, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&formats), FALSE);
}

char *orr_plan_serving_machine(OrrLibrary *library, const char *device, GError **error) {
  g_auto(GStrv) names = orr_library_names(library, "cluster");
  g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func(g_free);
  const char *first = NULL, *dgx = NULL;
  for (char **name = names; *name; name++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    const OrrNode *tree = orr_library_borrow(library, "cluster", *name, (OrrPlace){0}, diags);
    const char *own = tree ? orr_node_get_text(tree, "device") : NULL;
    if (own) add_format(devices, own);
    if (g_strcmp0(own, device) != 0) continue;
    if (!first) first = *name;
    if (!dgx && g_str_has_prefix(*name, "dgx-")) dgx = *name;
  }
  if (first) return g_strdup(dgx ? dgx : first);
  g_ptr_array_add(devices, NULL);
  g_autofree char *known = g_strjoinv(", ", (char **)devices->pdata);
  return orr_fault_null(
      error, ORR_FAULT_USAGE,
      "--device: no cluster of the library has device '%s' (clusters have: %s); name "
      "the machine with --cluster",
      device, known);
}

/* --- Layouts --- */

typedef struct {
  const OrrPlanServing *asked;
  const OrrScenario *scenario; /* of one GPU, for sizes */
  OrrPlanLayout layout;        /* what is chosen so far */
  GArray *layouts;
} Choice;

static gint64 gpus_of(const OrrPlanSplit *split) {
  return split->tp * split->pp * split->dp_attention + split->feed_gpus;
}

static void add_budgets(Choice *choice) {
  for (guint i = 0; i < G_N_ELEMENTS(budgets); i++) {
    if (i > 0 && choice->asked->input_tokens <= budgets[i]) continue; /* never cut */
    choice->layout.batched_tokens = budgets[i];
    g_array_append_val(choice->layouts, choice->layout);
  }
}

static gint64 most_gpus(const Choice *choice, gint64 otherwise) {
  return choice->asked->gpus ? choice->asked->gpus : otherwise;
}

static void add_split(Choice *choice, GArray *splits, OrrPlanSplit split) {
  if (gpus_of(&split) > most_gpus(choice, MOST_WIDE)) return;
  g_array_append_val(splits, split);
}

/* Tensor and pipeline parallelism, with experts split or whole. Pipelines go from one NVLink domain
 * to the next, or over GPUs without NVLink, as vLLM's documents advise: inside a domain a request
 * takes longer by pp stages than by tp. */
static void add_tensor(Choice *choice, GArray *splits, gint64 domain) {
  const OrrModel *model = &choice->scenario->model;
  const gboolean has_domain = choice->scenario->cluster.node.scale_up_domain > 1;
  for (gint64 tp = 1; tp <= domain && model->heads % tp == 0; tp *= 2)
    for (gint64 pp = 1; pp <= MIN(MOST_PP, model->layers); pp *= 2) {
      if (pp > 1 && has_domain && 2 * tp <= domain && model->heads % (2 * tp) == 0) break;
      add_split(choice, splits, (OrrPlanSplit){tp, pp, 1, 1});
      if (model->moe.experts > 1 && tp > 1)
        add_split(choice, splits, (OrrPlanSplit){tp, pp, 1, tp});
    }
}

/* Attention's data parallelism, with experts over all ranks. */
static void add_groups(Choice *choice, GArray *splits, gint64 domain) {
  const OrrModel *model = &choice->scenario->model;
  if (model->moe.experts < 2) return;
  for (gint64 tp = 1; tp <= domain && model->heads % tp == 0; tp *= 2)
    for (gint64 dp = 2; tp * dp <= MIN(MOST_WIDE, model->moe.experts); dp *= 2)
      add_split(choice, splits, (OrrPlanSplit){tp, 1, dp, tp * dp});
}

/* Attention on tp dp GPUs, whole experts on as many others as divide them: their ratio is what is
 * searched. One micro-batch leaves one pool idle while the other computes. */
static void add_pools(Choice *choice, GArray *splits, gint64 domain) {
  const OrrModel *model = &choice->scenario->model;
  const gint64 most = MIN(MOST_WIDE, model->moe.experts);
  for (gint64 tp = 1; tp <= domain && model->heads % tp == 0; tp *= 2)
    for (gint64 dp = 1; tp * dp <= MOST_WIDE; dp *= 2)
      for (gint64 feed = 1; feed <= most; feed *= 2)
        for (gint64 m = 2; m <= 3; m++)
          add_split(choice, splits, (OrrPlanSplit){tp, 1, dp, feed, feed, m});
}

static GArray *splits_of(Choice *choice) {
  const OrrCluster *cluster = &choice->scenario->cluster;
  const gint64 domain = MIN(MAX(cluster->node.scale_up_domain, 1), MOST_TP);
  GArray *splits = g_array_new(FALSE, FALSE, sizeof(OrrPlanSplit));
  /* without NVLink the node's GPUs are the domain */
  const gint64 node = MIN(MAX(cluster->node.gpus, domain), MOST_TP);
  add_tensor(choice, splits, node);
  add_groups(choice, splits, node);
  if (choice->asked->has_pools && choice->scenario->model.moe.experts > 1)
    add_pools(choice, splits, node);
  return splits;
}

static gint64 divisor(gint64 a, gint64 b) { return b == 0 ? a : divisor(b, a % b); }

/* Replicas that prefill and replicas that decode, up to MOST_ROLES in all; prompts are computed
 * alone, so the budget is the largest. */
static void add_roles(Choice *choice, const OrrPlanSplit *prefill, const OrrPlanSplit *decode) {
  OrrPlanLayout layout = choice->layout;
  for (gint64 n = 2; n <= MOST_ROLES; n++)
    for (gint64 p = 1; p < n; p++) {
      layout.split = *prefill;
      layout.decode = *decode;
      layout.prefill = p;
      layout.decoders = n - p;
      layout.batched_tokens = budgets[0];
      layout.gpus = p * gpus_of(prefill) + (n - p) * gpus_of(decode);
      if (divisor(p, n - p) == 1 && layout.gpus <= most_gpus(choice, MOST_CELL))
        g_array_append_val(choice->layouts, layout);
    }
}

/* Pipelines hold a request longer than they speed it up: roles have none. Only decodes have pools
 * of feed-forwards. */
static void add_all_roles(Choice *choice, const GArray *splits) {
  ORR_EACH(const OrrPlanSplit, prefill, splits)
    ORR_EACH(const OrrPlanSplit, decode, splits) {
      if (prefill->pp == 1 && decode->pp == 1 && prefill->feed_gpus == 0)
        add_roles(choice, prefill, decode);
    }
}

static void add_machine(Choice *choice, char *const *own_formats) {
  g_autoptr(GArray) splits = splits_of(choice);
  const OrrPlanServing *asked = choice->asked;
  for (guint format = 0; asked->formats[format]; format++) {
    if (!g_strv_contains((const char *const *)own_formats, asked->formats[format])) continue;
    for (guint cache = 0; asked->caches[cache]; cache++) {
      choice->layout.format = format;
      choice->layout.cache = cache;
      for (guint i = 0; i < splits->len; i++) {
        choice->layout.split = g_array_index(splits, OrrPlanSplit, i);
        choice->layout.gpus = gpus_of(&choice->layout.split);
        add_budgets(choice);
      }
      if (!asked->is_whole) add_all_roles(choice, splits);
    }
  }
}

GArray *orr_plan_serving_layouts(OrrLibrary *library, const OrrPlanServing *asked, GError **error) {
  g_autoptr(GArray) layouts = g_array_new(FALSE, TRUE, sizeof(OrrPlanLayout));
  for (guint i = 0; asked->clusters[i]; i++) {
    const OrrPlanLayout one = {.cluster = i, .split = {1, 1, 1, 1}, .gpus = 1};
    const OrrPlanLoad load = {.rate = 1, .requests = 1};
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_plan_serving_tree(library, asked, &one, 1, &load, error);
    g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read_fields(library, tree, diags) : NULL;
    if (!scenario) {
      if (tree) orr_diags_check(diags, error);
      return NULL;
    }
    g_auto(GStrv) formats =
        asked->has_all_formats
            ? orr_plan_serving_formats(library, asked->model,
                                       orr_plan_serving_stack_of(asked, &one), error)
            : g_strdupv(asked->formats);
    if (!formats) return NULL;
    Choice choice = {asked, scenario, one, layouts};
    add_machine(&choice, formats);
  }
  return g_steal_pointer(&layouts);
}

/* --- Words --- */

static void add_words(GString *text, const OrrPlanSplit *split) {
  g_string_append_printf(text, "tp %ld", split->tp);
  if (split->pp > 1) g_string_append_printf(text, ", pp %ld", split->pp);
  if (split->dp_attention > 1)
    g_string_append_printf(text, ", dp-attention %ld", split->dp_attention);
  if (split->ep > 1) g_string_append_printf(text, ", ep %ld", split->ep);
  if (split->feed_gpus > 0)
    g_string_append_printf(text, " with %ld GPUs of feed-forwards, %ld micro-batches",
                           split->feed_gpus, split->micro_batches);
}

/* "tp 8", "2 prefill + 2 decode of tp 4": newly allocated. */
static char *split_of(const OrrPlanLayout *layout) {
  GString *text = g_string_new(NULL);
  if (layout->prefill) g_string_append_printf(text, "%ld prefill ", layout->prefill);
  add_words(text, &layout->split);
  if (layout->prefill) {
    g_string_append_printf(text, " + %ld decode ", layout->decoders);
    add_words(text, &layout->decode);
  }
  return g_string_free(text, FALSE);
}

char *orr_plan_serving_words(const OrrPlanServing *asked, const OrrPlanLayout *layout) {
  g_autofree char *split = split_of(layout);
  const char *format = asked->formats[layout->format];
  return g_strdup_printf(
      "%s, weights %s, cache %s, %ld tokens per step%s%s", split,
      strcmp(format, "none") == 0 ? "bf16" : format, asked->caches[layout->cache],
      layout->batched_tokens, g_strv_length(asked->clusters) > 1 ? ", " : "",
      g_strv_length(asked->clusters) > 1 ? asked->clusters[layout->cluster] : "");
}

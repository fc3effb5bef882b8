/*
 * launch_scenario.c - completes a draft: the machine, the kind of workload, the stack; and returns
 * the scenario, or all that is wrong or missing.
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_private.h"
#include "topologies/fabrics/sizes.h"
#include "workloads/stack.h"

static void set_number(OrrLaunchDraft *draft, const char *path, gint64 number, const char *from) {
  orr_launch_draft_set_number(draft, path, number, NULL, from);
}

static gboolean has_below(const OrrLaunchDraft *draft, const char *path) {
  const gsize length = strlen(path);
  ORR_EACH_POINTER(const OrrLaunchLine, line, draft->lines)
    if (strncmp(line->path, path, length) == 0 && strchr(".", line->path[length])) return TRUE;
  return FALSE;
}

/* The number at @key of the nodes of cluster @name; 0 with an error where the library lacks it. */
static gint64 node_number(OrrLaunchDraft *draft, const char *name, const char *key) {
  const OrrPlace place = {.file = g_intern_string("--cluster")};
  double number = 0;
  const OrrNode *tree = orr_library_borrow(draft->library, "cluster", name, place, draft->diags);
  const char *text = tree ? orr_node_get_text(orr_node_get(tree, "node"), key) : NULL;
  return text && orr_quantity_parse(text, ORR_UNIT_NONE, &number, NULL) ? (gint64)number : 0;
}

/* Whole nodes where @gpus fill them, else a part of the last. */
static void set_gpus(OrrLaunchDraft *draft, gint64 gpus, gint64 per_node, const char *from) {
  if (per_node && gpus % per_node == 0)
    return set_number(draft, "cluster.nodes", gpus / per_node, from);
  set_number(draft, "cluster.nodes", 0, "as many as its GPUs need");
  set_number(draft, "cluster.gpus", gpus, from);
}

static void assume_size(OrrLaunchDraft *draft) {
  const OrrLaunchOptions *options = draft->options;
  if (options->gpus || options->nodes || draft->nodes > 0) return;
  orr_launch_draft_assume_gpus(draft, orr_launch_draft_degree(draft, "workload.parallel.tp") *
                                          orr_launch_draft_degree(draft, "workload.parallel.pp") *
                                          orr_launch_draft_degree(draft, "workload.parallel.cp"));
}

/* The launcher has several nodes with fewer GPUs than the cluster's: fewer full nodes would have
 * fewer NICs for each GPU. */
static gboolean keeps_nodes(const OrrLaunchDraft *draft, gint64 per_node) {
  return draft->nodes > 1 && draft->gpus_per_node > 0 && draft->gpus_per_node < per_node;
}

static void keep_nodes(OrrLaunchDraft *draft, const char *name, gint64 per_node, const char *from) {
  set_number(draft, "cluster.nodes", draft->nodes, from);
  set_number(draft, "cluster.node.gpus", draft->gpus_per_node, from);
  if (node_number(draft, name, "scale-up-domain") == per_node)
    set_number(draft, "cluster.node.scale-up-domain", draft->gpus_per_node, "the node's GPUs");
  orr_launch_draft_remark(draft,
                          "assumed: %ld nodes of %ld GPUs, as the launcher has them, each GPU with "
                          "its own NICs; a node of "
                          "%s has %ld",
                          draft->nodes, draft->gpus_per_node, name, per_node);
}

/* The launcher's nodes are larger than the cluster's. */
static void remark_nodes(OrrLaunchDraft *draft, const char *name, gint64 per_node) {
  if (draft->nodes > 1 && per_node > 0 && draft->gpus_per_node > per_node)
    orr_launch_draft_remark(
        draft,
        "assumed: the launcher's %ld nodes of %ld GPUs are nodes of %s, which have "
        "%ld",
        draft->nodes, draft->gpus_per_node, name, per_node);
}

static void complete_size(OrrLaunchDraft *draft, const char *name) {
  const OrrLaunchOptions *options = draft->options;
  const gint64 per_node = node_number(draft, name, "gpus");
  assume_size(draft);
  const gint64 gpus = orr_launch_draft_gpus(draft);
  g_autofree char *from =
      draft->gpus_from ? g_strdup_printf("%s, %s", draft->nodes_from ? draft->nodes_from : "1 node",
                                         draft->gpus_from)
                       : g_strdup(draft->nodes_from);
  if (options->gpus)
    set_gpus(draft, options->gpus, per_node, "--gpus");
  else if (options->nodes)
    set_number(draft, "cluster.nodes", options->nodes, "--nodes");
  else if (gpus > 0 && keeps_nodes(draft, per_node))
    keep_nodes(draft, name, per_node, from);
  else if (gpus > 0)
    set_gpus(draft, gpus, per_node, from);
  else if (draft->nodes > 0)
    set_number(draft, "cluster.nodes", draft->nodes, draft->nodes_from);
  else
    orr_launch_draft_ask(draft, "on how many GPUs? Add --gpus N or --nodes N");
  if (!options->gpus && !options->nodes) remark_nodes(draft, name, per_node);
}

/* Fewer chips than a torus has are a slice of their own: of powers of two, the nearest to a
 * cube, as Google Cloud's topologies of TPUs are. */
static void set_slice(OrrLaunchDraft *draft, const char *name) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  gint64 size[3] = {1, 1, 1}, whole = 1, made = 1;
  const gint64 per_node = MAX(node_number(draft, name, "gpus"), 1);
  const char *some = orr_launch_draft_get(draft, "cluster.gpus"),
             *nodes = orr_launch_draft_get(draft, "cluster.nodes");
  const gint64 gpus = some ? g_ascii_strtoll(some, NULL, 10)
                           : (nodes ? g_ascii_strtoll(nodes, NULL, 10) : 0) * per_node;
  const OrrNode *tree = orr_library_borrow(draft->library, "cluster", name, (OrrPlace){0}, ignored);
  const OrrNode *fabric = tree ? orr_node_get(tree, "fabric") : NULL;
  const char *shape = fabric ? orr_node_get_text(fabric, "shape") : NULL;
  if (!shape || g_strcmp0(orr_node_get_text(fabric, "kind"), "torus") != 0) return;
  const guint n = orr_sizes_parse("shape", shape, 3, size, NULL);
  const gint64 chips = (gpus + per_node - 1) / per_node * per_node;
  for (guint i = 0; i < n; i++) whole *= size[i];
  if (n < 1 || chips < 1 || chips >= whole || (chips & (chips - 1)) != 0) return;
  for (guint i = 0; i < n; i++) size[i] = 1;
  for (; made < chips; made *= 2) {
    guint least = 0;
    for (guint i = 1; i < n; i++)
      if (size[i] < size[least]) least = i;
    size[least] *= 2;
  }
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < n; i++) g_string_append_printf(text, "%s%ld", i ? "x" : "", size[i]);
  orr_launch_draft_assume(draft, "cluster.fabric.shape", text->str,
                          "a slice of its own, with links around each axis",
                          "which shape has the slice? Give --cluster FILE with fabric.shape");
}

static void complete_cluster(OrrLaunchDraft *draft) {
  const char *name = draft->options->cluster;
  if (name) orr_launch_draft_set(draft, "cluster.base", name, NULL, "--cluster");
  name = orr_launch_draft_get(draft, "cluster.base");
  if (!name)
    return orr_launch_draft_ask(draft,
                                "on which cluster? Add --cluster NAME ('orrery list clusters')");
  if (!orr_launch_draft_get(draft, "cluster.nodes") && !orr_launch_draft_get(draft, "cluster.gpus"))
    complete_size(draft, name);
  set_slice(draft, name);
}

static void complete_model(OrrLaunchDraft *draft) {
  if (draft->options->model)
    orr_launch_draft_set(draft, "model", draft->options->model, NULL, "--model");
  if (!has_below(draft, "model") && !draft->asks_model)
    orr_launch_draft_assume(draft, "model", "llama-3.1-8b",
                            "since the input names none; --model NAME says another",
                            "which model? Add --model NAME ('orrery list models')");
}

/* The first dialect with a kind (or a stack) decides; of the kind a trainer, before what starts
 * it. */
static const OrrLaunchDialect *deciding(const OrrLaunchDraft *draft, gboolean by_stack) {
  const OrrLaunchDialect *first = NULL;
  for (guint i = 0; i < draft->settings->len; i++) {
    const OrrLaunchDialect *dialect = ((OrrLaunchSetting *)draft->settings->pdata[i])->dialect;
    if (!by_stack && dialect->kind && dialect->is_trainer) return dialect;
    if (!first && (by_stack ? dialect->stack : dialect->kind)) first = dialect;
  }
  return first;
}

/* The stack of NeMo's image @release; the oldest where that is older still. Newly allocated. */
static char *stack_of_image(OrrLaunchDraft *draft, const char *release) {
  /* images older than the one that gave their stack its number: the stacks' summaries */
  static const char *const later[][2] = {{"24.09", "24.11"}, {"26.02", "26.02.01"}};
  for (guint i = 0; i < G_N_ELEMENTS(later); i++)
    if (strcmp(release, later[i][0]) == 0) release = later[i][1];
  g_autofree char *asked = g_strdup_printf("megatron-core-%s", release);
  char *named = orr_stack_resolve(draft->library, asked);
  g_auto(GStrv) names = orr_library_names(draft->library, "stack"); /* sorted */
  for (char **name = names; *name && !named; name++)
    if (g_str_has_prefix(*name, "megatron-core-2")) named = g_strdup(*name);
  return named;
}

/* By the image's release, else the newest of @family. */
static void complete_stack(OrrLaunchDraft *draft, const char *family) {
  const char *release = strcmp(family, "megatron-core") == 0 ? draft->release : NULL;
  g_autofree char *of_image = g_strdup_printf("the nearest known to image nvidia/nemo:%s", release);
  g_autofree char *name =
      release ? stack_of_image(draft, release) : orr_stack_newest(draft->library, family);
  if (name)
    orr_launch_draft_set(draft, "workload.stack", name, NULL,
                         release ? of_image : "the newest known: the input names no version");
}

static void complete_workload(OrrLaunchDraft *draft) {
  const OrrLaunchDialect *kind = deciding(draft, FALSE), *stack = deciding(draft, TRUE);
  if (kind && stack && g_strcmp0(kind->kind, stack->kind) != 0) stack = NULL;
  if (kind && !orr_launch_draft_get(draft, "workload.kind"))
    orr_launch_draft_set(draft, "workload.kind", kind->kind, NULL, kind->name);
  if (draft->options->stack) {
    orr_launch_draft_set(draft, "workload.stack", draft->options->stack, NULL, "--stack");
  } else if (stack && !orr_launch_draft_get(draft, "workload.stack")) {
    complete_stack(draft, stack->stack);
  }
  if (!kind || g_strcmp0(orr_launch_draft_get(draft, "workload.kind"), "training") != 0 ||
      orr_launch_draft_get(draft, "workload.stack"))
    return;
  g_autofree char *why = g_strdup_printf("no stack of %s is known", kind->name);
  orr_launch_draft_set(draft, "workload.stack", "none", NULL, why);
  orr_launch_draft_remark(draft,
                          "No stack of %s is known: kernels and links alone are simulated, "
                          "and the host's time is not.",
                          kind->name);
}

/* The first source's base name without its ending. */
static void complete_name(OrrLaunchDraft *draft) {
  const OrrLaunchSource *source = draft->sources->len ? draft->sources->pdata[0] : NULL;
  g_autofree char *base = source ? g_path_get_basename(source->name) : g_strdup("-");
  g_autoptr(GString) name = g_string_new(NULL);
  for (const char *c = base; *c && *c != '.'; c++)
    g_string_append_c(name, g_ascii_isalnum(*c) ? *c : '-');
  if (!orr_launch_draft_get(draft, "name"))
    orr_launch_draft_set(draft, "name",
                         strcmp(base, "-") == 0 || !*name->str ? "launch-line" : name->str, NULL,
                         NULL);
}

static void add_questions(OrrLaunchDraft *draft) {
  for (guint i = 0; i < draft->questions->len; i++) {
    const OrrLaunchSource *source = draft->sources->len ? draft->sources->pdata[0] : NULL;
    const OrrPlace place = {.file = g_intern_string(source ? source->name : "-")};
    orr_diags_error(draft->diags, place, "%s", (char *)draft->questions->pdata[i]);
  }
}

/* Assumptions complete an input; they do not take its place. */
static void refuse_nothing(OrrLaunchDraft *draft) {
  g_autoptr(GPtrArray) drafts = g_ptr_array_new();
  g_ptr_array_add(drafts, draft);
  g_ptr_array_extend(drafts, draft->parts, NULL, NULL);
  ORR_EACH_POINTER(const OrrLaunchDraft, one, drafts) {
    ORR_EACH_POINTER(const OrrLaunchSetting, setting, one->settings)
      if (!setting->is_default && setting->verdict == ORR_LAUNCH_MAPPED && setting->rule) return;
  }
  const OrrLaunchSource *source = draft->sources->len ? draft->sources->pdata[0] : NULL;
  const OrrPlace place = {.file = g_intern_string(source ? source->name : "-")};
  if (draft->settings->len > 0 && !draft->options->strict && !draft->options->skip_unknown)
    orr_diags_error(draft->diags, place,
                    "no key of the input is known: nothing of it would be in "
                    "the answer");
}

char *orr_launch_draft_scenario(OrrLaunchDraft *draft, GError **error) {
  refuse_nothing(draft);
  complete_name(draft);
  complete_model(draft);
  complete_workload(draft);
  complete_cluster(draft);
  const gboolean is_read = draft->settings->len > 0 || orr_diags_n_errors(draft->diags) == 0;
  if (is_read) add_questions(draft); /* else the errors say why nothing is known */
  return orr_diags_check(draft->diags, error) ? orr_launch_text_yaml(draft) : NULL;
}

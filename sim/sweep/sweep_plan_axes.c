/*
 * sweep_plan_axes.c - reads `axes:` and `space:` into axes, checks that their paths exist and take
 * their values, and decides which of them can be assigned in place.
 */
#include "sim/sweep/sweep_private.h"

#include "sim/base/yaml.h"
#include "sim/run/scenario_stack.h"
#include "sim/sweep/sweep_axis.h"
#include "sim/sweep/sweep_facts.h"

static const OrrSweepAxis *axis_at(const OrrSweepPlan *plan, guint i) {
  return plan->axes->pdata[i];
}

/* --- dp --- */

static const char *const whole_space[] = {
    "tp", "pp", "cp", "ep", "schedule", "chunks", "micro-batch", "recompute", "sharding", NULL};

/* The names of all axes as @sweep has them, before the axes are read; without ep of a whole
 * space, which dense models do not have. */
static GPtrArray *written_names(const OrrNode *sweep) {
  GPtrArray *names = g_ptr_array_new();
  const OrrNode *axes = orr_node_get(sweep, "axes"), *space = orr_node_get(sweep, "space");
  for (guint i = 0; axes && axes->keys && i < axes->keys->len; i++)
    g_ptr_array_add(names, ((const OrrNode *)axes->keys->pdata[i])->text);
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, space))
    if (item->text) g_ptr_array_add(names, item->text);
  for (guint i = 0; space && space->kind == ORR_NODE_SCALAR && whole_space[i]; i++)
    if (!g_str_equal(whole_space[i], "ep")) g_ptr_array_add(names, (char *)whole_space[i]);
  return names;
}

static gboolean is_split(const char *path) {
  return g_str_equal(path, "workload.parallel.tp") || g_str_equal(path, "workload.parallel.pp") ||
         g_str_equal(path, "workload.parallel.cp");
}

/* With dp open (0), the workload computes it from the GPUs, tp, pp and cp. Only training has an
 * open dp; serving has replicas, which do not depend on tp and pp. */
gboolean orr_sweep_plan_axes_open_dp(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags,
                                     GError **error) {
  g_autoptr(GPtrArray) names = written_names(sweep);
  static const char dp[] = "workload.parallel.dp";
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, plan->base, dp, &data);
  gboolean splits = FALSE;
  for (guint i = 0; i < names->len; i++) {
    const char *path = orr_sweep_axis_path(names->pdata[i]);
    if (g_str_equal(path, dp)) return TRUE;
    splits = splits || is_split(path);
  }
  plan->dp_is_open = field && splits;
  if (!plan->dp_is_open) return TRUE;
  g_autoptr(OrrNode) open = orr_node_new_scalar(plan->tree->place, "0");
  return orr_field_assign(field, open, diags, data) &&
         orr_field_set(&orr_scenario_table, plan->tree, dp, open->text, error);
}

/* --- Settings --- */

/* The value that @setting gives the field at @path, "VALUE" if a part of it; NULL: nothing. Newly
 * allocated. */
static OrrNode *given_by(const char *setting, const char *path) {
  const size_t length = strcspn(setting, "="), whole = strlen(path);
  const gboolean is_below =
      length > whole && setting[whole] == '.' && !strncmp(setting, path, whole);
  const gboolean is_above =
      length < whole && path[length] == '.' && !strncmp(setting, path, length);
  if (!is_below && !is_above && !(length == whole && !strncmp(setting, path, whole))) return NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const char *value = setting + length + 1;
  g_autoptr(OrrNode) node = orr_yaml_parse(value, strlen(value), "set", ignored);
  if (!is_above)
    return is_below ? orr_node_new_scalar((OrrPlace){0}, "VALUE") : g_steal_pointer(&node);
  g_auto(GStrv) keys = g_strsplit(path + length + 1, ".", -1);
  const OrrNode *found = node;
  for (char **key = keys; found && *key; key++)
    if (found->kind == ORR_NODE_MAP)
      found = orr_node_get(found, *key);
    else if (!g_str_equal(*key, "kind") || key[1]) /* a single word names the kind */
      found = NULL;
  return found ? orr_node_copy(found) : NULL;
}

static gboolean refuse(const char *setting, const char *name, const OrrNode *value,
                       GError **error) {
  const char *text = value->kind == ORR_NODE_SCALAR ? value->text : "VALUE";
  g_autofree char *hint =
      strchr(name, '.')
          ? g_strdup("change its values in the section sweep")
          : g_strdup_printf("--set 'sweep.axes.%s=[%s]' gives it one value", name, text);
  return orr_fault_set(
      error, ORR_FAULT_USAGE,
      "--set %s: the axes of the sweep decide %s, so this would change nothing: %s", setting, name,
      hint);
}

gboolean orr_sweep_check_settings(const OrrNode *tree, char *const *settings, GError **error) {
  const OrrNode *sweep = orr_node_get(tree, "sweep");
  if (!sweep || sweep->kind != ORR_NODE_MAP) return TRUE;
  g_autoptr(GPtrArray) names = written_names(sweep);
  for (guint i = 0; i < names->len; i++)
    if (is_split(orr_sweep_axis_path(names->pdata[i]))) {
      g_ptr_array_add(names, (char *)"dp"); /* is open then */
      break;
    }
  for (; settings && *settings; settings++)
    for (guint i = 0; i < names->len; i++) {
      g_autoptr(OrrNode) given = given_by(*settings, orr_sweep_axis_path(names->pdata[i]));
      const gboolean is_open_dp = given && g_str_equal(names->pdata[i], "dp") && given->text &&
                                  g_str_equal(given->text, "0");
      if (given && !is_open_dp) return refuse(*settings, names->pdata[i], given, error);
    }
  return TRUE;
}

/* --- Axes --- */

/* Whether the field at @path can be assigned in a scenario that is read: a number or a word of the
 * workload on which no condition of its software stack depends. */
static gboolean is_plain(const OrrSweepPlan *plan, const char *path) {
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, plan->base, path, &data);
  if (!field || !orr_field_is_plain(field) || g_str_has_prefix(path, "workload.pipeline."))
    return FALSE;
  if (g_str_equal(path, "fidelity") || g_str_equal(path, "engine")) return TRUE;
  return g_str_has_prefix(path, "workload.") &&
         !orr_scenario_stack_uses(plan->library, plan->tree, path);
}

/* Checks that the path exists and takes the first value; for a plain axis, every value. */
static gboolean check_axis(const OrrSweepPlan *plan, const OrrSweepAxis *axis, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) copy = orr_node_copy(plan->tree);
  const OrrNode *first = axis->values->pdata[0];
  if (strcmp(axis->name, "chunks") != 0 &&
      !orr_field_set(&orr_scenario_table, copy, axis->path, first->text, &error)) {
    orr_diags_error(diags, axis->place, "axis %s: %s", axis->name, error->message);
    return FALSE;
  }
  void *data = NULL;
  const OrrField *field =
      axis->is_plain ? orr_field_assign_member(&orr_scenario_table, plan->base, axis->path, &data)
                     : NULL;
  const guint before = orr_diags_n_errors(diags);
  char kept[sizeof(double)];
  const size_t size = field && (field->kind == ORR_FIELD_BOOL || field->kind == ORR_FIELD_WORD)
                          ? sizeof(int)
                          : sizeof kept;
  if (field) memcpy(kept, (char *)data + field->offset, size);
  for (guint i = 0; field && i < axis->values->len; i++)
    orr_field_assign(field, axis->values->pdata[i], diags, data);
  if (field) memcpy((char *)data + field->offset, kept, size);
  return orr_diags_n_errors(diags) == before;
}

static void add_axis(OrrSweepPlan *plan, const char *name, OrrPlace place, const OrrNode *spec,
                     OrrDiags *diags) {
  OrrValue facts[ORR_N_FACTS];
  orr_sweep_facts_fill(plan, plan->base, facts);
  const OrrSweepAxisFacts known = {(const OrrExpressionName *)(void *)plan->names->data, facts,
                                   ORR_N_FACTS, plan->base};
  OrrSweepAxis *axis = orr_sweep_axis_new(name, place, spec, &known, diags);
  if (!axis) return;
  for (guint i = 0; i < plan->axes->len; i++)
    if (g_str_equal(axis_at(plan, i)->path, axis->path)) {
      orr_diags_error(diags, place, "duplicate axis %s", axis->name);
      orr_sweep_axis_free(axis);
      return;
    }
  axis->is_plain = is_plain(plan, axis->path);
  if (g_str_equal(axis->name, "schedule")) plan->schedule_axis = (int)plan->axes->len;
  if (g_str_equal(axis->name, "chunks")) plan->chunks_axis = (int)plan->axes->len;
  g_ptr_array_add(plan->axes, axis);
  check_axis(plan, axis, diags);
}

/* Whether the model has experts, which ep distributes. */
static gboolean has_experts(const OrrSweepPlan *plan) {
  static const char *const paths[] = {"model.experts", "model.moe.experts", "model.n-experts",
                                      NULL};
  double n = 0;
  for (guint i = 0; paths[i]; i++) {
    void *data = NULL;
    const OrrField *field =
        orr_field_assign_member(&orr_scenario_table, plan->base, paths[i], &data);
    if (field && orr_field_number(field, data, &n) && n > 1) return TRUE;
  }
  return FALSE;
}

static gboolean is_axis(const OrrSweepPlan *plan, const char *name) {
  const OrrNode *axes = plan->section.axes;
  ORR_EACH_KEY(key, axes)
    if (g_str_equal(orr_sweep_axis_path(key->text), orr_sweep_axis_path(name))) return TRUE;
  return FALSE;
}

/* Adds an axis with all its values for each name in `space:` that is not in `axes:`. */
static void add_space(OrrSweepPlan *plan, OrrDiags *diags) {
  const OrrNode *space = plan->section.space;
  if (!space) return;
  g_autoptr(OrrNode) all = orr_node_new_scalar(space->place, "all");
  if (space->kind == ORR_NODE_LIST) {
    ORR_EACH_ITEM(item, space) {
      if (item->kind != ORR_NODE_SCALAR)
        orr_diags_error(diags, item->place, "space takes short names of axes");
      else if (!is_axis(plan, item->text))
        add_axis(plan, item->text, item->place, all, diags);
    }
  } else if (space->kind == ORR_NODE_SCALAR && g_str_equal(space->text, "all")) {
    for (guint i = 0; whole_space[i]; i++)
      if (!is_axis(plan, whole_space[i]) &&
          (!g_str_equal(whole_space[i], "ep") || has_experts(plan)))
        add_axis(plan, whole_space[i], space->place, all, diags);
  } else {
    orr_diags_error(diags, space->place,
                    "space takes the word all, or a list of short names of axes");
  }
}

void orr_sweep_plan_axes_add(OrrSweepPlan *plan, OrrDiags *diags) {
  const OrrNode *axes = plan->section.axes;
  add_space(plan, diags);
  if (axes && axes->kind != ORR_NODE_MAP)
    return orr_diags_error(diags, axes->place, "axes takes a map of paths and their values");
  ORR_EACH_PAIR(key, value, axes) {
    add_axis(plan, key->text, key->place, value, diags);
  }
  plan->n_axes = plan->axes->len;
}

/*
 * scenario_stack.c - builds the tree of a stack's settings and merges it with the workload.
 */
#include "sim/run/scenario_stack.h"

#include "sim/run/run_private.h"
#include "workloads/serving/serving.h"

static void put_setting(const OrrStackLaying *laying, const OrrStackSetting *setting,
                        const OrrScenario *facts, OrrNode *under) {
  g_autofree char *path = g_strconcat("workload.", setting->path, NULL);
  g_autoptr(GError) error = NULL;
  if (!orr_field_put(&orr_scenario_table, under, path,
                     orr_stack_setting_value(laying, setting, facts), &error))
    orr_diags_error(laying->diags, setting->place, "%s", error->message);
}

/* Whether @workload has the key @path as a name, or as a map with its kind. */
static gboolean names_kind(const OrrNode *workload, const char *path) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  const OrrNode *node = workload;
  for (char **key = keys; *key && node; key++)
    node = node->kind == ORR_NODE_MAP ? orr_node_get(node, *key) : NULL;
  return node && (node->kind == ORR_NODE_SCALAR || orr_node_get_text(node, "kind"));
}

static gboolean is_set(const OrrStackLaying *laying, const OrrStackSetting *setting,
                       const OrrNode *workload, const OrrScenario *facts) {
  if (setting->unless_named && names_kind(workload, setting->path)) return FALSE;
  return orr_stack_setting_holds(laying, setting, facts);
}

/* {workload: the settings} for @workload; without @facts, only those that need no condition. */
static OrrNode *settings_tree(const OrrStackLaying *laying, const OrrNode *workload,
                              const OrrScenario *facts) {
  OrrNode *under = orr_node_new_map(laying->owner->place);
  OrrNode *settings = orr_node_new_map(laying->owner->place);
  orr_node_set(settings, "kind", orr_node_new_scalar(laying->owner->place, laying->kind));
  orr_node_set(under, "workload", settings);
  ORR_EACH_POINTER(const OrrStackSetting, setting, laying->stack->settings)
    if (is_set(laying, setting, workload, facts)) put_setting(laying, setting, facts, under);
  return under;
}

static void name_choice(OrrNode *map, const char *key, const char *kind, OrrPlace place) {
  OrrNode *choice = orr_node_new_map(place);
  orr_node_set(choice, "kind", orr_node_new_scalar(place, kind));
  orr_node_set(map, key, choice);
}

/* A choice can be a name on one side and a map on the other. Where both are the same choice, both
 * become maps, so that the parameters of either side stay. */
static void match_choices(OrrNode *under, OrrNode *over) {
  for (guint i = 0; i < orr_node_length(over); i++) {
    const char *key = ((const OrrNode *)over->keys->pdata[i])->text;
    OrrNode *above = over->items->pdata[i], *below = orr_node_get(under, key);
    if (!below) continue;
    const char *kind = orr_node_get_text(below, "kind");
    if (above->kind == ORR_NODE_SCALAR && kind && strcmp(kind, above->text) == 0)
      name_choice(over, key, above->text, above->place);
    else if (above->kind == ORR_NODE_MAP && below->kind == ORR_NODE_SCALAR &&
             !orr_node_is_uncertain(above))
      name_choice(under, key, below->text, below->place);
    else if (above->kind == ORR_NODE_MAP && below->kind == ORR_NODE_MAP)
      match_choices(below, above);
  }
}

/* Takes ownership of @under, {workload: settings}. */
static OrrNode *lay_under(OrrNode *under, const OrrNode *workload, const char *stack) {
  g_autoptr(OrrNode) settings = under;
  g_autoptr(OrrNode) over = orr_node_copy(workload);
  OrrNode *below = orr_node_get(settings, "workload");
  match_choices(below, over);
  const OrrNode *named = orr_node_get(over, "stack");
  const OrrPlace place = named ? named->place : workload->place;
  orr_node_set(over, "stack", orr_node_new_scalar(place, stack));
  return orr_node_merge(below, over);
}

/* --- One workload --- */

/* The scenario as conditions see it; NULL where it cannot be read, which is reported elsewhere. */
static OrrScenario *read_facts(const OrrStackLaying *laying, const OrrNode *workload) {
  g_autoptr(OrrNode) tree = orr_node_copy(laying->root);
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const OrrNode *model = orr_node_get(laying->owner, "model");
  const char *const others[] = {"jobs", "faults", "sweep", "validation"};
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) orr_node_remove(tree, others[i]);
  OrrNode *own = orr_node_copy(workload);
  orr_node_remove(own, "groups"); /* whose nulls reading refuses */
  orr_node_set(tree, "workload", own);
  if (model) orr_node_set(tree, "model", orr_node_copy(model));
  OrrScenario *facts = g_new0(OrrScenario, 1);
  if (orr_field_read_uncertain(&orr_scenario_table, tree, laying->library, ignored, facts, NULL))
    return facts;
  orr_scenario_free(facts);
  return NULL;
}

static gboolean has_conditions(const OrrStack *stack) {
  ORR_EACH_POINTER(const OrrStackSetting, setting, stack->settings)
    if (orr_stack_setting_depends(setting)) return TRUE;
  return FALSE;
}

/* Factors see what conditions have set. */
static gboolean has_factors(const OrrStack *stack) {
  ORR_EACH_POINTER(const OrrStackSetting, setting, stack->settings)
    if (setting->times) return TRUE;
  return FALSE;
}

static OrrNode *complete(const OrrStackLaying *laying, const OrrNode *workload) {
  const char *name = laying->stack->name;
  g_autoptr(OrrNode) first = lay_under(settings_tree(laying, workload, NULL), workload, name);
  if (!has_conditions(laying->stack) || orr_diags_n_errors(laying->diags) > 0)
    return g_steal_pointer(&first);
  g_autoptr(OrrScenario) facts = read_facts(laying, first);
  if (!facts) return g_steal_pointer(&first);
  OrrNode *second = lay_under(settings_tree(laying, workload, facts), workload, name);
  g_autoptr(OrrScenario) settled = has_factors(laying->stack) ? read_facts(laying, second) : NULL;
  if (!settled) return second;
  orr_node_free(second);
  return lay_under(settings_tree(laying, workload, settled), workload, name);
}

/* The workload as a map with its kind; NULL where that is not known, which reading reports. */
static OrrNode *expand(OrrLibrary *library, const OrrNode *section) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  if (section->kind == ORR_NODE_SCALAR &&
      orr_registry_find(&orr_workload_registry, section->text)) {
    OrrNode *map = orr_node_new_map(section->place);
    orr_node_set(map, "kind", orr_node_new_scalar(section->place, section->text));
    return map;
  }
  g_autoptr(OrrNode) map = orr_library_expand(library, "workload", section, ignored);
  if (map) orr_node_remove(map, "schema");
  const char *kind = map ? orr_node_get_text(map, "kind") : NULL;
  return kind && orr_registry_find(&orr_workload_registry, kind) ? g_steal_pointer(&map) : NULL;
}

char *orr_scenario_stack_default(OrrLibrary *library, const char *kind) {
  const OrrEntry *entry = kind ? orr_registry_find(&orr_workload_registry, kind) : NULL;
  return entry ? orr_stack_newest(library, ((const OrrWorkloadKind *)entry)->default_family) : NULL;
}

/* The node that names or describes the workload's stack, or a new one with the default of its kind;
 * NULL where it has none. */
static OrrNode *stack_section(OrrLibrary *library, const OrrNode *workload) {
  const OrrNode *named = orr_node_get(workload, "stack");
  if (!named) {
    g_autofree char *newest =
        orr_scenario_stack_default(library, orr_node_get_text(workload, "kind"));
    return newest ? orr_node_new_scalar(workload->place, newest) : NULL;
  }
  const gboolean is_none =
      named->kind == ORR_NODE_SCALAR && strcmp(named->text, ORR_STACK_NONE) == 0;
  return is_none ? NULL : orr_node_copy(named);
}

static OrrStack *load_stack(OrrLibrary *library, const OrrNode *workload, OrrDiags *diags) {
  g_autoptr(OrrNode) section = stack_section(library, workload);
  const char *kind = orr_node_get_text(workload, "kind");
  g_autoptr(OrrStack) stack = section ? orr_stack_load(library, section, diags) : NULL;
  if (!stack || strcmp(stack->kind, kind) == 0) return g_steal_pointer(&stack);
  orr_diags_error(diags, section->place, "stack %s is for workloads of kind %s, not %s",
                  stack->name, stack->kind, kind);
  return NULL;
}

/* The `checkpoint` of the document that @named means; NULL: none. Owned by the library. */
static const OrrNode *published(OrrLibrary *library, const OrrNode *named) {
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* an unknown name is reported when it is read */
  const OrrNode *document =
      orr_library_borrow(library, "model", named->text, named->place, ignored);
  return document ? orr_node_get(document, "checkpoint") : NULL;
}

/* Copies the formats of @checkpoint to @workload. Whether there are any. */
static gboolean copy_formats(const OrrNode *checkpoint, OrrNode *workload) {
  static const char *const keys[] = {"quantization", "weights"};
  gboolean has_any = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const OrrNode *given =
        checkpoint && checkpoint->kind == ORR_NODE_MAP ? orr_node_get(checkpoint, keys[i]) : NULL;
    if (given) orr_node_set(workload, keys[i], orr_node_copy(given));
    has_any |= given != NULL;
  }
  return has_any;
}

/* Whether a workload, or a group of replicas, says what its weights are stored in. */
static gboolean has_format(const OrrNode *workload) {
  return orr_node_get(workload, "precision") || orr_node_get(workload, "quantization") ||
         orr_node_get(workload, "weights");
}

/* Gives @workload the format of the model's checkpoint, where it has none: what the scenario's
 * model says itself, what its alias means, or what its document says is published. The last is not
 * for @is_inner, a part of another workload: rollouts run what was trained. Whether it did. */
static gboolean put_checkpoint(OrrLibrary *library, const OrrNode *model, OrrNode *workload,
                               gboolean is_inner) {
  const gboolean is_map = model && model->kind == ORR_NODE_MAP;
  const OrrNode *named = is_map ? orr_node_get(model, "base") : model;
  const char *words = "";
  if (strcmp(orr_node_get_text(workload, "kind"), "serving") != 0 || has_format(workload))
    return FALSE;
  if (is_map && orr_node_get(model, "checkpoint"))
    return copy_formats(orr_node_get(model, "checkpoint"), workload);
  if (!named || named->kind != ORR_NODE_SCALAR) return FALSE;
  orr_library_alias(library, "model", named->text, &words);
  if (*words) {
    orr_node_set(workload, "quantization", orr_node_new_scalar(named->place, words));
    return TRUE;
  }
  return !is_inner && copy_formats(published(library, named), workload);
}

static const OrrWorkloadSection *sections_of(const OrrNode *workload) {
  const char *kind = orr_node_get_text(workload, "kind");
  const OrrEntry *entry = kind ? orr_registry_find(&orr_workload_registry, kind) : NULL;
  return entry ? ((const OrrWorkloadKind *)entry)->sections : NULL;
}

static void apply(OrrLibrary *library, const OrrNode *root, OrrNode *owner, gboolean is_inner,
                  OrrDiags *diags);

/* @given, a workload of @section's kind, with the settings of its own stack and those that @owner's
 * model decides; without the key `kind`. */
static OrrNode *settled(OrrLibrary *library, const OrrNode *root, const OrrNode *owner,
                        const OrrNode *given, const OrrWorkloadSection *section, OrrDiags *diags) {
  const OrrNode *model = orr_node_get(owner, "model");
  g_autoptr(OrrNode) own = orr_node_new_map(owner->place);
  OrrNode *inner = orr_node_copy(given);
  orr_node_set(inner, "kind", orr_node_new_scalar(inner->place, section->kind));
  orr_node_set(own, "workload", inner);
  if (model) orr_node_set(own, "model", orr_node_copy(model));
  apply(library, root, own, TRUE, diags);
  OrrNode *whole = orr_node_copy(orr_node_get(own, "workload"));
  orr_node_remove(whole, "kind");
  return whole;
}

/* The workload in @owner's workload's @section, which may be left out. */
static void apply_section(OrrLibrary *library, const OrrNode *root, OrrNode *owner,
                          const OrrWorkloadSection *section, OrrDiags *diags) {
  OrrNode *workload = orr_node_get(owner, "workload");
  const OrrNode *given = orr_node_get(workload, section->key);
  if (given && given->kind != ORR_NODE_MAP) return; /* reading reports it */
  g_autoptr(OrrNode) nothing = orr_node_new_map(workload->place);
  orr_node_set(workload, section->key,
               settled(library, root, owner, given ? given : nothing, section, diags));
}

/* The workload at @section's key of one entry of its list, with the entry's own model. One that
 * names no stack has none. */
static void apply_entry(OrrLibrary *library, const OrrNode *root, OrrNode *entry,
                        const OrrWorkloadSection *section, OrrDiags *diags) {
  const OrrNode *given = entry->kind == ORR_NODE_MAP ? orr_node_get(entry, section->key) : NULL;
  if (!given || given->kind != ORR_NODE_MAP || !orr_node_get(given, "stack")) return;
  orr_node_set(entry, section->key, settled(library, root, entry, given, section, diags));
}

static void apply_list(OrrLibrary *library, const OrrNode *root, OrrNode *workload,
                       const OrrWorkloadSection *section, OrrDiags *diags) {
  g_auto(GStrv) keys = g_strsplit(section->list, ".", -1);
  OrrNode *at = workload;
  for (char **key = keys; *key && at; key++)
    at = at->kind == ORR_NODE_MAP ? orr_node_get(at, *key) : NULL;
  for (guint i = 0; at && at->kind == ORR_NODE_LIST && i < orr_node_length(at); i++)
    apply_entry(library, root, at->items->pdata[i], section, diags);
}

static void apply_sections(OrrLibrary *library, const OrrNode *root, OrrNode *owner,
                           OrrDiags *diags) {
  const OrrNode *workload = orr_node_get(owner, "workload");
  const OrrWorkloadSection *section =
      workload && workload->kind == ORR_NODE_MAP ? sections_of(workload) : NULL;
  for (; section && section->key; section++) {
    if (section->list)
      apply_list(library, root, orr_node_get(owner, "workload"), section, diags);
    else
      apply_section(library, root, owner, section, diags);
  }
}

static const char *const format_keys[] = {"quantization", "weights", "precision", "activations",
                                          NULL};

static gboolean is_null(const OrrNode *value) {
  return value && value->kind == ORR_NODE_SCALAR && g_str_equal(value->text, "null");
}

/* Removes the keys of @map whose value is null. */
static void remove_nulls(OrrNode *map) {
  for (guint i = orr_node_length(map); i-- > 0;) {
    OrrNode *value = map->items->pdata[i];
    const OrrNode *key = map->keys->pdata[i];
    if (value->kind == ORR_NODE_MAP)
      remove_nulls(value);
    else if (is_null(value))
      orr_node_remove(map, key->text);
  }
}

/* Gives @as_group the format of @group's cache, where it names one; null: none is given. */
static void put_cache_format(const OrrNode *group, OrrNode *as_group) {
  const OrrNode *format = orr_node_get(group, "kv-dtype");
  if (is_null(format))
    orr_node_remove(as_group, "kv-dtype");
  else if (format)
    orr_node_set(as_group, "kv-dtype", orr_node_copy(format));
}

/* @group as a workload: @workload with the group's layout, formats and engine, under what the stack
 * sets for it. @laying NULL: there is no stack. */
static OrrNode *workload_of_group(const OrrStackLaying *laying, const OrrNode *workload,
                                  const OrrNode *group) {
  const OrrNode *model = orr_node_get(group, "model");
  const OrrNode *shared = orr_node_get(workload, "engine"), *own = orr_node_get(group, "engine");
  const OrrNode *parallel = orr_node_get(group, "parallel");
  if (own && own->kind != ORR_NODE_MAP) return NULL; /* reading reports it */
  g_autoptr(OrrNode) engine = !own      ? (shared ? orr_node_copy(shared) : NULL)
                              : !shared ? orr_node_copy(own)
                                        : orr_node_merge(shared, own);
  if (own) remove_nulls(engine);
  g_autoptr(OrrNode) as_group = orr_node_copy(workload);
  orr_node_remove(as_group, "groups");
  orr_node_remove(as_group, "engine");
  if (parallel) orr_node_set(as_group, "parallel", orr_node_copy(parallel));
  for (const char *const *key = format_keys; *key; key++) {
    const OrrNode *format = orr_node_get(group, *key);
    orr_node_remove(as_group, *key);
    if (format) orr_node_set(as_group, *key, orr_node_copy(format));
  }
  put_cache_format(group, as_group);
  if (engine && (laying || own)) orr_node_set(as_group, "engine", g_steal_pointer(&engine));
  if (!laying) return g_steal_pointer(&as_group);
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* reported with the workload */
  OrrStackLaying alone = *laying;
  alone.diags = ignored;
  g_autoptr(OrrNode) owner = model ? orr_node_new_map(group->place) : NULL;
  if (model) {
    orr_node_set(owner, "model", orr_node_copy(model));
    alone.owner = owner;
  }
  return complete(&alone, as_group);
}

/* Gives @group the formats of the weights, and between kernels, that @whole has and it does not
 * name. Where it names null: what @plain has, a workload that names none. */
static void settle_formats(const OrrNode *plain, const OrrNode *whole, OrrNode *group) {
  const gboolean is_own = has_format(group);
  const OrrNode *from = whole;
  for (const char *const *key = format_keys; *key; key++)
    if (is_null(orr_node_get(group, *key)) && orr_node_remove(group, *key)) from = plain;
  for (const char *const *key = format_keys; *key; key++) {
    const OrrNode *format = orr_node_get(from, *key);
    const gboolean is_kept = is_own && from == whole && !g_str_equal(*key, "activations");
    if (format && !orr_node_get(group, *key) && !is_kept)
      orr_node_set(group, *key, orr_node_copy(format));
  }
}

/* Gives the groups of replicas in @whole, which @workload became, formats and engines of their
 * own. */
static void settle_groups(OrrLibrary *library, const OrrStackLaying *laying, const OrrNode *plain,
                          const OrrNode *workload, OrrNode *whole) {
  static const char *const settled_keys[] = {"engine", "kv-dtype", NULL};
  const OrrNode *engine = orr_node_get(workload, "engine");
  const OrrNode *groups = orr_node_get(whole, "groups");
  const gboolean has_engine = !engine || engine->kind == ORR_NODE_MAP; /* else reading reports it */
  if (!groups || groups->kind != ORR_NODE_LIST) return;
  for (guint i = 0; i < orr_node_length(groups); i++) {
    OrrNode *group = groups->items->pdata[i];
    if (group->kind != ORR_NODE_MAP) continue;
    const OrrNode *model = orr_node_get(group, "model");
    g_autoptr(OrrNode) published = orr_node_new_map(group->place); /* formats of its own model */
    orr_node_set(published, "kind", orr_node_new_scalar(group->place, "serving"));
    if (model) put_checkpoint(library, model, published, FALSE);
    settle_formats(model ? published : plain, model ? published : whole, group);
    g_autoptr(OrrNode) own = has_engine ? workload_of_group(laying, workload, group) : NULL;
    for (const char *const *key = settled_keys; own && *key; key++) {
      const OrrNode *value = orr_node_get(own, *key);
      orr_node_remove(group, *key);
      if (value) orr_node_set(group, *key, orr_node_copy(value));
    }
  }
}

/* Replaces the workload of @owner, which is @root, one of its jobs or a section's. */
static void apply(OrrLibrary *library, const OrrNode *root, OrrNode *owner, gboolean is_inner,
                  OrrDiags *diags) {
  const OrrNode *section = orr_node_get(owner, "workload");
  g_autoptr(OrrNode) workload = section && library ? expand(library, section) : NULL;
  if (!workload) return;
  const guint before = orr_diags_n_errors(diags);
  const OrrNode *model = orr_node_get(owner, "model");
  g_autoptr(OrrNode) plain = orr_node_new_map(section->place);
  orr_node_set(plain, "kind", orr_node_new_scalar(section->place, "serving"));
  put_checkpoint(library, model, plain, is_inner);
  const gboolean has_more = put_checkpoint(library, model, workload, is_inner);
  g_autoptr(OrrStack) stack = load_stack(library, workload, diags);
  if (stack) {
    const OrrStackLaying laying = {.library = library,
                                   .root = root,
                                   .owner = owner,
                                   .stack = stack,
                                   .kind = orr_node_get_text(workload, "kind"),
                                   .diags = diags};
    OrrNode *whole = complete(&laying, workload);
    settle_groups(library, &laying, plain, workload, whole);
    orr_node_set(owner, "workload", whole);
  } else if (has_more || sections_of(workload) || orr_node_get(workload, "groups") ||
             orr_diags_n_errors(diags) > before) {
    if (orr_diags_n_errors(diags) > before) /* reported: reading must not report it again */
      orr_node_remove(workload, "stack");
    settle_groups(library, NULL, plain, workload, workload);
    orr_node_set(owner, "workload", g_steal_pointer(&workload));
  }
  apply_sections(library, root, owner, diags);
}

OrrNode *orr_scenario_stack_apply(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags) {
  OrrNode *copy = orr_node_copy(tree);
  if (copy->kind != ORR_NODE_MAP) return copy;
  apply(library, tree, copy, FALSE, diags);
  const OrrNode *jobs = orr_node_get(copy, "jobs");
  for (guint i = 0; jobs && jobs->kind == ORR_NODE_LIST && i < orr_node_length(jobs); i++) {
    OrrNode *job = jobs->items->pdata[i];
    if (job->kind == ORR_NODE_MAP) apply(library, tree, job, FALSE, diags);
  }
  return copy;
}

const char *orr_scenario_stack_name(const OrrChoice *workload) {
  for (size_t i = 0; workload->params && i < workload->entry->params->n_fields; i++) {
    const OrrField *field = &workload->entry->params->fields[i];
    if (strcmp(field->name, "stack") == 0)
      return *(char *const *)((const char *)workload->params + field->offset);
  }
  return ORR_STACK_NONE;
}

/* --- What is assumed --- */

static void note_assumed(OrrLibrary *library, const char *kind, GPtrArray *names) {
  g_autofree char *name = orr_scenario_stack_default(library, kind);
  if (name && !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
    g_ptr_array_add(names, g_steal_pointer(&name));
}

/* Whether @stack names the stack of the workload at @key within its own. */
static gboolean names_inner(const OrrStack *stack, const char *key) {
  g_autofree char *path = g_strconcat(key, ".stack", NULL);
  for (guint i = 0; stack && i < stack->settings->len; i++)
    if (strcmp(((const OrrStackSetting *)stack->settings->pdata[i])->path, path) == 0) return TRUE;
  return FALSE;
}

static void find_assumed(OrrLibrary *library, const OrrNode *owner, GPtrArray *names) {
  const OrrNode *section = owner->kind == ORR_NODE_MAP ? orr_node_get(owner, "workload") : NULL;
  g_autoptr(OrrNode) workload = section ? expand(library, section) : NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* reading reports them */
  if (!workload) return;
  if (!orr_node_get(workload, "stack"))
    note_assumed(library, orr_node_get_text(workload, "kind"), names);
  const OrrWorkloadSection *inner = sections_of(workload);
  g_autoptr(OrrStack) stack = inner ? load_stack(library, workload, ignored) : NULL;
  for (; inner && inner->key; inner++) {
    const OrrNode *given = inner->list ? NULL : orr_node_get(workload, inner->key);
    const gboolean is_named =
        inner->list || names_inner(stack, inner->key) ||
        (given && given->kind == ORR_NODE_MAP && orr_node_get(given, "stack"));
    if (!is_named) note_assumed(library, inner->kind, names);
  }
}

char *orr_scenario_stack_assumed(OrrLibrary *library, const OrrNode *tree) {
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  find_assumed(library, tree, names);
  const OrrNode *jobs = tree->kind == ORR_NODE_MAP ? orr_node_get(tree, "jobs") : NULL;
  for (guint i = 0; jobs && jobs->kind == ORR_NODE_LIST && i < orr_node_length(jobs); i++)
    find_assumed(library, jobs->items->pdata[i], names);
  if (names->len == 0) return NULL;
  g_ptr_array_add(names, NULL);
  return g_strjoinv(", ", (char **)names->pdata);
}

/* --- Checks --- */

void orr_scenario_stack_check(const OrrStack *stack, OrrDiags *diags) {
  const OrrNode owner = {.kind = ORR_NODE_MAP};
  const OrrStackLaying laying = {
      .owner = &owner, .stack = (OrrStack *)stack, .kind = stack->kind, .diags = diags};
  g_autoptr(OrrNode) under = orr_node_new_map(owner.place);
  g_autofree char *kind = g_strdup_printf("{kind: %s}", stack->kind);
  orr_field_set(&orr_scenario_table, under, "workload", kind, NULL);
  ORR_EACH_POINTER(const OrrStackSetting, setting, stack->settings) {
    put_setting(&laying, setting, NULL, under);
    orr_stack_setting_check(&laying, setting);
  }
}

/* --- What depends on a path --- */

static gboolean stack_uses(const OrrStack *stack, const char *path) {
  ORR_EACH_POINTER(const OrrStackSetting, setting, stack->settings) {
    if (orr_stack_setting_uses(setting, path)) return TRUE;
  }
  return FALSE;
}

gboolean orr_scenario_stack_uses(OrrLibrary *library, const OrrNode *tree, const char *path) {
  const OrrNode *section = tree->kind == ORR_NODE_MAP ? orr_node_get(tree, "workload") : NULL;
  g_autoptr(OrrNode) workload = section && library ? expand(library, section) : NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  if (workload && sections_of(workload)) return g_str_has_prefix(path, "workload.");
  g_autoptr(OrrStack) stack = workload ? load_stack(library, workload, ignored) : NULL;
  return stack && stack_uses(stack, path);
}

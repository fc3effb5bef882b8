/*
 * stack.c - reads stack documents, finds the one that answers for a release, and describes it.
 */
#include "workloads/stack.h"

#include "sim/base/number.h"
#include "workloads/workload.h"

static const char *const confidence_words[] = {"documented", "measured", "fitted", "assumed", NULL};

static const OrrField setting_fields[] = {
    ORR_FIELD_TEXT(OrrStackSetting, "set", path, NULL,
                   "The key that it sets: a path below `workload`."),
    ORR_FIELD_TREE(OrrStackSetting, "to", to, NULL, "The value."),
    ORR_COLUMN_TEXT(
        OrrStackSetting, "when", when,
        "The scenarios for which it is set: an expression over paths of the scenario; by "
        "default all."),
    ORR_COLUMN_TEXT(OrrStackSetting, "at-most", at_most,
                    "A path of the scenario that holds a number: the value is not above it."),
    ORR_COLUMN_TEXT(OrrStackSetting, "times", times,
                    "An expression over paths of the scenario, whose result multiplies the value; "
                    "a scenario that lacks one of them does not have the setting."),
    ORR_FIELD_BOOL(OrrStackSetting, "unless-named", unless_named, "false",
                   "A choice whose parameters are for workloads that do not name its kind: one "
                   "that does has the kind's own defaults."),
    ORR_FIELD_TEXT(OrrStackSetting, "source", source, NULL, "Where the value is from."),
    ORR_FIELD_WORD(
        OrrStackSetting, "confidence", confidence, confidence_words, NULL,
        "How the value is known: documented (the software's code or manual says it), "
        "measured, fitted (it explains measured rows, which the source names), or assumed."),
    ORR_FIELD_TEXTS(OrrStackSetting, "fitted-to", fitted_to, "[]",
                    "The models whose rows a fitted value explains, where no other model's rows "
                    "test it: error bands of other models are weak, and say so."),
    ORR_COLUMN_TEXT(OrrStackSetting, "device", device,
                    "The device for which the value is known, where it may differ on another: the "
                    "summary of a run on another one says so."),
};
static const OrrFieldTable setting_table =
    ORR_FIELD_TABLE("stack-setting", "One default of a stack.", OrrStackSetting, setting_fields);

static const OrrField stack_fields[] = {
    ORR_FIELD_TEXT(OrrStack, "name", name, NULL, "FAMILY-RELEASE, the name of the file."),
    ORR_FIELD_TEXT(OrrStack, "family", family, NULL, "The software."),
    ORR_FIELD_TEXT(OrrStack, "release", release, NULL,
                   "The first release that it describes, in numbers and dots; later ones are "
                   "described by it too, until the next stack of the family."),
    ORR_COLUMN_TEXT(OrrStack, "released", released, "When that was, as YYYY-MM."),
    ORR_FIELD_TEXT(OrrStack, "kind", kind, NULL, "The kind of workload that it is a default for."),
    ORR_FIELD_TEXT(OrrStack, "summary", summary, NULL, "What it is, in one sentence."),
    ORR_FIELD_TEXTS(OrrStack, "platforms", platforms, "[cuda]",
                    "Platforms of devices (device.platform) that it runs on."),
    ORR_FIELD_TEXTS(OrrStack, "validated-by", validated_by, "[]",
                    "Validation sets whose rows ran this software."),
    ORR_FIELD_SECTIONS(OrrStack, "settings", settings, &setting_table, "[]",
                       "Its defaults, after the defaults of its base; a later one wins."),
};
const OrrFieldTable orr_stack_table = ORR_FIELD_TABLE(
    "stack", "The defaults of an engine or a framework of some release.", OrrStack, stack_fields);

void orr_stack_free(OrrStack *stack) {
  if (!stack) return;
  orr_field_clear(&orr_stack_table, stack);
  g_free(stack);
}

/* --- Releases --- */

/* The length of the version at the end of "vllm-0.11.1", with its '-'; 0 where there is none. */
static gsize version_at(const char *name) {
  for (const char *dash = strrchr(name, '-'); dash && dash > name; dash--)
    if (*dash == '-' && g_ascii_isdigit(dash[1])) return (gsize)(dash - name);
  return 0;
}

static gboolean is_family(const char *name, const char *family, gsize length) {
  return version_at(name) == length && strncmp(name, family, length) == 0;
}

char *orr_stack_resolve(OrrLibrary *library, const char *name) {
  g_auto(GStrv) known = orr_library_names(library, "stack");
  const gsize length = version_at(name);
  const char *best = NULL;
  for (char **one = known; *one; one++) {
    if (strcmp(*one, name) == 0) return g_strdup(name);
    if (length == 0 || !is_family(*one, name, length)) continue;
    const char *release = *one + length + 1;
    if (orr_number_compare_versions(release, name + length + 1) > 0) continue;
    if (!best || orr_number_compare_versions(release, best + length + 1) > 0) best = *one;
  }
  return g_strdup(best);
}

char *orr_stack_newest(OrrLibrary *library, const char *family) {
  g_autofree char *last = family ? g_strconcat(family, "-9999", NULL) : NULL;
  return last ? orr_stack_resolve(library, last) : NULL;
}

char *orr_stack_nearest(OrrLibrary *library, const char *name) {
  g_auto(GStrv) known = orr_library_names(library, "stack");
  char *resolved = version_at(name) == 0 ? orr_stack_newest(library, name) : NULL;
  return resolved ? resolved : g_strdup(orr_diag_nearest_word(name, (const char *const *)known));
}

/* --- Platforms --- */

gboolean orr_stack_runs_on(const OrrStack *stack, const char *platform) {
  return g_strv_contains((const char *const *)stack->platforms, platform);
}

static int by_release(const void *a, const void *b) {
  const OrrStack *one = *(OrrStack *const *)a, *other = *(OrrStack *const *)b;
  const int order = g_strcmp0(other->released, one->released);
  return order ? order : strcmp(one->name, other->name);
}

char **orr_stack_on(OrrLibrary *library, const char *kind, const char *platform) {
  g_auto(GStrv) names = orr_library_names(library, "stack");
  g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func((GDestroyNotify)orr_stack_free);
  for (char **name = names; *name; name++) {
    g_autoptr(OrrDiags) ignored = orr_diags_new();
    g_autoptr(OrrNode) section = orr_node_new_scalar((OrrPlace){0}, *name);
    OrrStack *stack = orr_stack_load(library, section, ignored);
    if (stack && strcmp(stack->kind, kind) == 0 && orr_stack_runs_on(stack, platform))
      g_ptr_array_add(found, stack);
    else
      orr_stack_free(stack);
  }
  g_ptr_array_sort(found, by_release);
  char **list = g_new0(char *, found->len + 1);
  for (guint i = 0; i < found->len; i++)
    list[i] = g_strdup(((const OrrStack *)found->pdata[i])->name);
  return list;
}

/* --- Reading --- */

/* All settings of @list and of the lists that it overrides, the oldest first. */
static void collect(const OrrNode *list, OrrNode *all) {
  if (!list || list->kind != ORR_NODE_LIST) return;
  collect(list->replaced, all);
  ORR_EACH_ITEM(item, list) orr_node_append(all, orr_node_ref(item));
}

static void check_kind(const OrrStack *stack, OrrPlace place, OrrDiags *diags) {
  g_autofree const char **names = orr_registry_names(&orr_workload_registry);
  g_autofree char *known = g_strjoinv(", ", (char **)names);
  if (!orr_registry_find(&orr_workload_registry, stack->kind))
    orr_diags_error(diags, place, "unknown kind of workload '%s' (allowed: %s)", stack->kind,
                    known);
}

static void check_name(const OrrStack *stack, OrrPlace place, OrrDiags *diags) {
  g_autofree char *name = g_strdup_printf("%s-%s", stack->family, stack->release);
  if (!g_ascii_isdigit(*stack->release) ||
      strspn(stack->release, "0123456789.") < strlen(stack->release))
    orr_diags_error(diags, place, "release '%s': give a version in numbers and dots",
                    stack->release);
  else if (strcmp(name, stack->name) != 0)
    orr_diags_error(diags, place,
                    "the stack of family '%s' and release '%s' is named '%s', not '%s'",
                    stack->family, stack->release, name, stack->name);
}

OrrStack *orr_stack_read(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags) {
  const guint before = orr_diags_n_errors(diags);
  g_autoptr(OrrNode) whole = orr_node_copy_top(tree);
  const OrrNode *list = orr_node_get(whole, "settings");
  if (list && list->kind == ORR_NODE_LIST) {
    OrrNode *all = orr_node_new_list(list->place);
    collect(list, all);
    orr_node_set(whole, "settings", all);
  }
  g_autoptr(OrrStack) stack = g_new0(OrrStack, 1);
  if (!orr_field_read(&orr_stack_table, whole, library, diags, stack)) return NULL;
  list = orr_node_get(whole, "settings");
  ORR_EACH_POINTER_AT(i, OrrStackSetting, setting, stack->settings)
    setting->place = ((const OrrNode *)list->items->pdata[i])->place;
  check_name(stack, tree->place, diags);
  check_kind(stack, tree->place, diags);
  return orr_diags_n_errors(diags) == before ? g_steal_pointer(&stack) : NULL;
}

static void report_unknown(OrrLibrary *library, const OrrNode *name, OrrDiags *diags) {
  g_auto(GStrv) known = orr_library_names(library, "stack");
  g_autofree char *nearest = orr_stack_nearest(library, name->text);
  g_autofree char *all = orr_diag_known_words(name->text, (const char *const *)known, "stacks");
  orr_diags_error(diags, name->place,
                  "unknown stack '%s'%s%s%s (known: none, %s; a later version of one of these "
                  "families uses its newest stack that is not newer)",
                  name->text, nearest ? ": did you mean '" : "", nearest ? nearest : "",
                  nearest ? "'?" : "", all);
}

/* Replaces the scalar @name by the name of the document that answers for it. */
static gboolean resolve(OrrLibrary *library, OrrNode *name, OrrDiags *diags) {
  if (g_str_has_suffix(name->text, ".yaml")) return TRUE; /* a file */
  char *resolved = orr_stack_resolve(library, name->text);
  if (!resolved) {
    report_unknown(library, name, diags);
    return FALSE;
  }
  g_free(name->text);
  name->text = resolved;
  return TRUE;
}

OrrStack *orr_stack_load(OrrLibrary *library, const OrrNode *section, OrrDiags *diags) {
  g_autoptr(OrrNode) copy = orr_node_copy(section);
  OrrNode *name = copy->kind == ORR_NODE_SCALAR ? copy : orr_node_get(copy, "base");
  if (name && name->kind == ORR_NODE_SCALAR && !resolve(library, name, diags)) return NULL;
  g_autoptr(OrrNode) tree = orr_library_expand(library, "stack", copy, diags);
  return tree ? orr_stack_read(library, tree, diags) : NULL;
}

/* --- Describing --- */

static void add_flow(const OrrNode *value, GString *out) {
  if (value->kind == ORR_NODE_SCALAR) {
    g_string_append(out, value->text);
    return;
  }
  const gboolean is_map = value->kind == ORR_NODE_MAP;
  g_string_append_c(out, is_map ? '{' : '[');
  for (guint i = 0; i < orr_node_length(value); i++) {
    if (i > 0) g_string_append(out, ", ");
    if (is_map) g_string_append_printf(out, "%s: ", ((OrrNode *)value->keys->pdata[i])->text);
    add_flow(value->items->pdata[i], out);
  }
  g_string_append_c(out, is_map ? '}' : ']');
}

/* Whether a later setting without a condition replaces setting @index. */
static gboolean is_replaced(const OrrStack *stack, guint index) {
  const OrrStackSetting *setting = stack->settings->pdata[index];
  for (guint i = index + 1; i < stack->settings->len; i++) {
    const OrrStackSetting *later = stack->settings->pdata[i];
    if (!later->when && !later->times && strcmp(later->path, setting->path) == 0) return TRUE;
  }
  return FALSE;
}

static void describe_setting(const OrrStackSetting *setting, GString *out) {
  g_autofree char *file = setting->place.file ? g_path_get_basename(setting->place.file) : NULL;
  g_string_append_printf(out, "%s: ", setting->path);
  add_flow(setting->to, out);
  g_string_append_c(out, '\n');
  if (setting->when) g_string_append_printf(out, "    when    %s\n", setting->when);
  if (setting->at_most) g_string_append_printf(out, "    at most %s\n", setting->at_most);
  if (setting->times) g_string_append_printf(out, "    times   %s\n", setting->times);
  g_string_append_printf(out, "    source  %s (%s%s%s)\n", setting->source,
                         confidence_words[setting->confidence], file ? ", " : "", file ? file : "");
  g_autofree char *models = g_strjoinv(", ", setting->fitted_to);
  if (*models) g_string_append_printf(out, "    fitted  to %s alone\n", models);
}

char *orr_stack_describe(const OrrStack *stack) {
  GString *out = g_string_new(NULL);
  g_autofree char *sets = g_strjoinv(", ", stack->validated_by);
  g_autofree char *platforms = g_strjoinv(", ", stack->platforms);
  g_string_append_printf(out, "%s (stack for %s): %s\n", stack->name, stack->kind, stack->summary);
  if (stack->released) g_string_append_printf(out, "released      %s\n", stack->released);
  g_string_append_printf(out, "runs on       %s\n", platforms);
  g_string_append_printf(out, "validated by  %s\n\n", *sets ? sets : "no measured rows");
  for (guint i = 0; i < stack->settings->len; i++)
    if (!is_replaced(stack, i)) describe_setting(stack->settings->pdata[i], out);
  return g_string_free(out, FALSE);
}

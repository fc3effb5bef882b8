/*
 * stack_setting.c - one setting of a stack in a scenario: whether its condition holds, and its
 * value.
 */
#include "sim/run/run_private.h"

#include "sim/base/expression.h"

/* --- Conditions --- */

static gboolean is_name_char(char c) { return g_ascii_isalnum(c) || strchr("._-", c); }

/* The paths in the text of an expression: words with a dot. */
static char **paths_of(const char *when) {
  g_autoptr(GStrvBuilder) paths = g_strv_builder_new();
  for (const char *at = when; *at;) {
    if (*at == '\'' || *at == '"') {
      const char *end = strchr(at + 1, *at);
      at = end ? end + 1 : at + strlen(at);
    } else if (g_ascii_isalpha(*at)) {
      gsize length = 0;
      while (at[length] && is_name_char(at[length])) length++;
      g_autofree char *word = g_strndup(at, length);
      if (strchr(word, '.')) g_strv_builder_add(paths, word);
      at += length;
    } else {
      while (*at && is_name_char(*at)) at++; /* a number with its decimals */
      if (*at && !g_ascii_isalpha(*at) && *at != '\'' && *at != '"') at++;
    }
  }
  return g_strv_builder_end(paths);
}

/* The kinds that the stack's own choices have: paths may lead into their parameters. */
static void put_choices(const OrrStackLaying *laying, OrrNode *probe) {
  ORR_EACH_POINTER(const OrrStackSetting, setting, laying->stack->settings) {
    const char *kind =
        setting->to->kind == ORR_NODE_MAP ? orr_node_get_text(setting->to, "kind") : NULL;
    g_autofree char *path = kind ? g_strconcat("workload.", setting->path, ".kind", NULL) : NULL;
    if (kind) orr_field_set(&orr_scenario_table, probe, path, kind, NULL);
  }
}

/* A path that no scenario with this kind of workload has is an error of the stack. */
static gboolean check_path(const OrrStackLaying *laying, const OrrStackSetting *setting,
                           const char *path) {
  g_autoptr(OrrNode) probe = orr_node_new_map(setting->place);
  g_autoptr(GError) error = NULL;
  g_autofree char *kind = g_strdup_printf("{kind: %s}", laying->kind);
  if (orr_field_set(&orr_scenario_table, probe, "workload", kind, NULL)) {
    put_choices(laying, probe);
    if (orr_field_set(&orr_scenario_table, probe, path, "1", &error)) return TRUE;
  }
  orr_diags_error(laying->diags, setting->place, "'%s': %s", path, error->message);
  return FALSE;
}

static const char *word_of(const OrrField *field, const void *data) {
  const char *member = (const char *)data + field->offset;
  if (field->kind == ORR_FIELD_WORD) return field->words[*(const int *)member];
  if (field->kind == ORR_FIELD_TEXT) return *(char *const *)member;
  const OrrEntry *entry = ((const OrrChoice *)member)->entry;
  return entry ? entry->name : NULL;
}

/* The value at @path of the scenario; FALSE where it does not have that key. */
static gboolean value_at(const OrrScenario *facts, const char *path, OrrValue *ret_value) {
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, (void *)facts, path, &data);
  double number = 0;
  if (!field) return FALSE;
  if (orr_field_number(field, data, &number)) {
    const gboolean is_truth = field->kind == ORR_FIELD_BOOL;
    *ret_value =
        (OrrValue){.type = is_truth ? ORR_VALUE_TRUTH : ORR_VALUE_NUMBER, .number = number};
    return TRUE;
  }
  if (field->kind != ORR_FIELD_WORD && field->kind != ORR_FIELD_TEXT &&
      field->kind != ORR_FIELD_CHOICE)
    return FALSE;
  const char *word = word_of(field, data);
  *ret_value = (OrrValue){.type = ORR_VALUE_TEXT, .text = word ? word : ""};
  return TRUE;
}

/* The value of @text, an expression over paths of the scenario; FALSE where it has not all of them,
 * or the expression is not of @type, which is an error. */
static gboolean evaluate(const OrrStackLaying *laying, const OrrStackSetting *setting,
                         const char *text, OrrValueType type, const OrrScenario *facts,
                         double *ret_value) {
  g_auto(GStrv) paths = paths_of(text);
  const guint n = g_strv_length(paths);
  g_autofree OrrExpressionName *names = g_new0(OrrExpressionName, n + 1);
  g_autofree OrrValue *values = g_new0(OrrValue, n + 1);
  for (guint i = 0; i < n; i++) {
    if (!check_path(laying, setting, paths[i]) || !value_at(facts, paths[i], &values[i]))
      return FALSE;
    names[i] = (OrrExpressionName){paths[i], values[i].type};
  }
  g_autoptr(OrrExpression) parsed =
      orr_expression_parse(text, setting->place, names, n, laying->diags);
  if (!parsed) return FALSE;
  if (orr_expression_type(parsed) != type) {
    orr_diags_error(laying->diags, setting->place, "'%s' is not %s", text,
                    type == ORR_VALUE_TRUTH ? "true or false" : "a number");
    return FALSE;
  }
  *ret_value = type == ORR_VALUE_TRUTH ? orr_expression_holds(parsed, values)
                                       : orr_expression_number(parsed, values);
  return TRUE;
}

/* The settings that need no facts are those without condition, bound and factor. */
gboolean orr_stack_setting_depends(const OrrStackSetting *setting) {
  return setting->when || setting->at_most || setting->times;
}

gboolean orr_stack_setting_holds(const OrrStackLaying *laying, const OrrStackSetting *setting,
                                 const OrrScenario *facts) {
  double value = 1;
  if (!facts) return !setting->when && !setting->times;
  if (setting->times && !evaluate(laying, setting, setting->times, ORR_VALUE_NUMBER, facts, &value))
    return FALSE;
  return !setting->when ||
         (evaluate(laying, setting, setting->when, ORR_VALUE_TRUTH, facts, &value) && value != 0);
}

/* --- Values --- */

/* "1.5 GiB" times @factor; NULL: not a number. */
static char *multiplied(const OrrNode *to, double factor) {
  char *unit = NULL, text[G_ASCII_DTOSTR_BUF_SIZE];
  if (to->kind != ORR_NODE_SCALAR) return NULL;
  const double number = g_ascii_strtod(to->text, &unit);
  if (unit == to->text) return NULL;
  return g_strconcat(g_ascii_formatd(text, sizeof text, "%.15g", number * factor), unit, NULL);
}

static OrrNode *bounded(const OrrStackLaying *laying, const OrrStackSetting *setting,
                        const OrrScenario *facts) {
  OrrValue most = {0};
  double number = 0;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  const gboolean is_bounded = setting->at_most && check_path(laying, setting, setting->at_most) &&
                              value_at(facts, setting->at_most, &most);
  if (!is_bounded || most.type != ORR_VALUE_NUMBER || setting->to->kind != ORR_NODE_SCALAR ||
      !orr_quantity_parse(setting->to->text, ORR_UNIT_NONE, &number, NULL) || number <= most.number)
    return orr_node_copy(setting->to);
  return orr_node_new_scalar(setting->place,
                             g_ascii_formatd(text, sizeof text, "%.15g", most.number));
}

OrrNode *orr_stack_setting_value(const OrrStackLaying *laying, const OrrStackSetting *setting,
                                 const OrrScenario *facts) {
  double factor = 1;
  if (!facts) return orr_node_copy(setting->to);
  if (!setting->times) return bounded(laying, setting, facts);
  evaluate(laying, setting, setting->times, ORR_VALUE_NUMBER, facts, &factor);
  g_autofree char *text = multiplied(setting->to, factor);
  if (text) return orr_node_new_scalar(setting->place, text);
  orr_diags_error(laying->diags, setting->place, "times: '%s' is set to no number", setting->path);
  return orr_node_copy(setting->to);
}

/* --- What depends on a path --- */

gboolean orr_stack_setting_uses(const OrrStackSetting *setting, const char *path) {
  const char *const texts[] = {setting->when, setting->at_most, setting->times};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_auto(GStrv) paths = texts[i] ? paths_of(texts[i]) : NULL;
    if (paths && g_strv_contains((const char *const *)paths, path)) return TRUE;
  }
  return FALSE;
}

void orr_stack_setting_check(const OrrStackLaying *laying, const OrrStackSetting *setting) {
  const char *const texts[] = {setting->when, setting->at_most, setting->times};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_auto(GStrv) paths = texts[i] ? paths_of(texts[i]) : NULL;
    for (char **path = paths; path && *path; path++) check_path(laying, setting, *path);
  }
}

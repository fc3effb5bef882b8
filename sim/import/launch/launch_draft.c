/*
 * launch_draft.c - a draft: settings that were read, and lines, questions and remarks that came of
 * them.
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_private.h"

static void free_setting(OrrLaunchSetting *setting) {
  ORR_FREE(setting->key, setting->written, setting->value, setting->unresolved, setting->remark,
           setting);
}

static void free_line(OrrLaunchLine *line) {
  ORR_FREE(line->path, line->value, line->comment, line);
}

static void free_source(OrrLaunchSource *source) { ORR_FREE(source->name, source->text, source); }

enum { MOST_DRAWN = 16 << 20 };

OrrLaunchDraft *orr_launch_draft_new(OrrLibrary *library, const OrrLaunchOptions *options) {
  OrrLaunchDraft *draft = g_new0(OrrLaunchDraft, 1);
  draft->budget = &draft->drawn;
  draft->library = library;
  draft->options = options;
  draft->diags = orr_diags_new();
  draft->sources = g_ptr_array_new_with_free_func((GDestroyNotify)free_source);
  draft->settings = g_ptr_array_new_with_free_func((GDestroyNotify)free_setting);
  draft->lines = g_ptr_array_new_with_free_func((GDestroyNotify)free_line);
  draft->questions = g_ptr_array_new_with_free_func(g_free);
  draft->remarks = g_ptr_array_new_with_free_func(g_free);
  draft->parts = g_ptr_array_new_with_free_func((GDestroyNotify)orr_launch_draft_free);
  return draft;
}

OrrLaunchDraft *orr_launch_draft_part(OrrLaunchDraft *whole, OrrLaunchRole role) {
  OrrLaunchDraft *part = orr_launch_draft_new(whole->library, whole->options);
  orr_diags_free(part->diags);
  part->diags = whole->diags;
  g_ptr_array_unref(part->sources);
  part->sources = g_ptr_array_ref(whole->sources);
  part->role = role;
  part->budget = whole->budget;
  g_ptr_array_add(whole->parts, part);
  return part;
}

void orr_launch_draft_free(OrrLaunchDraft *draft) {
  if (!draft) return;
  g_ptr_array_unref(draft->parts);
  if (draft->role == ORR_LAUNCH_WHOLE) orr_diags_free(draft->diags);
  g_ptr_array_unref(draft->sources);
  g_ptr_array_unref(draft->settings);
  g_ptr_array_unref(draft->lines);
  g_ptr_array_unref(draft->questions);
  g_ptr_array_unref(draft->remarks);
  ORR_FREE(draft->nodes_from, draft->gpus_from, draft);
}

static _Thread_local guint64 work;

guint64 orr_launch_draft_work(void) { return work; }

void orr_launch_draft_worked(gsize n) { work += n; }

gboolean orr_launch_draft_draw(OrrLaunchDraft *draft, gsize bytes, OrrPlace place) {
  gsize *drawn = draft->budget;
  if (*drawn > MOST_DRAWN) return FALSE;
  *drawn += MIN(bytes, MOST_DRAWN + 1);
  orr_launch_draft_worked(MIN(bytes, MOST_DRAWN + 1));
  if (*drawn > MOST_DRAWN)
    orr_diags_error(draft->diags, place,
                    "the input grows to more than 16 MiB: a loop or a variable that doubles makes "
                    "it so");
  return *drawn <= MOST_DRAWN;
}

OrrDiags *orr_launch_draft_diags(OrrLaunchDraft *draft) { return draft->diags; }

OrrLibrary *orr_launch_draft_library(OrrLaunchDraft *draft) { return draft->library; }

const OrrLaunchOptions *orr_launch_draft_options(OrrLaunchDraft *draft) { return draft->options; }

const char *orr_launch_draft_variable(OrrLaunchDraft *draft, const char *name) {
  const gsize length = strlen(name);
  for (char **pair = draft->options->variables; pair && *pair; pair++)
    if (strncmp(*pair, name, length) == 0 && (*pair)[length] == '=') return *pair + length + 1;
  return NULL;
}

/* --- Settings --- */

static char *normal_key(const char *key) {
  while (*key == '-') key++;
  char *normal = g_ascii_strdown(key, -1);
  for (char *c = normal; *c; c++)
    if (*c == '_') *c = '-';
  return normal;
}

OrrLaunchSetting *orr_launch_draft_add(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                       const char *key, const char *value, OrrPlace place) {
  OrrLaunchSetting *setting = g_new0(OrrLaunchSetting, 1);
  setting->dialect = dialect;
  setting->key = normal_key(key);
  setting->written = value ? g_strdup_printf("%s %s", key, value) : g_strdup(key);
  setting->value = g_strdup(value);
  setting->place = place;
  g_ptr_array_add(draft->settings, setting);
  return setting;
}

const GPtrArray *orr_launch_draft_settings(OrrLaunchDraft *draft) { return draft->settings; }

/* Whether @setting has a spelling of @rule, its dialect's rule for @key. */
static gboolean is_of(const OrrLaunchSetting *setting, const OrrLaunchRule *rule, const char *key) {
  if (strcmp(setting->key, key) == 0) return TRUE;
  if (!rule || g_str_has_suffix(rule->keys, ".*")) return FALSE;
  const OrrLaunchRule *own =
      setting->rule ? setting->rule : orr_launch_rule_find(setting->dialect, setting->key);
  return own == rule;
}

OrrLaunchSetting *orr_launch_draft_find(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                        const char *key) {
  const OrrLaunchDialect *looked_up = NULL;
  const OrrLaunchRule *rule = NULL;
  for (guint i = draft->settings->len; i-- > 0;) {
    OrrLaunchSetting *setting = draft->settings->pdata[i];
    orr_launch_draft_worked(1);
    if (dialect && setting->dialect != dialect) continue;
    if (setting->dialect != looked_up) {
      looked_up = setting->dialect;
      rule = orr_launch_rule_find(looked_up, key);
    }
    if (is_of(setting, rule, key)) return setting;
  }
  return NULL;
}

OrrLaunchSetting *orr_launch_draft_at(const OrrLaunchDraft *draft, const char *path,
                                      gboolean unconverted) {
  for (guint i = draft->settings->len; i-- > 0;) {
    OrrLaunchSetting *setting = draft->settings->pdata[i];
    if (setting->rule && g_strcmp0(setting->rule->path, path) == 0 &&
        setting->verdict == ORR_LAUNCH_MAPPED && !(unconverted && setting->rule->convert))
      return setting;
  }
  return NULL;
}

const char *orr_launch_draft_value(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                   const char *key) {
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, dialect, key);
  if (!setting) return NULL;
  return setting->value ? setting->value : "true";
}

gint64 orr_launch_draft_int(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *key,
                            gint64 fallback) {
  double number = 0;
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, dialect, key);
  if (!setting || setting->is_unresolved) return fallback; /* the rules ask for the variable */
  const gboolean is_number =
      setting->value && orr_quantity_parse(setting->value, ORR_UNIT_NONE, &number, NULL);
  if (is_number && ABS(number) < 1e15 && number == (double)(gint64)number) return (gint64)number;
  orr_launch_draft_bad(draft, setting, "'%s' is not a whole number",
                       setting->value ? setting->value : "");
  return fallback;
}

gboolean orr_launch_draft_is_on(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                const char *key) {
  static const char *const off[] = {"0", "false", "no", "off", "none", "null", NULL};
  const char *value = orr_launch_draft_value(draft, dialect, key);
  g_autofree char *lower = value ? g_ascii_strdown(value, -1) : NULL;
  return lower && !g_strv_contains(off, lower);
}

/* --- Lines --- */

OrrLaunchLine *orr_launch_draft_line(OrrLaunchDraft *draft, const char *path) {
  ORR_EACH_POINTER(OrrLaunchLine, line, draft->lines)
    if (strcmp(line->path, path) == 0) return line;
  return NULL;
}

/* No engine captures graphs once a switch has turned them off, whatever sizes others give, and in
 * whatever order they stand. */
static gboolean is_off(const OrrLaunchLine *line) {
  return g_str_has_suffix(line->path, "cuda-graph-max-size") && strcmp(line->value, "0") == 0;
}

void orr_launch_draft_set(OrrLaunchDraft *draft, const char *path, const char *value,
                          const OrrLaunchSetting *source, const char *remark) {
  OrrLaunchLine *line = orr_launch_draft_line(draft, path);
  if (!line) {
    line = g_new0(OrrLaunchLine, 1);
    line->path = g_strdup(path);
    g_ptr_array_add(draft->lines, line);
  } else if (is_off(line)) {
    return;
  }
  ORR_FREE(line->value, line->comment);
  line->value = g_strdup(value);
  if (source && remark)
    line->comment = g_strdup_printf("%s: %s", source->written, remark);
  else
    line->comment = g_strdup(source ? source->written : remark);
}

void orr_launch_draft_set_number(OrrLaunchDraft *draft, const char *path, gint64 number,
                                 const OrrLaunchSetting *source, const char *remark) {
  g_autofree char *text = g_strdup_printf("%ld", number);
  orr_launch_draft_set(draft, path, text, source, remark);
}

const char *orr_launch_draft_get(OrrLaunchDraft *draft, const char *path) {
  const OrrLaunchLine *line = orr_launch_draft_line(draft, path);
  return line ? line->value : NULL;
}

gint64 orr_launch_draft_degree(OrrLaunchDraft *draft, const char *path) {
  const char *text = orr_launch_draft_get(draft, path);
  return text ? CLAMP(g_ascii_strtoll(text, NULL, 10), 1, 1 << 20) : 1;
}

void orr_launch_draft_bad(OrrLaunchDraft *draft, const OrrLaunchSetting *setting,
                          const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *problem = g_strdup_vprintf(format, values);
  va_end(values);
  orr_diags_error(draft->diags, setting->place, "%s: %s", setting->key, problem);
}

void orr_launch_draft_judge(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            OrrLaunchVerdict verdict, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_free(setting->remark);
  setting->remark = g_strdup_vprintf(format, values);
  va_end(values);
  setting->verdict = verdict;
}

/* Adds the text once. */
static void add_text(GPtrArray *texts, char *text) {
  if (g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL))
    g_free(text);
  else
    g_ptr_array_add(texts, text);
}

void orr_launch_draft_ask(OrrLaunchDraft *draft, const char *format, ...) {
  va_list values;
  va_start(values, format);
  add_text(draft->questions, g_strdup_vprintf(format, values));
  va_end(values);
}

void orr_launch_draft_ask_model(OrrLaunchDraft *draft, const char *format, ...) {
  va_list values;
  va_start(values, format);
  add_text(draft->questions, g_strdup_vprintf(format, values));
  va_end(values);
  draft->asks_model = TRUE;
}

void orr_launch_draft_remark(OrrLaunchDraft *draft, const char *format, ...) {
  va_list values;
  va_start(values, format);
  add_text(draft->remarks, g_strdup_vprintf(format, values));
  va_end(values);
}

/* --- The machine --- */

void orr_launch_draft_set_nodes(OrrLaunchDraft *draft, gint64 nodes, const char *from) {
  draft->nodes = nodes;
  g_free(draft->nodes_from);
  draft->nodes_from = g_strdup(from);
}

void orr_launch_draft_set_gpus_per_node(OrrLaunchDraft *draft, gint64 gpus, const char *from) {
  draft->gpus_per_node = gpus;
  g_free(draft->gpus_from);
  draft->gpus_from = g_strdup(from);
}

gint64 orr_launch_draft_gpus(OrrLaunchDraft *draft) {
  const OrrLaunchOptions *options = draft->options;
  if (options->gpus) return options->gpus;
  return (options->nodes ? options->nodes : draft->nodes) * draft->gpus_per_node;
}

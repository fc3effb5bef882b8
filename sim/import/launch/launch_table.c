/*
 * launch_table.c - reads a dialect's table, and converts values by its rows.
 */
#include "sim/import/launch/launch_table.h"

#include <string.h>

#include "sim/base/csv.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_serving.h"
#include "sim/import/launch/launch_translate.h"

extern const OrrLaunchTable orr_launch_tables[];
extern const guint orr_launch_tables_n;

/* --- Converters --- */

static void convert_bool(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  static const char *const yes[] = {"1", "true", "yes", "on", NULL};
  static const char *const no[] = {"0", "false", "no", "off", NULL};
  g_autofree char *lower = g_ascii_strdown(setting->value ? setting->value : "true", -1);
  if (g_strv_contains(yes, lower))
    orr_launch_draft_set(draft, rule->path, "true", setting, NULL);
  else if (g_strv_contains(no, lower))
    orr_launch_draft_set(draft, rule->path, "false", setting, NULL);
  else
    orr_launch_draft_bad(draft, setting, "'%s' is neither true nor false", setting->value);
}

static void convert_int(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                        const OrrLaunchRule *rule) {
  const guint n_errors = orr_diags_n_errors(draft->diags);
  const gint64 number = orr_launch_draft_int(draft, setting->dialect, setting->key, 0);
  if (orr_diags_n_errors(draft->diags) == n_errors)
    orr_launch_serving_set(draft, rule->path, number, setting, NULL);
}

/* "Cp_Comm" -> "cp-comm" */
static char *plain(const char *text) { return g_strdelimit(g_ascii_strdown(text, -1), "_", '-'); }

static gboolean is_case(const OrrLaunchCase *one, const char *value, gboolean is_on) {
  if (strcmp(one->word, "on") == 0) return is_on;
  if (strcmp(one->word, "off") == 0) return !is_on;
  return g_pattern_match_simple(one->word, value);
}

static void convert_words(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  const gboolean is_on = orr_launch_draft_is_on(draft, setting->dialect, setting->key);
  g_autofree char *value = plain(setting->value ? setting->value : "true");
  const OrrLaunchCase *one = rule->cases;
  while (one->word && !is_case(one, value, is_on)) one++;
  if (!one->word || (one->verdict == ORR_LAUNCH_MAPPED && !*one->ours)) return;
  if (one->verdict == ORR_LAUNCH_MAPPED)
    orr_launch_draft_set(draft, rule->path, one->ours, setting, one->remark);
  else
    orr_launch_draft_judge(draft, setting, one->verdict, "%s", one->ours);
}

/* Those that all dialects have. */
static const OrrLaunchConverter converters[] = {
    {"all-to-all", orr_launch_serving_all_to_all},
    {"bool", convert_bool},
    {"client-model", orr_launch_serving_client_model},
    {"count", orr_launch_serving_count},
    {"dtype", orr_launch_serving_dtype},
    {"fraction", orr_launch_serving_fraction},
    {"gib", orr_launch_serving_gib},
    {"int", convert_int},
    {"json", orr_launch_serving_json},
    {"kv-dtype", orr_launch_serving_kv_dtype},
    {"model", orr_launch_serving_model},
    {"quantization", orr_launch_serving_quantization},
    {NULL, NULL},
};

static OrrLaunchConvert find_converter(const OrrLaunchConverter *list, const char *name) {
  for (; list && list->name; list++)
    if (strcmp(list->name, name) == 0) return list->convert;
  return NULL;
}

/* --- Reading --- */

typedef struct {
  const OrrLaunchDialect *dialect;
  OrrDiags *diags;
  GArray *rules;
} Reader;

enum { KEYS, TAKES, BECOMES, VALUE, WHY };

/* The index of @word in @words, or -1. */
static int index_of(const char *const *words, const char *word) {
  for (int i = 0; words[i]; i++)
    if (strcmp(words[i], word) == 0) return i;
  return -1;
}

static const char *after(const char *text, const char *prefix) {
  return g_str_has_prefix(text, prefix) ? g_intern_string(text + strlen(prefix)) : NULL;
}

/* "on=0 (no graphs)", "*=ignored the default" */
static OrrLaunchCase read_case(const Reader *reader, const OrrCsvLine *line, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals) {
    orr_diags_error(reader->diags, line->place, "'%s' is not WORD=OURS", text);
    return (OrrLaunchCase){.word = "", .ours = ""};
  }
  g_autofree char *word = g_strndup(text, (gsize)(equals - text)), *lower = plain(g_strstrip(word));
  g_autofree char *ours = g_strstrip(g_strdup(equals + 1));
  const char *ignored = after(ours, "ignored "), *warned = after(ours, "warned ");
  OrrLaunchCase one = {.word = g_intern_string(lower), .ours = ignored ? ignored : warned};
  if (one.ours) {
    one.verdict = ignored ? ORR_LAUNCH_IRRELEVANT : ORR_LAUNCH_NOT_SIMULATED;
    return one;
  }
  char *bracket = strstr(ours, " (");
  if (bracket && g_str_has_suffix(ours, ")")) {
    ours[strlen(ours) - 1] = '\0';
    *bracket = '\0';
    one.remark = g_intern_string(bracket + 2);
  }
  one.ours = g_intern_string(ours);
  return one;
}

static const OrrLaunchCase *read_cases(const Reader *reader, const OrrCsvLine *line,
                                       const char *text) {
  g_auto(GStrv) parts = g_strsplit(text, " | ", -1);
  OrrLaunchCase *cases = g_new0(OrrLaunchCase, g_strv_length(parts) + 1);
  for (guint i = 0; parts[i]; i++) cases[i] = read_case(reader, line, parts[i]);
  return cases;
}

static void read_value(const Reader *reader, const OrrCsvLine *line, OrrLaunchRule *rule) {
  const char *value = line->cells[VALUE], *later = after(value, "later ");
  const char *theirs = after(value, "megatron ");
  if (later) value = later;
  rule->is_later = later || strcmp(value, "code") == 0;
  if (theirs) {
    rule->convert = orr_launch_translate_convert;
    rule->why = theirs;
  } else if (strchr(value, '=')) {
    rule->convert = convert_words;
    rule->cases = read_cases(reader, line, value);
  } else if (*value && strcmp(value, "code") != 0) {
    rule->convert = find_converter(reader->dialect->converters, value);
    if (!rule->convert) rule->convert = find_converter(converters, value);
    if (!rule->convert)
      orr_diags_error(reader->diags, line->place, "there is no converter '%s'", value);
  }
}

/* Words of which '' is an empty one. */
static const char *neutral_of(const char *cell) {
  g_auto(GStrv) words = g_strsplit(cell, " ", -1);
  for (char **word = words; *word; word++)
    if (strcmp(*word, "''") == 0) **word = '\0';
  g_autofree char *text = g_strjoinv(" ", words);
  return g_intern_string(text);
}

/* More keys of the row above. */
static void add_keys(const Reader *reader, const OrrCsvLine *line) {
  if (reader->rules->len == 0) {
    orr_diags_error(reader->diags, line->place, "there is no row above");
    return;
  }
  OrrLaunchRule *above = &g_array_index(reader->rules, OrrLaunchRule, reader->rules->len - 1);
  g_autofree char *keys = g_strjoin(" ", above->keys, line->cells[KEYS], NULL);
  above->keys = g_intern_string(keys);
}

static void read_row(const Reader *reader, const OrrCsvLine *line) {
  static const char *const arities[] = {"", "flag", "maybe", "many", NULL};
  static const char *const verdicts[] = {"", "ignored", "warned", NULL};
  const int arity = index_of(arities, line->cells[TAKES]);
  const int verdict = index_of(verdicts, line->cells[BECOMES]);
  OrrLaunchRule rule = {.keys = g_intern_string(line->cells[KEYS]), .arity = MAX(arity, 0)};
  if (arity < 0)
    orr_diags_error(reader->diags, line->place, "'%s' is not flag, maybe or many",
                    line->cells[TAKES]);
  if (verdict == 0) {
    add_keys(reader, line);
    return;
  }
  if (verdict > 0) {
    rule.verdict = verdict == 1 ? ORR_LAUNCH_IRRELEVANT : ORR_LAUNCH_NOT_SIMULATED;
    rule.why = g_intern_string(line->cells[WHY]);
    rule.neutral = neutral_of(line->cells[VALUE]);
  } else {
    rule.path = g_intern_string(line->cells[BECOMES]);
    read_value(reader, line, &rule);
  }
  g_array_append_val(reader->rules, rule);
}

OrrLaunchTable orr_launch_table_of(const OrrLaunchDialect *dialect) {
  const char *name = dialect->table ? dialect->table : dialect->name;
  for (guint i = 0; i < orr_launch_tables_n; i++)
    if (strcmp(orr_launch_tables[i].name, name) == 0) return orr_launch_tables[i];
  return (OrrLaunchTable){.text = name};
}

static void clear_rule(gpointer rule) { g_free((OrrLaunchCase *)((OrrLaunchRule *)rule)->cases); }

GArray *orr_launch_table_rules(const OrrLaunchDialect *dialect, OrrDiags *diags) {
  static const char columns[] = "keys,takes,becomes,value,why";
  const Reader reader = {dialect, diags, g_array_new(FALSE, FALSE, sizeof(OrrLaunchRule))};
  g_array_set_clear_func(reader.rules, clear_rule);
  g_autoptr(OrrCsv) csv = orr_csv_parse(orr_launch_table_of(dialect).text, dialect->name, diags);
  g_autofree char *header = g_strjoinv(",", csv->header);
  if (strcmp(header, columns) != 0) {
    orr_diags_error(diags, (OrrPlace){.file = dialect->name}, "the header is not %s", columns);
    return reader.rules;
  }
  for (guint i = 0; i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (line->cells) read_row(&reader, line);
  }
  return reader.rules;
}

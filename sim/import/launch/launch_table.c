/*
 * launch_table.c - reads a dialect's table; launch_convert.c converts values by its rows.
 */
#include "sim/import/launch/launch_private.h"

#include "sim/base/csv.h"

extern const OrrLaunchTable orr_launch_tables[];
extern const guint orr_launch_tables_n;

/* Tables are read once and live as long as the program. Not interned: GLib gives up its first list
 * of 2,048 interned strings for a longer one, which counts as a leak. */
static const char *keep(const char *text) {
  static GStringChunk *chunk = NULL;
  if (!chunk) chunk = g_string_chunk_new(4096);
  return g_string_chunk_insert_const(chunk, text);
}

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

/* A cell that has something where the row has no use for it would be lost without a word. */
static void refuse_cells(const Reader *reader, const OrrCsvLine *line, const char *what,
                         guint used) {
  static const char *const names[] = {"keys", "takes", "becomes", "value", "why"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (*line->cells[i] && !(used >> i & 1))
      orr_diags_error(reader->diags, line->place, "%s takes no %s, found '%s'", what, names[i],
                      line->cells[i]);
}

/* Words with one blank between them, each of characters that keys have. */
static void check_words(const Reader *reader, const OrrCsvLine *line, const char *name,
                        const char *cell, const char *pattern) {
  if (!g_regex_match_simple(pattern, cell, G_REGEX_DOLLAR_ENDONLY, 0))
    orr_diags_error(reader->diags, line->place, "%s '%s' are not words with a blank between them",
                    name, cell);
}

static void check_keys(const Reader *reader, const OrrCsvLine *line) {
  check_words(reader, line, "keys", line->cells[KEYS], "^[^ A-Z,]+( [^ A-Z,]+)*$");
}

static void check_path(const Reader *reader, const OrrCsvLine *line) {
  check_words(reader, line, "becomes", line->cells[BECOMES],
              "^[a-z0-9-]+(\\.[a-z0-9-]+)*( [a-z0-9-]+(\\.[a-z0-9-]+)*)*$");
}

/* The index of @word in @words, or -1. */
static int index_of(const char *const *words, const char *word) {
  for (int i = 0; words[i]; i++)
    if (strcmp(words[i], word) == 0) return i;
  return -1;
}

static const char *after(const char *text, const char *prefix) {
  return g_str_has_prefix(text, prefix) ? keep(text + strlen(prefix)) : NULL;
}

/* Splits a verdict and its reason off @ours: "zb-v warned its overlap is not simulated". */
static void read_verdict(const Reader *reader, const OrrCsvLine *line, OrrLaunchCase *one,
                         char *ours) {
  static const struct {
    const char *word;
    OrrLaunchVerdict verdict;
    gboolean is_refused;
  } verdicts[] = {{"mapped ", ORR_LAUNCH_MAPPED, FALSE},
                  {"ignored ", ORR_LAUNCH_IRRELEVANT, FALSE},
                  {"warned ", ORR_LAUNCH_NOT_SIMULATED, FALSE},
                  {"refused ", ORR_LAUNCH_MAPPED, TRUE}};
  for (guint i = 0; i < G_N_ELEMENTS(verdicts); i++) {
    g_autofree char *name = g_strchomp(g_strdup(verdicts[i].word));
    if (g_str_has_suffix(ours, name))
      orr_diags_error(reader->diags, line->place, "'%s' without a reason", name);
    char *at = strstr(ours, verdicts[i].word);
    if (!at || (at > ours && at[-1] != ' ')) continue;
    one->reason = keep(at + strlen(verdicts[i].word));
    one->verdict = verdicts[i].verdict;
    one->is_refused = verdicts[i].is_refused;
    *at = '\0';
    return;
  }
}

/* "0 (no graphs)": cuts the remark off @ours. */
static void read_remark(const Reader *reader, const OrrCsvLine *line, OrrLaunchCase *one,
                        char *ours) {
  char *bracket = strstr(ours, " (");
  if (bracket && g_str_has_suffix(ours, ")")) {
    ours[strlen(ours) - 1] = '\0';
    *bracket = '\0';
    one->remark = keep(bracket + 2);
  } else if (strpbrk(ours, "()|")) {
    orr_diags_error(reader->diags, line->place, "'%s' is not OURS, or OURS (REMARK)", ours);
  }
}

/* "off=0 (no graphs)", "*=ignored the default" */
static OrrLaunchCase read_case(const Reader *reader, const OrrCsvLine *line, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals) {
    orr_diags_error(reader->diags, line->place, "'%s' is not WORD=OURS", text);
    return (OrrLaunchCase){.word = "", .ours = ""};
  }
  g_autofree char *word = g_strndup(text, (gsize)(equals - text)),
                  *lower = g_ascii_strdown(g_strstrip(word), -1);
  g_strdelimit(lower, "_", '-');
  g_autofree char *ours = g_strdup(equals + 1);
  OrrLaunchCase one = {.word = keep(lower)};
  if (!*lower) orr_diags_error(reader->diags, line->place, "'%s' has no word", text);
  read_verdict(reader, line, &one, ours);
  g_strstrip(ours);
  read_remark(reader, line, &one, ours);
  one.ours = keep(ours);
  return one;
}

/* A word behind '*', or one that stands twice, is never met. */
static void check_cases(const Reader *reader, const OrrCsvLine *line, const OrrLaunchCase *cases,
                        gboolean is_later) {
  for (guint i = 0; cases[i].word; i++) {
    const gboolean is_absent = strcmp(cases[i].word, "absent") == 0;
    if (is_absent && !is_later)
      orr_diags_error(reader->diags, line->place, "'absent' needs 'later'");
    for (guint j = 0; j < i && !is_absent; j++)
      if (strcmp(cases[j].word, "*") == 0 || strcmp(cases[j].word, cases[i].word) == 0)
        orr_diags_error(reader->diags, line->place, "'%s' is not met behind '%s'", cases[i].word,
                        cases[j].word);
  }
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
  if (later) value = later;
  const char *theirs = after(value, "megatron "), *unit = after(value, "unit ");
  if (later && (strcmp(value, "code") == 0 || theirs || !*value))
    orr_diags_error(reader->diags, line->place, "'later' is for a converter or a map, found '%s'",
                    value);
  rule->is_later = later || strcmp(value, "code") == 0;
  if (theirs) {
    rule->convert = find_converter(orr_launch_converters, "megatron ");
    rule->why = theirs;
  } else if (unit) {
    rule->convert = find_converter(orr_launch_converters, "unit ");
    rule->why = unit;
  } else if (strchr(value, '=')) {
    rule->convert = find_converter(orr_launch_converters, "=");
    rule->cases = read_cases(reader, line, value);
    check_cases(reader, line, rule->cases, rule->is_later);
  } else if (strcmp(value, "code") != 0) {
    const char *name = *value ? value : "copy";
    rule->convert = find_converter(reader->dialect->converters, name);
    if (!rule->convert) rule->convert = find_converter(orr_launch_converters, name);
    if (!rule->convert)
      orr_diags_error(reader->diags, line->place, "there is no converter '%s'", value);
  }
}

static void clear_rule(gpointer data) {
  const OrrLaunchRule *rule = data;
  g_free((OrrLaunchCase *)rule->cases);
  if (rule->also) clear_rule((OrrLaunchRule *)rule->also);
  g_free((OrrLaunchRule *)rule->also);
}

/* Words; '' is an empty one. */
static const char *neutral_of(const char *cell) {
  g_auto(GStrv) words = g_strsplit(cell, " ", -1);
  for (char **word = words; *word; word++)
    if (strcmp(*word, "''") == 0) **word = '\0';
  g_autofree char *text = g_strjoinv(" ", words);
  return keep(text);
}

static OrrLaunchRule *row_above(const Reader *reader, const OrrCsvLine *line) {
  const guint n = reader->rules->len;
  if (n == 0) orr_diags_error(reader->diags, line->place, "there is no row above");
  return n == 0 ? NULL : &g_array_index(reader->rules, OrrLaunchRule, n - 1);
}

static void add_keys(const Reader *reader, const OrrCsvLine *line) {
  OrrLaunchRule *above = row_above(reader, line);
  if (!above) return;
  check_keys(reader, line);
  refuse_cells(reader, line, "a row of more keys", 1u << KEYS);
  g_autofree char *keys = g_strjoin(" ", above->keys, line->cells[KEYS], NULL);
  above->keys = keep(keys);
}

/* A further path of the row above. */
static void add_path(const Reader *reader, const OrrCsvLine *line) {
  OrrLaunchRule *above = row_above(reader, line);
  if (!above) return;
  if (!above->path)
    orr_diags_error(reader->diags, line->place, "the row above sets no key of a scenario");
  check_path(reader, line);
  refuse_cells(reader, line, "a further key of a scenario", 1u << BECOMES | 1u << VALUE);
  OrrLaunchRule *rule = g_new0(OrrLaunchRule, 1);
  rule->path = keep(line->cells[BECOMES]);
  read_value(reader, line, rule);
  while (above->also) above = (OrrLaunchRule *)above->also;
  above->also = rule;
}

static void read_row(const Reader *reader, const OrrCsvLine *line) {
  static const char *const arities[] = {"", "flag", "maybe", "many", NULL};
  static const char *const verdicts[] = {"", "ignored", "warned", NULL};
  const int arity = index_of(arities, line->cells[TAKES]);
  const int verdict = index_of(verdicts, line->cells[BECOMES]);
  OrrLaunchRule rule = {.keys = keep(line->cells[KEYS]), .arity = MAX(arity, 0)};
  if (arity < 0)
    return orr_diags_error(reader->diags, line->place, "'%s' is not flag, maybe or many",
                           line->cells[TAKES]);
  if (verdict == 0) return add_keys(reader, line);
  if (!*line->cells[KEYS]) return add_path(reader, line);
  check_keys(reader, line);
  if (verdict > 0) {
    rule.verdict = verdict == 1 ? ORR_LAUNCH_IRRELEVANT : ORR_LAUNCH_NOT_SIMULATED;
    rule.why = keep(line->cells[WHY]);
    rule.neutral = neutral_of(line->cells[VALUE]);
    refuse_cells(reader, line, line->cells[BECOMES], verdict == 1 ? ~(1u << VALUE) : ~0u);
    if (!*rule.why)
      orr_diags_error(reader->diags, line->place, "%s needs a reason", verdicts[verdict]);
  } else {
    rule.path = keep(line->cells[BECOMES]);
    check_path(reader, line);
    refuse_cells(reader, line, "a key that is mapped", ~(1u << WHY));
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

GArray *orr_launch_table_rules(const OrrLaunchDialect *dialect, OrrDiags *diags) {
  static const char columns[] = "keys,takes,becomes,value,why";
  const Reader reader = {dialect, diags, g_array_new(FALSE, FALSE, sizeof(OrrLaunchRule))};
  g_array_set_clear_func(reader.rules, clear_rule);
  g_autofree char *file = g_strconcat(dialect->name, ".csv", NULL);
  g_autoptr(OrrCsv) csv = orr_csv_parse(orr_launch_table_of(dialect).text, file, diags);
  g_autofree char *header = csv->header ? g_strjoinv(",", csv->header) : g_strdup("");
  if (strcmp(header, columns) != 0) {
    orr_diags_error(diags, (OrrPlace){.file = g_intern_string(file)}, "the header is not %s",
                    columns);
    return reader.rules;
  }
  ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
    if (line->cells) read_row(&reader, line);
  return reader.rules;
}

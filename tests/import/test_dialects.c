/* test_dialects.c - every dialect of launch lines: its table is read, its rules are complete and
 * name keys that exist; no spelling stands twice. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_private.h"
#include "sim/run/scenario.h"

/* Fails the test, and goes on to the next finding. */
static void complain(const char *format, ...) G_GNUC_PRINTF(1, 2);
static void complain(const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  g_test_message("%s", text);
  g_test_fail();
}

/* The names of all keys that a scenario's schema knows. */
static char *schema;

static gboolean is_key(const char *name) {
  g_autofree char *quoted = g_strdup_printf("\"%s\":", name);
  return strstr(schema, quoted) != NULL;
}

static void check_path(const OrrLaunchDialect *dialect, const OrrLaunchRule *rule) {
  g_auto(GStrv) paths = g_strsplit(rule->path, " ", -1);
  for (char **path = paths; *path; path++) {
    g_auto(GStrv) keys = g_strsplit(*path, ".", -1);
    for (char **key = keys; *key; key++)
      if (!is_key(*key))
        complain("%s: %s: the scenario has no key '%s'", dialect->name, rule->keys, *key);
  }
}

static void check_rule(const OrrLaunchDialect *dialect, const OrrLaunchRule *rule) {
  if (rule->verdict == ORR_LAUNCH_MAPPED && !rule->path)
    complain("%s: %s: mapped to no key", dialect->name, rule->keys);
  if (rule->verdict != ORR_LAUNCH_MAPPED && !rule->why)
    complain("%s: %s: no reason", dialect->name, rule->keys);
  for (; rule; rule = rule->also)
    if (rule->path) check_path(dialect, rule);
}

/* A pattern matches keys that nobody has looked at: of a switch among them, neither value is known
 * to be the default. */
static void check_pattern(const OrrLaunchDialect *dialect, const OrrLaunchRule *rule) {
  g_auto(GStrv) words = g_strsplit(rule->neutral ? rule->neutral : "", " ", -1);
  const char *const *all = (const char *const *)words;
  if (strchr(rule->keys, '*') && (g_strv_contains(all, "true") || g_strv_contains(all, "false")))
    complain("%s: %s: a pattern says that a switch is harmless", dialect->name, rule->keys);
}

static char *read_source(const char *name) {
  g_autofree char *path = g_strconcat(ORR_SOURCE_DIR "/sim/import/launch/", name, NULL);
  char *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  return text;
}

/* "orr_dialect_megatron" of the dialect that is called "megatron-lm". Newly allocated. */
static char *symbol_of(const OrrLaunchDialect *dialect, const GPtrArray *files) {
  g_autofree char *pattern =
      g_strdup_printf("(orr_dialect_\\w+) = \\{\\s*\\.name = \"%s\"", dialect->name);
  g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
  for (guint i = 0; i < files->len; i++) {
    g_autofree char *text = read_source(files->pdata[i]);
    g_autoptr(GMatchInfo) found = NULL;
    if (g_regex_match(regex, text, 0, &found)) return g_match_info_fetch(found, 1);
  }
  g_error("no source defines %s", dialect->name);
}

static GPtrArray *source_names(void) {
  GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GDir) folder = g_dir_open(ORR_SOURCE_DIR "/sim/import/launch", 0, NULL);
  for (const char *name; (name = g_dir_read_name(folder));)
    if (g_str_has_suffix(name, ".c")) g_ptr_array_add(files, g_strdup(name));
  return files;
}

/* The sources that settle @dialect's rows: those that name it, and those that no dialect has for
 * itself. A text that goes on in the next line is one. */
static char *sources(const OrrLaunchDialect *dialect) {
  g_autoptr(GPtrArray) files = source_names();
  g_autofree char *symbol = symbol_of(dialect, files);
  g_autofree char *pattern = g_strdup_printf("\\b%s\\b", symbol);
  g_autoptr(GString) all = g_string_new(NULL);
  g_autoptr(GRegex) joint = g_regex_new("\"\\s*\"", 0, 0, NULL);
  for (guint i = 0; i < files->len; i++) {
    g_autofree char *text = read_source(files->pdata[i]);
    const gboolean is_shared = !g_str_has_prefix(files->pdata[i], "dialect_");
    if (is_shared || g_regex_match_simple(pattern, text, 0, 0)) g_string_append(all, text);
  }
  return g_regex_replace_literal(joint, all->str, -1, 0, "", 0, NULL);
}

/* A row that is `later` counts when its dialect's code settles it: where no source names its key,
 * or the path by which several dialects share their code, it would be lost without a word. */
static void check_settled(const OrrLaunchDialect *dialect, const OrrLaunchRule *rule,
                          const char *code) {
  g_auto(GStrv) keys = g_strsplit(rule->keys, " ", -1);
  for (char **key = keys; *key; key++) {
    g_autofree char *escaped = g_regex_escape_string(*key, -1);
    g_autofree char *pattern = g_strconcat("[\" ]", escaped, "[\" ]", NULL);
    if (g_regex_match_simple(pattern, code, 0, 0)) return;
  }
  g_autofree char *path = g_strdup_printf("\"%s\"", rule->path ? rule->path : "");
  if (strstr(code, path) && strstr(code, "orr_launch_draft_at(draft, ")) return;
  complain("%s: %s: `later`, or `code`, and no source names it", dialect->name, rule->keys);
}

static void check_spellings(const OrrLaunchDialect *dialect, const OrrLaunchRule *rule,
                            GHashTable *seen) {
  g_auto(GStrv) keys = g_strsplit(rule->keys, " ", -1);
  for (char **key = keys; *key; key++) {
    for (const char *c = *key; *c; c++)
      if (g_ascii_isupper(*c) || (*c == '_' && dialect->kind))
        complain("%s: '%s' is not spelled as settings are", dialect->name, *key);
    if (!g_hash_table_add(seen, g_strdup(*key)))
      complain("%s: '%s' stands twice", dialect->name, *key);
  }
}

static void test_rules(gconstpointer data) {
  const OrrLaunchDialect *dialect = data;
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *code = sources(dialect);
  g_assert_nonnull(orr_launch_dialect_sentence(dialect));
  if (dialect->signs && strchr(dialect->signs, '-'))
    complain("%s: signs have '_' for '-': %s", dialect->name, dialect->signs);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_array_unref(orr_launch_table_rules(dialect, diags));
  g_autofree char *errors = orr_diags_text(diags);
  if (*errors) complain("%s", errors);
  for (guint i = 0; orr_launch_rule_at(dialect, i); i++) {
    const OrrLaunchRule *rule = orr_launch_rule_at(dialect, i);
    check_rule(dialect, rule);
    check_pattern(dialect, rule);
    if (rule->is_later) check_settled(dialect, rule, code);
    check_spellings(dialect, rule, seen);
  }
}

/* A row that cannot be read, or would lose a part, is an error at its place. */
static void test_errors(void) {
  static const char *const rows[][2] = {
      {"above,,,,", "there is no row above"},
      {"a,two,model,,", "'two' is not flag, maybe or many"},
      {"b,,model,nothing,", "there is no converter 'nothing'"},
      {"c,,model,on=1 | 2,", "'2' is not WORD=OURS"},
      {"d,,model", "3 cells, but the header has 5"},
      {"e,flag,ignored,,why\nf,flag,,,", "a row of more keys takes no takes, found 'flag'"},
      {"e,flag,ignored,,why\nf,,,1,", "a row of more keys takes no value, found '1'"},
      {"g,,model,,\n,,,,", "keys '' are not words"},
      {"h,,ignored,false,why", "ignored takes no value, found 'false'"},
      {"i,,ignored,,", "ignored needs a reason"},
      {"j,,warned,,", "warned needs a reason"},
      {"k,,model,,why", "a key that is mapped takes no why, found 'why'"},
      {"l,,model,,\n,flag,cluster,,", "a further key of a scenario takes no takes, found 'flag'"},
      {"m,,ignored,,why\n,,cluster,,", "the row above sets no key of a scenario"},
      {"n  o,,model,,", "keys 'n  o' are not words"},
      {"O,,model,,", "keys 'O' are not words"},
      {"p,,Model,,", "becomes 'Model' are not words"},
      {"q,,model,*=a | b=c,", "'b' is not met behind '*'"},
      {"r,,model,b=a | b=c,", "'b' is not met behind 'b'"},
      {"s,,model,absent=a,", "'absent' needs 'later'"},
      {"t,,model,b=a refused ,", "'refused' without a reason"},
      {"u,,model,b=a (remark,", "'a (remark' is not OURS, or OURS (REMARK)"},
      {"v,,model,=a,", "'=a' has no word"},
      {"w,,model,later code,", "'later' is for a converter or a map, found 'code'"}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *table = g_strconcat("keys,takes,becomes,value,why\n", rows[i][0], "\n", NULL);
    const OrrLaunchDialect dialect = {.name = "x", .table = table};
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_array_unref(orr_launch_table_rules(&dialect, diags));
    g_autofree char *errors = orr_diags_text(diags);
    g_autofree char *wanted =
        g_strdup_printf("x.csv:%d:1: error: %s", strchr(rows[i][0], '\n') ? 3 : 2, rows[i][1]);
    if (!strstr(errors, wanted)) complain("'%s' is missing in: %s", wanted, errors);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  schema = orr_field_json_schema(&orr_scenario_table, "scenario");
  for (guint i = 0; orr_launch_dialects[i]; i++) {
    g_autofree char *path = g_strdup_printf("/dialects/%s", orr_launch_dialects[i]->name);
    g_test_add_data_func(path, orr_launch_dialects[i], test_rules);
  }
  g_test_add_func("/dialects/errors", test_errors);
  const int status = g_test_run();
  g_free(schema);
  return status;
}

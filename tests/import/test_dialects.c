/* test_dialects.c - every dialect of launch lines: its table is read, its rules are complete and
 * name keys that exist; no spelling stands twice. */
#include <glib.h>
#include <string.h>

#include "sim/import/launch/launch_table.h"
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
  if (rule->path) check_path(dialect, rule);
}

/* The sources of all dialects, in which a text that goes on in the next line is one. */
static char *sources(void) {
  g_autoptr(GString) all = g_string_new(NULL);
  g_autoptr(GDir) folder = g_dir_open(ORR_SOURCE_DIR "/sim/import/launch", 0, NULL);
  g_autoptr(GRegex) joint = g_regex_new("\"\\s*\"", 0, 0, NULL);
  for (const char *name; (name = g_dir_read_name(folder));) {
    g_autofree char *text = NULL, *path = NULL;
    if (!g_str_has_suffix(name, ".c")) continue;
    path = g_strconcat(ORR_SOURCE_DIR "/sim/import/launch/", name, NULL);
    if (g_file_get_contents(path, &text, NULL, NULL)) g_string_append(all, text);
  }
  return g_regex_replace_literal(joint, all->str, -1, 0, "", 0, NULL);
}

/* A row that is `later` counts when its dialect's code settles it: a key that no source names would
 * be lost without a word. */
static void check_settled(const OrrLaunchDialect *dialect, const OrrLaunchRule *rule,
                          const char *code) {
  g_auto(GStrv) keys = g_strsplit(rule->keys, " ", -1);
  for (char **key = keys; *key; key++) {
    g_autofree char *escaped = g_regex_escape_string(*key, -1);
    g_autofree char *pattern = g_strconcat("[\" ]", escaped, "[\" ]", NULL);
    if (g_regex_match_simple(pattern, code, 0, 0)) return;
  }
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
  g_autofree char *code = sources();
  g_assert_nonnull(orr_launch_dialect_sentence(dialect));
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_array_unref(orr_launch_table_rules(dialect, diags));
  g_autofree char *errors = orr_diags_text(diags);
  if (*errors) complain("%s", errors);
  for (guint i = 0; orr_launch_rule_at(dialect, i); i++) {
    const OrrLaunchRule *rule = orr_launch_rule_at(dialect, i);
    check_rule(dialect, rule);
    if (rule->is_later) check_settled(dialect, rule, code);
    check_spellings(dialect, rule, seen);
  }
}

/* A row that cannot be read is an error at its place, and no rule. */
static void test_errors(void) {
  const OrrLaunchDialect dialect = {.name = "x",
                                    .table = "keys,takes,becomes,value,why\n"
                                             "above,,,,\n"
                                             "a,two,model,,\n"
                                             "b,,model,nothing,\n"
                                             "c,,model,on=1 | 2,\n"
                                             "d,,model\n"};
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_array_unref(orr_launch_table_rules(&dialect, diags));
  g_autofree char *errors = orr_diags_text(diags);
  static const char *const wanted[] = {
      "x:2:1: error: there is no row above", "x:3:1: error: 'two' is not flag, maybe or many",
      "x:4:1: error: there is no converter 'nothing'", "x:5:1: error: '2' is not WORD=OURS",
      "x:6:1: error: 3 cells, but the header has 5"};
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
    if (!strstr(errors, wanted[i])) complain("'%s' is missing in: %s", wanted[i], errors);
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

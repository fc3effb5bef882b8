/*
 * test_hints.c - the `--set PATH=VALUE` hints in the comments of the shipped scenarios: each can be
 * applied to its scenario, and the result passes the checks.
 *
 * Comments are joined to one text. `--set A --set B`, with nothing but blanks between them, is one
 * hint. A value ends at a blank, or at the closing quote when it begins with one. A question mark,
 * full stop, comma, colon, semicolon, closing bracket or backtick after it is not part of it.
 */
#include <string.h>

#include "sim/base/settings.h"
#include "sim/run/scenario.h"
#include "tests/run/shared_library.h"

#define OPTION "--set "

/* The comments of a file, without '#' and line ends. Newly allocated. */
static char *comments_of(const char *text) {
  GString *joined = g_string_new(NULL);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++) {
    const char *hash = strchr(*line, '#');
    if (hash) g_string_append_printf(joined, " %s", hash + 1);
  }
  return g_string_free(joined, FALSE);
}

/* The setting at *@at, which moves behind it. Newly allocated. */
static char *read_setting(const char **at) {
  const char *begin = *at + strspn(*at, " ");
  const char quote = *begin == '\'' || *begin == '"' ? *begin : '\0';
  if (quote) {
    const char *end = strchr(begin + 1, quote);
    g_assert_nonnull(end);
    *at = end + 1;
    return g_strndup(begin + 1, (gsize)(end - begin - 1));
  }
  gsize length = strcspn(begin, " ");
  while (length > 0 && strchr(".,:;?)`", begin[length - 1])) length--;
  *at = begin + length;
  return g_strndup(begin, length);
}

/* The settings of the hint at @at, a strv; *@ret_end is behind it. */
static GStrv read_hint(const char *at, const char **ret_end) {
  g_autoptr(GStrvBuilder) settings = g_strv_builder_new();
  do {
    at += strlen(OPTION);
    g_autofree char *setting = read_setting(&at);
    g_strv_builder_add(settings, setting);
    *ret_end = at;
    at += strspn(at, " ");
  } while (g_str_has_prefix(at, OPTION));
  return g_strv_builder_end(settings);
}

static void check_hint(OrrLibrary *library, const char *name, GStrv settings) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *hint = g_strjoinv(" " OPTION, settings);
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, name, diags);
  g_assert_nonnull(tree);
  g_test_message("%s " OPTION "%s", name, hint);
  if (!orr_settings_apply(&orr_scenario_table, tree, settings, &error))
    g_error("%s: %s%s: %s", name, OPTION, hint, error->message);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *found = orr_diags_text(diags);
  if (!scenario) g_error("%s: %s%s: %s", name, OPTION, hint, found);
}

/* The number of hints in the comments of scenario @name. */
static guint check_scenario(OrrLibrary *library, const char *name) {
  g_autofree char *path = orr_library_path(library, "scenario", name), *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_autofree char *comments = comments_of(text);
  guint n = 0;
  for (const char *at = comments; (at = strstr(at, OPTION)); n++) {
    g_auto(GStrv) settings = read_hint(at, &at);
    check_hint(library, name, settings);
  }
  return n;
}

static void test_hints(void) {
  OrrLibrary *library = shared_library();
  g_auto(GStrv) names = orr_library_names(library, "scenario");
  guint n = 0;
  for (char **name = names; *name; name++) n += check_scenario(library, *name);
  g_test_message("%u hints", n);
  g_assert_cmpuint(n, >, 20);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/scenarios/hints", test_hints);
  return g_test_run();
}

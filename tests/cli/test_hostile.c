/*
 * test_hostile.c - databases, file names and parameters that were made to do harm: nothing of them is run, nothing is
 * written beside the place that the user named, and what is drawn or printed is their text as it stands.
 */
#include <sqlite3.h>

#include "tests/cli/bad_fixture.h"

static sqlite3 *connect_to(const char *name) {
  g_autofree char *path = path_of(name);
  sqlite3 *db = NULL;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  return db;
}

static void execute(sqlite3 *db, const char *sql) {
  char *message = NULL;
  sqlite3_exec(db, sql, NULL, NULL, &message);
  g_assert_cmpstr(message, ==, NULL);
}

/* A run of a small scenario, and then what @sql does to the database. */
static void make_database(const char *sql) {
  empty_folder();
  put("small.yaml", GOOD, -1);
  assert_fine("run small.yaml --db r.db", "iteration");
  sqlite3 *db = connect_to("r.db");
  execute(db, sql);
  sqlite3_close(db);
}

static gboolean is_there(const char *name) {
  g_autofree char *path = path_of(name);
  return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void assert_not_run(void) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir));)
    if (g_str_has_prefix(name, "pwned")) g_error("a command was run: it made %s", name);
}

/* --- Pictures --- */

#define HOSTILE "a_b^{c} `touch pwned1` $(touch pwned2) \"q\" 'r' \\n @x %s {/Bold z} # <i>"
#define AS_SQL "'a_b^{c} `touch pwned1` $(touch pwned2) \"q\" ''r'' \\n @x %s {/Bold z} # <i>'"

/* Every text of the database that a picture shows: the lanes' names, the series, and a sweep's axis. */
static const char hostile_sql[] =
    "UPDATE lane SET name = " AS_SQL " || lane;"
    "UPDATE run SET scenario = " AS_SQL ";"
    "UPDATE time_kind SET category = " AS_SQL " WHERE category = 'gemm';"
    "UPDATE span SET category = '`ls` a_b^{c} \"%s\" \\n' WHERE category <> 'compute' AND category <> 'step';";

static gboolean has_gnuplot(void) {
  g_autofree char *program = g_find_program_in_path("gnuplot");
  if (!program) g_test_skip("gnuplot is not installed");
  return program != NULL;
}

static void draw(const char *line, const char *picture) {
  g_autofree char *whole = g_strdup_printf("plot r.db %s", line);
  assert_fine(whole, picture);
  assert_not_run();
  g_assert_true(is_there(picture));
}

static void assert_drawn(const char *picture, const char *text) {
  g_autofree char *element = g_strconcat("<text>", text, "</text>", NULL);
  if (!strstr(picture, element)) g_error("not drawn as it is stored: %s", text);
}

/* Stored text is drawn as it stands: neither run, nor formatted, nor read as gnuplot's markup. */
static void test_stored_text(void) {
  if (!has_gnuplot()) return;
  g_autofree char *path = path_of("t.svg"), *picture = NULL;
  make_database(hostile_sql);
  draw("timeline -o t.svg", "t.svg");
  g_assert_true(g_file_get_contents(path, &picture, NULL, NULL));
  g_autoptr(GString) text = g_string_new(picture);
  g_string_replace(text, "&lt;", "<", 0);
  assert_drawn(text->str, HOSTILE "0");                   /* a lane */
  assert_drawn(text->str, "`ls` a_b^{c} \"%s\" \\n"); /* a series: one that is wider than the picture has no key */
  draw("time-breakdown -o b.svg", "b.svg");
  draw("roofline -o r.svg", "r.svg");
  draw("time-breakdown --term ascii", "");
}

static void test_parameters(void) {
  if (!has_gnuplot()) return;
  make_database("INSERT INTO param SELECT id, '`touch pwned1`', '1', 1 FROM run UNION ALL"
                " SELECT id, '\"`touch pwned2`', '2', 2 FROM run");
  draw("timeline -o t.svg --param 'parts=`touch pwned1`'", "t.svg");
  draw("heat-map -o h.svg --param 'x=`touch pwned1`' --param 'y=\"`touch pwned2`'", "h.svg");
  assert_refused("plot r.db timeline --param 'x; system(\"touch pwned3\")=1'", 2, "it takes no parameter");
  assert_not_run();
}

static void test_picture_names(void) {
  static const char *const names[] = {"a`touch pwned`.svg", "|touch pwned.svg", "<touch pwned.svg", "it's.svg",
                                      "a\"; system(\"touch pwned\"); \".svg", "~x.svg", "@x.svg", "$(touch pwned).svg"};
  if (!has_gnuplot()) return;
  make_database("SELECT 1");
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *quoted = g_shell_quote(names[i]), *line = g_strconcat("timeline -o ", quoted, NULL);
    draw(line, names[i]);
  }
  draw("timeline -o -e.svg", "-e.svg");
  assert_refused("plot r.db timeline -o 'a\nb.svg'", 2, "cannot hold a control character");
}

/* A user's ~/.gnuplot and gnuplot's variables do not change a picture. */
static void test_environment(void) {
  if (!has_gnuplot()) return;
  make_database("SELECT 1");
  g_autofree char *home = g_strdup(g_getenv("HOME"));
  put(".gnuplot", "system('touch pwned')\n", -1);
  g_setenv("HOME", folder, TRUE);
  draw("timeline -o t.svg", "t.svg");
  if (home) g_setenv("HOME", home, TRUE);
}

/* --- A report --- */

#define SCRIPT "<script>alert(1)</script>"
#define ESCAPED "&lt;script&gt;alert(1)&lt;/script&gt;"

/* A page shows markup as text, wherever the database has it: in elements, in attributes, in pictures. */
static void test_report(void) {
  make_database("UPDATE run SET scenario = '" SCRIPT "s', file = '" SCRIPT "f', engine = '\" onload=\"x',"
                " resolved = '</pre>" SCRIPT "';"
                "UPDATE lane SET name = '" SCRIPT "l' || lane;"
                "UPDATE span SET category = '" SCRIPT "c' WHERE category <> 'compute' AND category <> 'step';"
                "UPDATE time_kind SET category = '" SCRIPT "k' WHERE category = 'gemm';"
                "UPDATE metric_def SET unit = '" SCRIPT "u', sentence = '\">" SCRIPT "m';"
                "INSERT INTO param SELECT id, 'question', '" SCRIPT "q', NULL FROM run");
  static const char *const places[] = {"s</title>", "f</td>", "l0", "c", "k", "u<br>", "m", "q</p>"};
  assert_fine("report r.db -o r.html", "r.html");
  g_autofree char *path = path_of("r.html"), *html = NULL;
  g_assert_true(g_file_get_contents(path, &html, NULL, NULL));
  if (strstr(html, "<script>alert") || strstr(html, "\" onload=")) g_error("markup of the database is in the page");
  for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
    g_autofree char *wanted = g_strconcat(ESCAPED, places[i], NULL);
    if (!strstr(html, wanted)) g_error("'%s' is not in the page", wanted);
  }
  g_assert_nonnull(strstr(html, "&lt;/pre&gt;" ESCAPED));
}

static void add_tests(void) {
  g_test_add_func("/hostile/report", test_report);
  g_test_add_func("/hostile/plot/stored-text", test_stored_text);
  g_test_add_func("/hostile/plot/parameters", test_parameters);
  g_test_add_func("/hostile/plot/names", test_picture_names);
  g_test_add_func("/hostile/plot/environment", test_environment);
}

int main(int argc, char **argv) { return run_tests(argc, argv, add_tests); }

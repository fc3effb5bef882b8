/*
 * test_hostile.c - databases, file names and parameters made to do damage: nothing of them is run,
 * nothing is written beside the place that the user named, and what is drawn or printed is their
 * text as it stands.
 */
#include <unistd.h>

#include "tests/cli/bad_database.h"

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

/* Every text of the database that a picture shows: the lanes' names, the series, and a sweep's
 * axis. */
static const char hostile_sql[] =
    "UPDATE lane SET name = " AS_SQL " || lane;"
    "UPDATE run SET scenario = " AS_SQL ";"
    "UPDATE time_kind SET category = " AS_SQL " WHERE category = 'gemm';"
    "UPDATE span SET category = '`ls` a_b^{c} \"%s\" \\n' WHERE category <> 'compute' AND category "
    "<> 'step';";

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
  assert_drawn(text->str, HOSTILE "0"); /* a lane */
  assert_drawn(
      text->str,
      "`ls` a_b^{c} \"%s\" \\n"); /* a series: one that is wider than the picture has no key */
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
  assert_refused("plot r.db timeline --param 'x; system(\"touch pwned3\")=1'", 2,
                 "view 'timeline' has no parameter");
  assert_not_run();
}

static void test_picture_names(void) {
  static const char *const names[] = {"a`touch pwned`.svg",
                                      "|touch pwned.svg",
                                      "<touch pwned.svg",
                                      "it's.svg",
                                      "a\"; system(\"touch pwned\"); \".svg",
                                      "~x.svg",
                                      "@x.svg",
                                      "$(touch pwned).svg"};
  if (!has_gnuplot()) return;
  make_database("SELECT 1");
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *quoted = g_shell_quote(names[i]),
                    *line = g_strconcat("timeline -o ", quoted, NULL);
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

/* A page shows markup as text, wherever the database has it: in elements, in attributes, in
 * pictures. */
static void test_report(void) {
  make_database(
      "UPDATE run SET scenario = '" SCRIPT "s', file = '" SCRIPT "f', engine = '\" onload=\"x',"
      " resolved = '</pre>" SCRIPT "';"
      "UPDATE lane SET name = '" SCRIPT "l' || lane;"
      "UPDATE span SET category = '" SCRIPT "c' WHERE category <> 'compute' AND category <> 'step';"
      "UPDATE time_kind SET category = '" SCRIPT "k' WHERE category = 'gemm';"
      "UPDATE metric_def SET unit = '" SCRIPT "u', sentence = '\">" SCRIPT "m';"
      "INSERT INTO param SELECT id, 'question', '" SCRIPT "q', NULL FROM run");
  static const char *const places[] = {"s</title>", "f</td>", "l0", "c",
                                       "k",         "u<br>",  "m",  "q</p>"};
  assert_fine("report r.db -o r.html", "r.html");
  g_autofree char *path = path_of("r.html"), *html = NULL;
  g_assert_true(g_file_get_contents(path, &html, NULL, NULL));
  if (strstr(html, "<script>alert") || strstr(html, "\" onload="))
    g_error("markup of the database is in the page");
  for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
    g_autofree char *wanted = g_strconcat(ESCAPED, places[i], NULL);
    if (!strstr(html, wanted)) g_error("'%s' is not in the page", wanted);
  }
  g_assert_nonnull(strstr(html, "&lt;/pre&gt;" ESCAPED));
}

/* --- A foreign database --- */

static void assert_unchanged_around(const char *line, int status, const char *wanted) {
  g_autofree char *out = NULL, *err = NULL;
  const int found = spawn(line, &out, &err);
  if (found != status || !strstr(err, wanted))
    g_error("orrery %s: status %d: %s%s", line, found, out, err);
}

/* A table's name becomes a file's name: one that leaves the folder is refused, and then no file
 * is written at all. */
static void test_export(void) {
  make_database("CREATE TABLE \"../../evil\" (x)");
  assert_refused("db export r.db -o out", 1, "table '../../evil' cannot be a file");
  assert_fine("db info r.db", "../../evil");
  make_database("CREATE TABLE \"q\"\"u'o -- \" (x); INSERT INTO \"q\"\"u'o -- \" VALUES (1), (2)");
  assert_fine("db info r.db", "q\"u'o --            2");
  assert_refused("db export r.db -o out", 1, "cannot be a file");
  g_assert_false(is_there("out"));
}

/* What SQLite would run at our INSERT, or in place of our table. */
static void test_triggers(void) {
  make_database("CREATE TABLE sprung (x); CREATE TRIGGER t AFTER INSERT ON run BEGIN INSERT INTO "
                "sprung VALUES (1); END;"
                "CREATE TRIGGER u AFTER INSERT ON param BEGIN DELETE FROM run; END");
  assert_fine("run small.yaml --db r.db", "run 2 in r.db");
  assert_fine("query r.db 'SELECT (SELECT count(*) FROM run) || \" \" || (SELECT count(*) FROM "
              "sprung)' --csv",
              "2 0");
  assert_fine("run small.yaml --db s.db", "run 1 in s.db");
  assert_fine("db merge r.db s.db", "s.db");
  assert_fine("query r.db 'SELECT count(*) FROM sprung' --csv", "0");
}

/* A view in a table's place answers what it likes, for as long as it likes. Of our own tables it
 * is refused; of the facts' it counts as not there. */
static void test_shadows(void) {
#define ENDLESS                                                                                    \
  "AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS run_id, i AS lane "  \
  "FROM n"
  make_database("ALTER TABLE run RENAME TO hidden; CREATE VIEW run " ENDLESS);
  assert_refused("query r.db runs", 1, "is a view in it, not a table");
  assert_refused("run small.yaml --db r.db", 1, "is a view in it, not a table");
  assert_refused("db merge n.db r.db", 1, "is a view in it, not a table");
  make_database("DROP TABLE span; DROP TABLE lane; CREATE VIEW lane " ENDLESS
                "; CREATE VIEW span " ENDLESS);
  assert_fine("query r.db timeline --csv", "series,row,lane");
  assert_fine("report r.db -o r.html", "r.html");
  assert_fine("db info r.db", "run");
  assert_unchanged_around("run small.yaml --db r.db", 1, "lane");
#undef ENDLESS
}

/* A merge makes the tables that it finds: only such as Orrery could have made. */
static void test_merge(void) {
  make_database("CREATE TABLE \"../evil\" (run_id INTEGER, x TEXT)");
  assert_refused("db merge n.db r.db", 1, "no Orrery made the table '../evil'");
  make_database("CREATE VIRTUAL TABLE v USING fts4(run_id)");
  assert_fine("db merge n.db r.db", "1 run");
}

/* Both numbers are written together: a version of 0 is not an older version, and every command says
 * so. */
static void test_version_zero(void) {
  static const char *const lines[] = {"run small.yaml --db r.db",
                                      "query r.db runs",
                                      "db info r.db",
                                      "db merge n.db r.db",
                                      "db vacuum r.db",
                                      "report r.db",
                                      "validate korthikanti-layers --db r.db"};
  make_database("PRAGMA user_version = 0");
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
    assert_refused(lines[i], 1, "has schema version 0");
}

/* --- Outputs over inputs --- */

static void test_outputs(void) {
  static const char *const lines[] = {
      "report r.db -o r.db",
      "report r.db -o hard.db",
      "report r.db -o link.db",
      "report r.db -o r.db-wal",
      "run small.yaml --db r.db --trace r.db",
      "run small.yaml --db r.db --trace ./r.db-journal",
      "run small.yaml --db none --trace small.yaml",
      "run small.yaml --db new.db --trace new.db",
      "run small.yaml --db small.yaml",
      "sweep small.yaml --db small.yaml",
      "validate korthikanti-layers --rows rows.csv --db rows.csv",
      "plot r.db timeline -o r.svg", /* its data would go to r.svg.dat, a link to r.db */
      "plot p.svg timeline -o p.svg",
      "db merge r.db link.db",
      "import nsys r.db -o r.db",
      "import huggingface config.json -o ./config.json",
      "import measured . --device h100-sxm -o gemm.csv",
      "calibrate fit . --device h100-sxm -o gemm.csv",
      "calibrate fit r.db --device h100-sxm -o r.db",
  };
  make_database("SELECT 1");
  static const char *const links[][2] = {
      {"r.db", "link.db"}, {"r.db", "r.svg.dat"}, {"r.db", "p.svg"}};
  for (guint i = 0; i < G_N_ELEMENTS(links); i++) {
    g_autofree char *path = path_of(links[i][1]);
    g_assert_cmpint(symlink(links[i][0], path), ==, 0);
  }
  g_autofree char *db = path_of("r.db"), *hard = path_of("hard.db");
  g_assert_cmpint(link(db, hard), ==, 0);
  put("config.json", "{}", -1);
  put("gemm.csv", "m,n,k\n", -1);
  put("rows.csv", "x\n1\n", -1);
  put("requests.csv", "arrival_s,input_tokens,output_tokens\n0,100,2\n1,100,2\n", -1);
  put("served.yaml",
      "schema: scenario/1\nname: served\ncluster: {base: dgx-h100-superpod, nodes: 1}\nmodel: "
      "llama-3.1-8b\nworkload:\n"
      "  kind: serving\n  load: {kind: csv, file: requests.csv}\n",
      -1);
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++) assert_refused(lines[i], 2, "would overwrite");
  /* Only the simulation knows this input: its answer is printed, and nothing is written. */
  g_autofree char *answer = NULL, *complaint = NULL, *before = contents();
  g_assert_cmpint(spawn("run served.yaml --db none --trace requests.csv", &answer, &complaint), ==,
                  2);
  g_assert_nonnull(strstr(complaint, "would overwrite"));
  g_assert_nonnull(strstr(answer, "ttft"));
  g_autofree char *after = contents();
  g_assert_cmpstr(before, ==, after);
  assert_fine("run small.yaml --db r.db --trace t.json", "iteration");
  assert_fine("report r.db -o r.html", "r.html");
}

/* An export into the folder of a database that is called like a table. */
static void test_export_over(void) {
  make_database("SELECT 1");
  g_autofree char *from = path_of("r.db"), *to = path_of("run.csv");
  g_assert_cmpint(g_rename(from, to), ==, 0);
  assert_refused("db export run.csv -o .", 2, "would overwrite run.csv");
}

static void add_tests(void) {
  g_test_add_func("/hostile/export", test_export);
  g_test_add_func("/hostile/triggers", test_triggers);
  g_test_add_func("/hostile/shadows", test_shadows);
  g_test_add_func("/hostile/merge", test_merge);
  g_test_add_func("/hostile/version-zero", test_version_zero);
  g_test_add_func("/hostile/outputs", test_outputs);
  g_test_add_func("/hostile/export-over", test_export_over);
  g_test_add_func("/hostile/report", test_report);
  g_test_add_func("/hostile/plot/stored-text", test_stored_text);
  g_test_add_func("/hostile/plot/parameters", test_parameters);
  g_test_add_func("/hostile/plot/names", test_picture_names);
  g_test_add_func("/hostile/plot/environment", test_environment);
}

int main(int argc, char **argv) { return run_tests(argc, argv, add_tests); }

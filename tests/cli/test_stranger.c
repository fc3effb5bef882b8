/*
 * test_stranger.c - the program as a stranger's documents, files and signals meet it: nothing
 * blocks, nothing of another file is shown, no control character reaches the terminal, and a sweep
 * that is asked to end says what it leaves.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/bad_fixture.h"

/* --- What looks like a file but is not --- */

static void make_fifo(const char *name) {
  g_autofree char *path = path_of(name);
  g_assert_cmpint(mkfifo(path, 0600), ==, 0);
}

static void drop(const char *name) {
  g_autofree char *path = path_of(name);
  g_assert_cmpint(g_unlink(path), ==, 0);
}

/* Each of these blocked, or ate memory until none was left. The fixture's look at the folder
 * would block on the FIFO, so these are spawned by hand. */
static void test_no_files(void) {
  static const struct {
    const char *line, *wanted;
    int status;
  } cases[] = {
      {"check fifo.yaml", "fifo.yaml: error: cannot be read: it is a pipe, and nobody writes to it",
       2},
      {"run fifo.yaml --db none", "it is a pipe, and nobody writes to it", 2},
      {"check .", ".: error: cannot be read: it is a folder", 2},
      {"check /dev/zero", "/dev/zero: error: cannot be read: it is a device, not a file", 2},
      {"import huggingface /dev/zero", "/dev/zero: cannot be read: it is a device", 1},
      {"import huggingface fifo.yaml", "it is a pipe, and nobody writes to it", 1},
      {"import nccl-tests /dev/zero --device h100-sxm", "/dev/zero: cannot be read: it is a device",
       1},
      {"import nccl-tests fifo.yaml --device h100-sxm", "it is a pipe, and nobody writes to it", 1},
      {"cost h100-sxm gemm --rows fifo.yaml", "it is a pipe, and nobody writes to it", 1},
  };
  empty_folder();
  make_fifo("fifo.yaml");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *out = NULL, *err = NULL;
    const int status = spawn(cases[i].line, &out, &err);
    if (status != cases[i].status || !strstr(err, cases[i].wanted))
      g_error("orrery %s: status %d: %s%s", cases[i].line, status, err, out);
  }
  drop("fifo.yaml");
}

/* --- What may be shown --- */

#define SERVED                                                                                     \
  "schema: scenario/1\nname: served\ncluster: {base: dgx-a100-superpod, nodes: 1}\nmodel: "        \
  "llama-3.1-8b\n"                                                                                 \
  "workload: {kind: serving, load: {kind: %s, file: secret.txt}}\n"

/* A trace that is another file: the message says what is missing, and nothing of the file's
 * content. */
static void test_no_echo(void) {
  static const char *const kinds[] = {"csv", "azure", "mooncake", "sharegpt"};
  static const char *const secrets[] = {"hunter2:$6$salt$hunter2:19000\n",
                                        "hunter2,hunter2,hunter2\n1,2,3\n",
                                        "{\"timestamp\": hunter2}",
                                        "{\"hunter2\": hunter2}",
                                        "[hunter2]",
                                        "hunter2"};
  for (guint kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
    for (guint i = 0; i < G_N_ELEMENTS(secrets); i++) {
      g_autofree char *text = g_strdup_printf(SERVED, kinds[kind]), *out = NULL, *err = NULL;
      empty_folder();
      put("served.yaml", text, -1);
      put("secret.txt", secrets[i], -1);
      g_assert_cmpint(spawn("run served.yaml --db none", &out, &err), ==, 2);
      if (strstr(err, "hunter") || strstr(out, "hunter"))
        g_error("%s, '%s': %s%s", kinds[kind], secrets[i], err, out);
      g_assert_nonnull(strstr(err, "error: "));
    }
}

static void assert_harmless(const char *line, const char *wanted) {
  g_autofree char *out = NULL, *err = NULL;
  spawn(line, &out, &err);
  g_autofree char *both = g_strconcat(out, err, NULL);
  for (const char *at = both; *at; at = g_utf8_next_char(at)) {
    const gunichar c = g_utf8_get_char(at);
    if ((g_unichar_iscntrl(c) && c != '\n' && c != '\t') || g_unichar_type(c) == G_UNICODE_FORMAT)
      g_error("orrery %s: U+%04X reaches the terminal", line, c);
  }
  if (!strstr(both, wanted)) g_error("orrery %s: wanted '%s' in: %s", line, wanted, both);
}

/* ESC, DEL, a C1 character and a mark that reverses text, in a name: from the document, from the
 * database, from the command line, in a table, as CSV and as JSON, where the escape is JSON's
 * own. */
static void test_terminal(void) {
  g_auto(GStrv) parts = g_strsplit(GOOD, "name: small", 2);
  g_autofree char *text = g_strjoinv(
      "name: \"a\\e]0;evil\\a b\\x7f c\\x9b2J d\\u202e e\\r f \303\251 \342\202\254\"", parts);
#define SHOWN "a\\u001B]0;evil\\u0007 b\\u007F c\\u009B2J d\\u202E e\\u000D f \303\251 \342\202\254"
  empty_folder();
  put("evil.yaml", text, -1);
  assert_harmless("run evil.yaml --db own.db", SHOWN);
  assert_harmless("query own.db runs",
                  "c\\u009B2J d\\u202E"); /* a table of its own makes C0 spaces */
  assert_harmless("query own.db 'SELECT scenario FROM run' --csv", SHOWN);
  assert_harmless("query own.db 'SELECT scenario FROM run' --json",
                  "\\u001b]0;evil\\u0007 b\\u007F c\\u009B2J");
  assert_harmless("run 'no\033[2Jsuch'", "\\u001B[2J");
  assert_harmless("check 'no\033[2Jsuch.yaml'", "\\u001B[2J");
  assert_harmless("query own.db \"SELECT 'x' || char(27) || '[31m' || char(155)\" --csv",
                  "x\\u001B[31m\\u009B");
#undef SHOWN
}

/* --- The command line --- */

static void test_short_options(void) {
  empty_folder();
  put("sweep.yaml", GOOD "sweep: {axes: {micro-batch: [1, 2]}}\n", -1);
  assert_fine("sweep sweep.yaml -j2 --db none", "2 points");
  assert_fine("sweep -j1 sweep.yaml --db none", "2 points");
  assert_fine("sweep sweep.yaml -j 2 --db none", "2 points");
  assert_refused("sweep sweep.yaml -jx --db none", 2, "x");
  assert_refused("sweep --db none -- -j2", 2, "'-j2'"); /* behind it: a file of that name */
  put("own.yaml", GOOD, -1);
  assert_fine("run own.yaml --db own.db", "run 1 in own.db");
  assert_fine("report own.db -oown.html", "");
  assert_fine("run own.yaml --db -j2", "run 1 in -j2"); /* the value of an option is left alone */
}

/* --- Signals --- */

static gint64 count_points(void) {
  g_autofree char *out = NULL, *err = NULL;
  if (spawn("query own.db 'SELECT count(*) FROM sweep_point' --csv", &out, &err) != 0) return 0;
  const char *second = strchr(out, '\n');
  return second ? g_ascii_strtoll(second + 1, NULL, 10) : 0;
}

/* In the child: a test that runs in the background inherits SIGINT and SIGQUIT ignored, and a
 * sweep leaves them so. */
static void heed_signals(gpointer unused) {
  (void)unused;
  static const int heeded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  for (guint i = 0; i < G_N_ELEMENTS(heeded); i++) signal(heeded[i], SIG_DFL);
}

static void assert_stops(int number, const char *name) {
  g_autofree char *err_path = path_of("err.txt"), *err = NULL;
  empty_folder();
  /* 4,000 points: minutes, were it left alone. */
  put("long.yaml",
      GOOD "sweep: {axes: {global-batch: {from: 8, to: 32000, step: 8}}, most: 5000}\n", -1);
  g_autofree char *line =
      g_strdup_printf("exec '%s' sweep long.yaml --db own.db -j1 2>err.txt >/dev/null", binary);
  char *argv[] = {(char *)"/bin/sh", (char *)"-c", line, NULL};
  GPid child;
  int wait_status = 0;
  g_assert_true(g_spawn_async(folder, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, heed_signals, NULL,
                              &child, NULL));
  for (int i = 0; i < 1000 && count_points() == 0; i++) g_usleep(20000);
  g_assert_cmpint(count_points(), >, 0);
  kill(child, number);
  g_assert_cmpint(waitpid(child, &wait_status, 0), ==, child);
  g_assert_true(g_file_get_contents(err_path, &err, NULL, NULL));
  g_test_message("%s: %s", name, err);
  g_assert_true(WIFEXITED(wait_status));
  g_assert_cmpint(WEXITSTATUS(wait_status), ==, 128 + number);
  g_autofree char *wanted =
      g_strdup_printf("orrery: interrupted by %s: %d of 4000 points are stored in own.db; to "
                      "continue, run 'orrery sweep long.yaml --db own.db --resume'\n",
                      name, (int)count_points());
  g_assert_nonnull(strstr(err, wanted));
}

static void test_signals(void) {
  assert_stops(SIGINT, "SIGINT");
  assert_stops(SIGTERM, "SIGTERM");
  assert_stops(SIGHUP, "SIGHUP");
  assert_stops(SIGQUIT, "SIGQUIT");
}

static void add_tests(void) {
  g_test_add_func("/stranger/no-files", test_no_files);
  g_test_add_func("/stranger/no-echo", test_no_echo);
  g_test_add_func("/stranger/terminal", test_terminal);
  g_test_add_func("/stranger/short-options", test_short_options);
  g_test_add_func("/stranger/signals", test_signals);
}

int main(int argc, char **argv) { return run_tests(argc, argv, add_tests); }

/*
 * test_kill.c - `orrery run` (a step, a campaign) and `orrery validate` killed, out of space or
 * refused their file: what was stored before stays, of the run that was not finished nothing is
 * there, and the next one goes in. (Sweeps: run/test_sweep_kill.c.)
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/store.h"
#include "sim/base/random.h"
#include "tests/base/test_size.h"

#define NOBODY 65534

static const char *binary;
static char *folder;

static char *path_of(const char *name) { return g_build_filename(folder, name, NULL); }

/* A database of that name that is not there. */
static char *fresh(const char *name) {
  static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
  char *path = path_of(name);
  for (guint i = 0; i < G_N_ELEMENTS(tails); i++) {
    g_autofree char *file = g_strconcat(path, tails[i], NULL);
    g_remove(file);
  }
  return path;
}

/* What is run: a step whose spans are stored, and a set of ten rows. */
typedef struct {
  const char *args[8];
  const char *facts; /* SQL: one line a run, the same for every run that is whole */
} Case;

static const Case cases[] = {
    {{"run", "megatron-sc21-7.5b", NULL},
     "SELECT (SELECT count(*) FROM span WHERE run_id = id) || ' ' || (SELECT count(*) FROM param "
     "WHERE run_id = id) || "
     "' '"
     " || (SELECT iteration_time_s FROM training_result WHERE run_id = id) FROM run"},
    {{"run", "megatron-sc21-1.7b", "--set",
      "campaign={duration: 90 d, seeds: 40, failures: rsc-1, policy: restart, spares: 4, repair: "
      "1 d, "
      "checkpoints: [{tier: peer, interval: 10 min}], detection: [{symptom: crash, after: 1 min}], "
      "recovery: {requeue: 5 min, restart: 1 min, initialise: 30 s}}",
      NULL},
     "SELECT (SELECT count(*) || ' ' || sum(tokens) FROM campaign_event WHERE run_id = id) || ' ' "
     "|| (SELECT count(*) || ' ' || sum(goodput) FROM campaign_seed WHERE run_id = id) || ' ' || "
     "(SELECT goodput FROM campaign_result WHERE run_id = id) FROM run"},
    {{"validate", "korthikanti-layers", NULL},
     "SELECT (SELECT count(*) || ' ' || sum(simulated) FROM validation_row WHERE run_id = id) FROM "
     "run"},
};

/* The file may grow to @bytes (0: as it likes), as on a disk that is full; @user: who runs it,
 * 0: who runs the test. What a run with enough space prints is kept, for assert_runs. */
static pid_t start(const Case *what, const char *db, rlim_t bytes, uid_t user) {
  fflush(NULL);
  const pid_t pid = fork();
  g_assert_cmpint(pid, >=, 0);
  if (pid != 0) return pid;
  const char *args[12] = {binary};
  guint n = 1;
  for (; what->args[n - 1]; n++) args[n] = what->args[n - 1];
  args[n++] = "--db";
  args[n] = db;
  g_autofree char *printed = bytes || user ? g_strdup("/dev/null") : path_of("printed.txt");
  const int out = open(printed, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(out, 1);
  dup2(out, 2);
  const struct rlimit limit = {bytes, bytes};
  signal(SIGXFSZ, SIG_IGN);
  if ((bytes && setrlimit(RLIMIT_FSIZE, &limit) != 0) || (user && setuid(user) != 0)) _exit(126);
  execv(binary, (char *const *)args);
  _exit(127);
}

static int status_of(pid_t pid) {
  int status = 0;
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A run that nothing hinders ends well; if it does not, the test prints what the run said. */
static void assert_runs(const Case *what, const char *db) {
  const int status = status_of(start(what, db, 0, 0));
  g_autofree char *path = path_of("printed.txt"), *printed = NULL;
  if (status == 0) return;
  g_file_get_contents(path, &printed, NULL, NULL);
  g_error("'orrery %s' ends with %d: %s", what->args[0], status, printed);
}

/* The lines of @sql's answer; NULL where there is no database, or none was finished. */
static char *answer_of(const char *db, const char *sql) {
  g_autoptr(GError) error = NULL;
  if (!g_file_test(db, G_FILE_TEST_EXISTS)) return NULL;
  g_autoptr(OrrStore) store = orr_store_open_read(db, &error);
  if (!store) { /* killed before its first commit: nothing is there, and it says so */
    if (!strstr(error->message, "is empty")) g_error("%s", error->message);
    return NULL;
  }
  g_autoptr(OrrAnswer) made =
      orr_store_query(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'run'", 0, &error);
  g_assert_no_error(error);
  if (strcmp(((char **)made->rows->pdata[0])[0], "0") == 0) return NULL;
  g_autoptr(OrrAnswer) check = orr_store_query(store, "PRAGMA integrity_check", 0, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(((char **)check->rows->pdata[0])[0], ==, "ok");
  g_autoptr(OrrAnswer) runs = orr_store_query(store, "SELECT count(*) FROM run", 0, &error);
  g_assert_no_error(error);
  if (strcmp(((char **)runs->rows->pdata[0])[0], "0") == 0) return g_strdup("");
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, &error);
  g_assert_no_error(error);
  g_autofree char *csv = orr_answer_csv(answer);
  return g_strdup(strchr(csv, '\n') + 1);
}

/* An undisturbed run, once for each case. */
typedef struct {
  char *line;
  guint us; /* that it took */
} Whole;

static const Whole *whole_of(const Case *what) {
  static Whole known[G_N_ELEMENTS(cases)];
  Whole *whole = &known[what - cases];
  if (whole->line) return whole;
  g_autofree char *db = fresh("whole.db");
  const gint64 begin_us = g_get_monotonic_time();
  assert_runs(what, db);
  whole->us = (guint)(g_get_monotonic_time() - begin_us);
  whole->line = answer_of(db, what->facts);
  return whole;
}

/* Every run of @db is whole; how many there are. */
static guint assert_whole(const char *db, const Case *what, const char *line) {
  g_autofree char *found = answer_of(db, what->facts);
  guint n = 0;
  for (const char *at = found; at && *at; at += strlen(line), n++)
    if (!g_str_has_prefix(at, line)) g_error("a run is '%s', a whole one is '%s'", at, line);
  return n;
}

/* Ten kills, or three, at seeded moments of the time that it takes; and then it goes in. */
static void test_kill(gconstpointer data) {
  const Case *what = data;
  const char *line = whole_of(what)->line;
  g_autofree char *db = fresh("kill.db");
  OrrRandom random = orr_random_stream(11, what->args[0]);
  guint stored = 0;
  for (guint k = 0; k < test_size(10, 3); k++) {
    const pid_t pid = start(what, db, 0, 0);
    g_usleep(orr_random_below(&random, whole_of(what)->us));
    kill(pid, SIGKILL);
    const guint before = stored, is_ended = status_of(pid) == 0;
    stored = assert_whole(db, what, line);
    g_assert_cmpuint(stored, >=, before + is_ended); /* it may have been killed after its commit */
    g_assert_cmpuint(stored, <=, before + 1);
  }
  assert_runs(what, db);
  g_assert_cmpuint(assert_whole(db, what, line), ==, stored + 1);
}

static void test_full_disk(gconstpointer data) {
  const Case *what = data;
  static const rlim_t limits[] = {1, 5000, 20000, 30000};
  const char *line = whole_of(what)->line;
  g_autofree char *kept = fresh("kept.db");
  for (guint i = 0; i < G_N_ELEMENTS(limits); i += test_size(1, 3)) {
    g_autofree char *db = fresh("full.db");
    g_assert_cmpint(status_of(start(what, db, limits[i], 0)), ==, 1);
    g_assert_cmpuint(assert_whole(db, what, line), ==, 0);
    assert_runs(what, db);
    g_assert_cmpuint(assert_whole(db, what, line), ==, 1);
  }
  assert_runs(what, kept); /* what was there stays */
  g_assert_cmpint(status_of(start(what, kept, 30000, 0)), ==, 1);
  g_assert_cmpuint(assert_whole(kept, what, line), ==, 1);
}

/* Root writes everywhere: it is nobody who may not. */
static void test_read_only(gconstpointer data) {
  const Case *what = data;
  const uid_t user = getuid() == 0 ? NOBODY : 0;
  const char *line = whole_of(what)->line;
  g_autofree char *db = fresh("read-only.db"), *before = NULL, *after = NULL;
  gsize n_before = 0, n_after = 0;
  assert_runs(what, db);
  g_assert_true(g_file_get_contents(db, &before, &n_before, NULL));
  g_chmod(folder, 0755);
  g_chmod(db, 0444);
  const int status = status_of(start(what, db, 0, user));
  if (status == 127) {
    g_test_skip("the program cannot be run by nobody here");
    return;
  }
  g_assert_cmpint(status, ==, 1);
  g_assert_true(g_file_get_contents(db, &after, &n_after, NULL));
  g_assert_cmpmem(before, n_before, after, n_after);
  g_assert_cmpuint(assert_whole(db, what, line), ==, 1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  binary = g_getenv("ORRERY_BINARY");
  if (!binary) g_error("ORRERY_BINARY names the program");
  folder = g_dir_make_tmp("orrery-kill-XXXXXX", NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const char *verb = cases[i].args[2] ? "campaign" : cases[i].args[0];
    g_autofree char *kill = g_strconcat("/kill/", verb, NULL),
                    *full = g_strconcat("/full-disk/", verb, NULL),
                    *read_only = g_strconcat("/read-only/", verb, NULL);
    g_test_add_data_func(kill, &cases[i], test_kill);
    g_test_add_data_func(full, &cases[i], test_full_disk);
    g_test_add_data_func(read_only, &cases[i], test_read_only);
  }
  const int status = g_test_run();
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    g_autofree char *path = path_of(name);
    g_remove(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}

/*
 * test_sweep_kill.c - a sweep that is killed, out of space or refused its file, and then goes on:
 * the database equals an undisturbed one.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/random.h"
#include "tests/sweep/sweep_fixture.h"

/* Slow enough that a kill falls into the middle: 58 points of 4 ms and more. */
static void dawdle(guint64 point, void *user) {
  (void)point;
  (void)user;
  g_usleep(4000);
}

/* A process that runs the sweep; its exit status is 0 where it ended by itself. */
static pid_t start(const char *file, const char *db, gboolean resume) {
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    g_autoptr(GError) error = NULL;
    const OrrSweepOrder order = {
        .file = file, .db = db, .jobs = 2, .resume = resume, .before = dawdle};
    g_autoptr(OrrSweepReport) report = orr_sweep(sweep_library, &order, &error);
    _exit(report ? 0 : 1);
  }
  g_assert_cmpint(pid, >, 0);
  return pid;
}

static int wait_for(pid_t pid) {
  int status = 0;
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  return status;
}

static gboolean has_sweep(const char *db) {
  g_autoptr(OrrStore) store = orr_store_open_read(db, NULL);
  g_autoptr(OrrAnswer) answer =
      store ? orr_store_query(store, "SELECT count(*) FROM sweep", 0, NULL) : NULL;
  return answer && g_strcmp0(((char **)answer->rows->pdata[0])[0], "1") == 0;
}

/* A worker of @parent, from /proc; 0: there is none just now. */
static pid_t worker_of(pid_t parent) {
  g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", (int)parent, (int)parent);
  g_autofree char *text = NULL;
  if (!g_file_get_contents(path, &text, NULL, NULL)) return 0;
  return (pid_t)strtol(text, NULL, 10);
}

/* Kills at seeded moments, of the parent or of a worker, until it has ended by itself. */
static void disturb(const char *file, const char *db, OrrRandom *random, guint kills) {
  gboolean resume = FALSE;
  for (guint k = 0; k < kills; k++) {
    const pid_t pid = start(file, db, resume);
    g_usleep(1000 + orr_random_below(random, 60000));
    const gboolean of_worker = orr_random_below(random, 3) == 0;
    const pid_t victim = of_worker ? worker_of(pid) : pid;
    if (victim > 0) kill(victim, SIGKILL);
    if (of_worker) {
      g_usleep(orr_random_below(random, 30000));
      kill(pid, SIGKILL);
    }
    wait_for(pid);
    resume = has_sweep(db);
  }
  const int status = wait_for(start(file, db, resume));
  g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Twenty kills, in five sweeps. */
static void test_kill(void) {
  g_autofree char *file = sweep_put("kill.yaml", SWEEP_AXES), *whole = sweep_fresh("whole.db");
  orr_sweep_report_free(sweep_run(file, whole, 2, FALSE));
  g_autofree char *expected = sweep_dump(whole);
  OrrRandom random = orr_random_stream(7, "kills");
  for (guint round = 0; round < 5; round++) {
    g_autofree char *db = sweep_fresh("kill.db");
    disturb(file, db, &random, 4);
    g_autofree char *found = sweep_dump(db);
    g_assert_cmpstr(found, ==, expected);
  }
}

/* A file that may not grow beyond @bytes stands for a full disk. */
static void run_limited(const char *file, const char *db, rlim_t bytes, gboolean resume) {
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    const struct rlimit limit = {bytes, bytes};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    g_autoptr(GError) error = NULL;
    const OrrSweepOrder order = {.file = file, .db = db, .jobs = 2, .resume = resume};
    g_autoptr(OrrSweepReport) report = orr_sweep(sweep_library, &order, &error);
    _exit(report ? 0 : g_error_matches(error, ORR_FAULT, ORR_FAULT_RESOURCE) ? 7 : 1);
  }
  const int status = wait_for(pid);
  g_assert_true(WIFEXITED(status));
  g_assert_cmpint(WEXITSTATUS(status), ==, 7);
}

static void test_full_disk(void) {
  g_autofree char *file = sweep_put("full.yaml", SWEEP_AXES), *whole = sweep_fresh("whole.db");
  orr_sweep_report_free(sweep_run(file, whole, 2, FALSE));
  g_autofree char *expected = sweep_dump(whole);
  const rlim_t limits[] = {20000, 60000, 80000, 100000, 120000}; /* the whole is some 150 kB */
  for (guint i = 0; i < G_N_ELEMENTS(limits); i++) {
    g_autofree char *db = sweep_fresh("full.db");
    run_limited(file, db, limits[i], FALSE);
    orr_sweep_report_free(sweep_run(file, db, 2, has_sweep(db)));
    g_autofree char *found = sweep_dump(db);
    g_assert_cmpstr(found, ==, expected);
  }
}

static void assert_refused_as(const char *file, const char *db, gboolean resume, OrrFaultCode code,
                              const char *message) {
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {.file = file, .db = db, .jobs = 1, .resume = resume};
  g_assert_null(orr_sweep(sweep_library, &order, &error));
  g_assert_error(error, ORR_FAULT, (int)code);
  if (!strstr(error->message, message)) g_error("wanted '%s', found '%s'", message, error->message);
}

static void assert_refused(const char *file, const char *db, gboolean resume, const char *message) {
  assert_refused_as(file, db, resume, ORR_FAULT_RESOURCE, message);
}

static void test_foreign_files(void) {
  g_autofree char *file = sweep_put("foreign.yaml", SWEEP_AXES), *db = sweep_fresh("foreign.db");
  g_autofree char *before = NULL, *after = NULL;
  gsize n_before = 0, n_after = 0;
  g_assert_true(g_file_set_contents(
      db, "no database at all, but longer than a header would be ................", -1, NULL));
  assert_refused(file, db, FALSE, "is not an SQLite database; the file was not changed");
  g_free(db);
  db = sweep_fresh("foreign.db");
  orr_sweep_report_free(sweep_run(file, db, 2, FALSE));
  g_assert_true(g_file_get_contents(db, &before, &n_before, NULL));
  before[60] = 1; /* user_version: of a newer Orrery (store_file.c) */
  g_assert_true(g_file_set_contents(db, before, (gssize)n_before, NULL));
  assert_refused(file, db, TRUE, "made by a newer Orrery");
  g_assert_true(g_file_get_contents(db, &after, &n_after, NULL));
  g_assert_cmpmem(before, n_before, after, n_after);
  before[60] = 0;
  g_assert_true(g_file_set_contents(db, before, (gssize)n_before / 2, NULL)); /* truncated */
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {.file = file, .db = db, .jobs = 1, .resume = TRUE};
  g_assert_null(orr_sweep(sweep_library, &order, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
}

static void test_read_only(void) {
  g_autofree char *file = sweep_put("read-only.yaml", SWEEP_AXES),
                  *db = sweep_fresh("read-only.db");
  orr_sweep_report_free(sweep_run(file, db, 2, FALSE));
  if (getuid() == 0) {
    g_test_skip("root writes to read-only files");
    return;
  }
  g_chmod(db, 0444);
  assert_refused(file, db, TRUE, "cannot be written");
}

static void test_locked(void) {
  g_autofree char *file = sweep_put("locked.yaml", SWEEP_AXES), *db = sweep_fresh("locked.db");
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) other = orr_store_open(db, &error);
  g_assert_true(orr_store_begin_batch(other, &error));
  orr_store_set_patience(&(OrrStorePatience){.notice_s = 1, .most_s = 0.05});
  assert_refused_as(file, db, FALSE, ORR_FAULT_LOCKED, "is locked by another process");
  orr_store_set_patience(NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  sweep_set_up();
  g_test_add_func("/run/sweep-kill/kill", test_kill);
  g_test_add_func("/run/sweep-kill/full-disk", test_full_disk);
  g_test_add_func("/run/sweep-kill/foreign-files", test_foreign_files);
  g_test_add_func("/run/sweep-kill/read-only", test_read_only);
  g_test_add_func("/run/sweep-kill/locked", test_locked);
  const int status = g_test_run();
  sweep_tear_down();
  return status;
}

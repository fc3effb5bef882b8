/*
 * test_rendezvous.c - processes of a job find each other.
 */
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibration/measure/rendezvous.h"
#include "sim/base/fault.h"

static void forget_all(void) {
  static const char *const names[] = {
      "ORRERY_RENDEZVOUS", "SLURM_PROCID",  "SLURM_NTASKS",         "SLURM_LOCALID",
      "SLURM_JOB_ID",      "SLURM_STEP_ID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
      "PMI_RANK",          "PMI_SIZE"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) g_unsetenv(names[i]);
}

static void set_slurm(const char *folder, const char *rank, const char *size) {
  forget_all();
  if (folder) g_setenv("ORRERY_RENDEZVOUS", folder, TRUE);
  g_setenv("SLURM_PROCID", rank, TRUE);
  g_setenv("SLURM_NTASKS", size, TRUE);
  g_setenv("SLURM_JOB_ID", "42", TRUE);
  g_setenv("SLURM_STEP_ID", "../7", TRUE);
}

/* A batch script's shell has Slurm's variables and is alone. Processes that srun started are not,
 * and without a folder they are refused. */
static void test_alone(void) {
  g_auto(OrrRendezvous) alone = {0};
  g_autoptr(GError) error = NULL;
  set_slurm(NULL, "0", "8");
  g_assert_true(orr_rendezvous_init(&alone, NULL));
  g_assert_cmpint(alone.n_ranks, ==, 1);
  g_assert_null(alone.file);
  gint64 number = 5;
  g_assert_true(orr_rendezvous_share(&alone, &number, sizeof number, 0, NULL));
  g_assert_cmpint(number, ==, 5);
  g_setenv("SLURM_STEP_NUM_TASKS", "8", TRUE);
  g_assert_false(orr_rendezvous_init(&alone, &error));
  g_assert_nonnull(strstr(error->message, "8 processes were started (SLURM_STEP_NUM_TASKS)"));
  g_unsetenv("SLURM_STEP_NUM_TASKS");
}

static void test_launchers(void) {
  g_auto(OrrRendezvous) slurm = {0}, mpi = {0};
  set_slurm("/shared", "3", "8");
  g_setenv("SLURM_LOCALID", "1", TRUE);
  g_assert_true(orr_rendezvous_init(&slurm, NULL));
  g_assert_cmpint(slurm.rank, ==, 3);
  g_assert_cmpint(slurm.n_ranks, ==, 8);
  g_assert_cmpint(slurm.local_rank, ==, 1);
  g_assert_cmpstr(slurm.file, ==, "/shared/orrery-nccl-42-.._7"); /* no way out of the folder */
  forget_all();
  g_setenv("ORRERY_RENDEZVOUS", "/shared", TRUE);
  g_setenv("OMPI_COMM_WORLD_RANK", "1", TRUE);
  g_setenv("OMPI_COMM_WORLD_SIZE", "2", TRUE);
  g_assert_true(orr_rendezvous_init(&mpi, NULL));
  g_assert_cmpint(mpi.rank, ==, 1);
  g_assert_cmpint(mpi.local_rank, ==, -1);
}

static void assert_nonsense(const char *rank, const char *size) {
  g_autoptr(GError) error = NULL;
  OrrRendezvous found;
  set_slurm("/shared", rank, size);
  g_assert_false(orr_rendezvous_init(&found, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
}

static void test_nonsense(void) {
  assert_nonsense("8", "8");
  assert_nonsense("x", "8");
  assert_nonsense("0", "");
  assert_nonsense("-1", "8");
}

static int be_rank(const char *folder, const char *rank) {
  g_auto(OrrRendezvous) own = {0};
  char bytes[128] = "";
  set_slurm(folder, rank, "3");
  if (*rank == '0') strcpy(bytes, "the id");
  if (!orr_rendezvous_init(&own, NULL) ||
      !orr_rendezvous_share(&own, bytes, sizeof bytes, 20, NULL))
    return 1;
  return strcmp(bytes, "the id") == 0 ? 0 : 2;
}

/* Three processes, rank 0 last; then the file is removed, and who waits gives up in its time. */
static void test_share(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-rendezvous-XXXXXX", NULL);
  static const char *const ranks[] = {"1", "2", "0"};
  pid_t children[G_N_ELEMENTS(ranks)];
  for (guint i = 0; i < G_N_ELEMENTS(ranks); i++)
    if ((children[i] = fork()) == 0) _exit(be_rank(folder, ranks[i]));
  for (guint i = 0; i < G_N_ELEMENTS(ranks); i++) {
    int status = 0;
    g_assert_cmpint(waitpid(children[i], &status, 0), ==, children[i]);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
  }
  g_auto(OrrRendezvous) first = {0}, second = {0};
  g_autoptr(GError) error = NULL;
  char bytes[128];
  set_slurm(folder, "0", "3");
  g_assert_true(orr_rendezvous_init(&first, NULL));
  orr_rendezvous_end(&first);
  set_slurm(folder, "1", "3");
  g_assert_true(orr_rendezvous_init(&second, NULL));
  g_assert_false(orr_rendezvous_share(&second, bytes, sizeof bytes, 0.05, &error));
  g_assert_nonnull(strstr(error->message, "waited 0.05 s"));
  g_assert_cmpint(g_rmdir(folder), ==, 0); /* it is empty */
}

/* @rank of three that meet; 0 when it met all, 1 when it heard of a failure, 2 when it waited in
 * vain. */
static int meet_as(const char *folder, const char *rank, const char *failing) {
  g_auto(OrrRendezvous) own = {0};
  g_autoptr(GError) error = NULL;
  set_slurm(folder, rank, "3");
  if (!orr_rendezvous_init(&own, NULL)) return 3;
  if (failing && strcmp(rank, failing) == 0) {
    orr_rendezvous_fail(&own, "no GPU");
    return 0;
  }
  if (orr_rendezvous_meet(&own, failing ? 20 : 0.2, &error)) return 0;
  return strcmp(error->message, "rank 1: no GPU") == 0 ? 1 : 2;
}

static void run_three(const char *folder, const char *failing, guint n, int wanted) {
  static const char *const ranks[] = {"0", "2", "1"};
  pid_t children[G_N_ELEMENTS(ranks)];
  for (guint i = 0; i < n; i++)
    if ((children[i] = fork()) == 0) _exit(meet_as(folder, ranks[i], failing));
  for (guint i = 0; i < n; i++) {
    int status = 0;
    g_assert_cmpint(waitpid(children[i], &status, 0), ==, children[i]);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==,
                    failing && strcmp(ranks[i], failing) == 0 ? 0 : wanted);
  }
}

/* Two of three wait in vain, and say for whom; with the third all meet; the rest is gone when
 * the job has begun. A rank that has failed is heard by all, long before their time is over, and
 * stays said. */
static void test_meet(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-rendezvous-XXXXXX", NULL);
  g_auto(OrrRendezvous) own = {0};
  g_autoptr(GError) error = NULL;
  run_three(folder, NULL, 2, 2);
  g_usleep(20000);
  set_slurm(folder, "0", "3");
  g_assert_true(orr_rendezvous_init(&own, NULL));
  g_assert_false(orr_rendezvous_meet(&own, 0.05, &error));
  g_assert_cmpstr(error->message, ==,
                  "rank 0 waited 0.05 s for ranks 1, 2"); /* rank 2 was here before */
  run_three(folder, NULL, 3, 0);
  orr_rendezvous_end(&own);
  g_assert_null(orr_rendezvous_failed(&own));
  run_three(folder, "1", 3, 1);
  g_autofree char *failed = orr_rendezvous_failed(&own);
  g_assert_cmpstr(failed, ==, "rank 1: no GPU");
  g_autofree char *said = g_strconcat(own.file, "-failed", NULL);
  g_unlink(said);
  orr_rendezvous_end(&own);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* An earlier attempt's failure and its signs are older than this one, and do not count. */
static void test_old_attempt(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-rendezvous-XXXXXX", NULL);
  g_auto(OrrRendezvous) before = {0}, own = {0};
  set_slurm(folder, "1", "2");
  g_assert_true(orr_rendezvous_init(&before, NULL));
  orr_rendezvous_fail(&before, "no GPU");
  g_autofree char *reason = orr_rendezvous_failed(&before);
  g_assert_cmpstr(reason, ==, "rank 1: no GPU");
  g_usleep(20000);
  g_assert_true(orr_rendezvous_init(&own, NULL));
  g_assert_null(orr_rendezvous_failed(&own));
  orr_rendezvous_fail(&own, "no memory");
  g_autofree char *again = orr_rendezvous_failed(&own);
  g_assert_cmpstr(again, ==, "rank 1: no memory");
  g_autofree char *file = g_strconcat(own.file, "-failed", NULL);
  g_unlink(file);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/rendezvous/alone", test_alone);
  g_test_add_func("/measure/rendezvous/launchers", test_launchers);
  g_test_add_func("/measure/rendezvous/nonsense", test_nonsense);
  g_test_add_func("/measure/rendezvous/share", test_share);
  g_test_add_func("/measure/rendezvous/meet", test_meet);
  g_test_add_func("/measure/rendezvous/old-attempt", test_old_attempt);
  return g_test_run();
}

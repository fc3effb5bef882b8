/*
 * rendezvous.c - exchanges bytes and failures between the processes of a job through files.
 */
#include "calibration/measure/rendezvous.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

enum { LOOKS_PER_SIGN = 10 /* a fifth of a second */, LATE_US = 500000 };

static const struct {
  const char *rank, *size, *local, *job, *step;
  const char *started; /* the number of processes that were started; a batch script lacks it */
} launchers[] = {
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID", "SLURM_STEP_ID",
     "SLURM_STEP_NUM_TASKS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE",
     "", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID", "", "PMI_SIZE"},
};

static gboolean read_number(const char *name, gint64 *ret_number, GError **error) {
  const char *text = g_getenv(name);
  if (text && g_ascii_string_to_signed(text, 10, 0, 1 << 20, ret_number, NULL)) return TRUE;
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s is '%s': must be a whole number", name,
                       text ? text : "");
}

/* The file name contains the job and its step, so that an older job's file is not mistaken for
 * this job's. */
static char *file_of(const char *folder, const char *job, const char *step) {
  const char *j = g_getenv(job), *s = *step ? g_getenv(step) : NULL;
  g_autofree char *name = g_strdup_printf("orrery-nccl-%s-%s", j ? j : "job", s ? s : "0");
  g_strcanon(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-.", '_');
  return g_build_filename(folder, name, NULL);
}

/* Several processes that do not know of each other would all measure the first GPU at once. */
static gboolean check_alone(GError **error) {
  for (guint i = 0; i < G_N_ELEMENTS(launchers); i++) {
    gint64 n = 1;
    if (!g_getenv(launchers[i].rank) || !g_getenv(launchers[i].started)) continue;
    if (!read_number(launchers[i].started, &n, error)) return FALSE;
    if (n > 1)
      return orr_fault_set(error, ORR_FAULT_RESOURCE,
                           "%ld processes were started (%s), and "
                           "ORRERY_RENDEZVOUS is not set, so each would measure the same GPU: set "
                           "it to a folder that all of them see, or start one process",
                           n, launchers[i].started);
  }
  return TRUE;
}

static gint64 time_of(const char *file) {
  struct stat facts;
  if (stat(file, &facts) != 0) return -1;
  return (gint64)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
}

/* The time of the folder's file system, which may be another machine's. 0 if nothing can be written
 * there: the first exchange will say so. */
static gint64 folder_time(const OrrRendezvous *rendezvous) {
  g_autofree char *probe = g_strdup_printf("%s-began-%ld", rendezvous->file, rendezvous->rank);
  const gint64 ns = g_file_set_contents(probe, "", 0, NULL) ? time_of(probe) : 0;
  g_unlink(probe);
  return MAX(ns, 0);
}

/* Whether the file is there and of this attempt. */
static gboolean is_fresh(const OrrRendezvous *rendezvous, const char *file) {
  const gint64 ns = time_of(file);
  return ns >= 0 && ns >= rendezvous->began_ns;
}

gboolean orr_rendezvous_init(OrrRendezvous *ret_rendezvous, GError **error) {
  const char *folder = g_getenv("ORRERY_RENDEZVOUS");
  OrrRendezvous found = {.n_ranks = 1, .local_rank = -1};
  if (!folder && !check_alone(error)) return FALSE;
  for (guint i = 0; folder && i < G_N_ELEMENTS(launchers); i++) {
    if (!g_getenv(launchers[i].rank) || !g_getenv(launchers[i].size)) continue;
    if (!read_number(launchers[i].rank, &found.rank, error) ||
        !read_number(launchers[i].size, &found.n_ranks, error))
      return FALSE;
    if (g_getenv(launchers[i].local) && !read_number(launchers[i].local, &found.local_rank, error))
      return FALSE;
    if (found.rank >= found.n_ranks)
      return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s is %ld of %ld ranks", launchers[i].rank,
                           found.rank, found.n_ranks);
    if (found.n_ranks > 1) found.file = file_of(folder, launchers[i].job, launchers[i].step);
    break;
  }
  if (found.file) found.began_ns = folder_time(&found);
  *ret_rendezvous = found;
  return TRUE;
}

void orr_rendezvous_clear(OrrRendezvous *rendezvous) { g_clear_pointer(&rendezvous->file, g_free); }

static gboolean write_bytes(const char *file, const void *bytes, gsize n, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (g_file_set_contents(file, bytes, (gssize)n, &reason))
    return TRUE; /* writes a temporary file, then renames it */
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "ORRERY_RENDEZVOUS: %s", reason->message);
}

static gboolean try_read(const char *file, void *bytes, gsize n) {
  g_autofree char *text = NULL;
  gsize length = 0;
  if (!g_file_get_contents(file, &text, &length, NULL) || length != n) return FALSE;
  memcpy(bytes, text, n);
  return TRUE;
}

/* "FILE-WORD" or, of one rank, "FILE-WORD-RANK". */
static char *beside(const OrrRendezvous *rendezvous, const char *word, gint64 rank) {
  return rank < 0 ? g_strdup_printf("%s-%s", rendezvous->file, word)
                  : g_strdup_printf("%s-%s-%ld", rendezvous->file, word, rank);
}

void orr_rendezvous_fail(const OrrRendezvous *rendezvous, const char *reason) {
  if (!rendezvous->file) return;
  g_autofree char *file = beside(rendezvous, "failed", -1);
  g_autofree char *text = g_strdup_printf("rank %ld: %s", rendezvous->rank, reason);
  if (is_fresh(rendezvous, file)) return;
  write_bytes(file, text, strlen(text), NULL);
  g_usleep(LATE_US); /* for ranks that begin a little later, to which the first one is old */
  write_bytes(file, text, strlen(text), NULL);
}

char *orr_rendezvous_failed(const OrrRendezvous *rendezvous) {
  char *text = NULL;
  if (!rendezvous->file) return NULL;
  g_autofree char *file = beside(rendezvous, "failed", -1);
  return is_fresh(rendezvous, file) && g_file_get_contents(file, &text, NULL, NULL) ? text : NULL;
}

/* Gives up if another rank has failed, or at @until_us. */
static gboolean may_wait_on(const OrrRendezvous *rendezvous, gint64 until_us, double timeout_s,
                            const char *what, GError **error) {
  g_autofree char *failed = orr_rendezvous_failed(rendezvous);
  if (failed)
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", failed);
  else if (g_get_monotonic_time() > until_us)
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "rank %ld waited %g s for %s",
                rendezvous->rank, timeout_s, what);
  else
    return g_usleep(20000), TRUE; /* a shared file system sends no notification */
  return FALSE;
}

/* The ranks that have not arrived, e.g. "rank 3", or "ranks 3, 5, 9 and 12 more"; NULL if all
 * have. */
static char *missing_ranks(const OrrRendezvous *rendezvous) {
  g_autoptr(GString) text = g_string_new(NULL);
  guint n = 0;
  for (gint64 rank = 0; rank < rendezvous->n_ranks; rank++) {
    g_autofree char *file = beside(rendezvous, "here", rank);
    if (is_fresh(rendezvous, file)) continue;
    if (n++ < 3) g_string_append_printf(text, "%s%ld", n > 1 ? ", " : "", rank);
  }
  if (n > 3) g_string_append_printf(text, " and %u more", n - 3);
  return n ? g_strdup_printf("rank%s %s", n > 1 ? "s" : "", text->str) : NULL;
}

gboolean orr_rendezvous_meet(const OrrRendezvous *rendezvous, double timeout_s, GError **error) {
  const gint64 until_us = g_get_monotonic_time() + (gint64)(timeout_s * G_USEC_PER_SEC);
  if (!rendezvous->file) return TRUE;
  g_autofree char *mine = beside(rendezvous, "here", rendezvous->rank);
  if (!write_bytes(mine, "", 0, error)) return FALSE;
  guint n_looks = 0;
  for (gint64 rank = 0; rank < rendezvous->n_ranks;
       rank++) { /* one file per look, however large the job */
    g_autofree char *file = beside(rendezvous, "here", rank);
    while (!is_fresh(rendezvous, file)) {
      g_autofree char *missing =
          g_get_monotonic_time() > until_us ? missing_ranks(rendezvous) : NULL;
      if (!may_wait_on(rendezvous, until_us, timeout_s, missing ? missing : "nobody", error))
        return FALSE;
      /* for ranks that begin later, to which the first one is old */
      if (++n_looks % LOOKS_PER_SIGN == 0 && !write_bytes(mine, "", 0, error)) return FALSE;
    }
  }
  return write_bytes(mine, "", 0, error);
}

gboolean orr_rendezvous_share(const OrrRendezvous *rendezvous, void *bytes, gsize n,
                              double timeout_s, GError **error) {
  const gint64 until_us = g_get_monotonic_time() + (gint64)(timeout_s * G_USEC_PER_SEC);
  if (!rendezvous->file) return TRUE;
  if (rendezvous->rank == 0) return write_bytes(rendezvous->file, bytes, n, error);
  g_autofree char *what = g_strdup_printf("rank 0's %s", rendezvous->file);
  while (!try_read(rendezvous->file, bytes, n))
    if (!may_wait_on(rendezvous, until_us, timeout_s, what, error)) return FALSE;
  return TRUE;
}

void orr_rendezvous_end(const OrrRendezvous *rendezvous) {
  if (!rendezvous->file || rendezvous->rank != 0) return;
  g_unlink(rendezvous->file);
  for (gint64 rank = 0; rank < rendezvous->n_ranks; rank++) {
    g_autofree char *file = beside(rendezvous, "here", rank);
    g_unlink(file);
  }
}

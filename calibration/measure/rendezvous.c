#include "calibration/measure/rendezvous.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/fault.h"

static const struct {
  const char *rank, *size, *local, *job, *step;
} launchers[] = {
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID", "SLURM_STEP_ID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE", ""},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID", ""},
};

static gboolean read_number(const char *name, gint64 *ret_number, GError **error) {
  const char *text = g_getenv(name);
  if (text && g_ascii_string_to_signed(text, 10, 0, 1 << 20, ret_number, NULL)) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s is '%s': want a whole number", name, text ? text : "");
  return FALSE;
}

/* Names the job and its step, so that an older job's file is not taken for this one's. */
static char *file_of(const char *folder, const char *job, const char *step) {
  const char *j = g_getenv(job), *s = *step ? g_getenv(step) : NULL;
  g_autofree char *name = g_strdup_printf("orrery-nccl-%s-%s", j ? j : "job", s ? s : "0");
  g_strcanon(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-.", '_');
  return g_build_filename(folder, name, NULL);
}

gboolean orr_rendezvous_init(OrrRendezvous *ret_rendezvous, GError **error) {
  const char *folder = g_getenv("ORRERY_RENDEZVOUS");
  OrrRendezvous found = {.n_ranks = 1, .local_rank = -1};
  for (guint i = 0; folder && i < G_N_ELEMENTS(launchers); i++) {
    if (!g_getenv(launchers[i].rank) || !g_getenv(launchers[i].size)) continue;
    if (!read_number(launchers[i].rank, &found.rank, error) || !read_number(launchers[i].size, &found.n_ranks, error))
      return FALSE;
    if (g_getenv(launchers[i].local) && !read_number(launchers[i].local, &found.local_rank, error)) return FALSE;
    if (found.rank >= found.n_ranks) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s is %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " ranks",
                  launchers[i].rank, found.rank, found.n_ranks);
      return FALSE;
    }
    if (found.n_ranks > 1) found.file = file_of(folder, launchers[i].job, launchers[i].step);
    break;
  }
  *ret_rendezvous = found;
  return TRUE;
}

void orr_rendezvous_clear(OrrRendezvous *rendezvous) { g_clear_pointer(&rendezvous->file, g_free); }

static gboolean write_bytes(const char *file, const void *bytes, gsize n, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (g_file_set_contents(file, bytes, (gssize)n, &reason)) return TRUE; /* writes beside, then renames */
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "ORRERY_RENDEZVOUS: %s", reason->message);
  return FALSE;
}

static gboolean try_read(const char *file, void *bytes, gsize n) {
  g_autofree char *text = NULL;
  gsize length = 0;
  if (!g_file_get_contents(file, &text, &length, NULL) || length != n) return FALSE;
  memcpy(bytes, text, n);
  return TRUE;
}

gboolean orr_rendezvous_share(const OrrRendezvous *rendezvous, void *bytes, gsize n, double timeout_s, GError **error) {
  const gint64 until_us = g_get_monotonic_time() + (gint64)(timeout_s * G_USEC_PER_SEC);
  if (!rendezvous->file) return TRUE;
  if (rendezvous->rank == 0) return write_bytes(rendezvous->file, bytes, n, error);
  while (!try_read(rendezvous->file, bytes, n)) {
    if (g_get_monotonic_time() > until_us) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "rank %" G_GINT64_FORMAT " waited %g s for rank 0's %s",
                  rendezvous->rank, timeout_s, rendezvous->file);
      return FALSE;
    }
    g_usleep(20000); /* a shared file system has no other way to be told */
  }
  return TRUE;
}

void orr_rendezvous_end(const OrrRendezvous *rendezvous) {
  if (rendezvous->file && rendezvous->rank == 0) g_unlink(rendezvous->file);
}

/*
 * rendezvous.h - how the processes of a job find each other: rank, size, and a few bytes from the
 * first rank to all others.
 *
 * Rank and size come from the launcher's environment: SLURM_PROCID, SLURM_NTASKS;
 * OMPI_COMM_WORLD_RANK, _SIZE; PMI_RANK, PMI_SIZE. ORRERY_RENDEZVOUS must name a folder that all
 * ranks see. Without it several processes are refused: each would measure the same GPU. The shell
 * of a batch script has SLURM_NTASKS as well, but is one process: only srun sets
 * SLURM_STEP_NUM_TASKS. MPI is not used.
 *
 * Files of an attempt that failed may still be there. A reported failure counts only if it is not
 * older than this process, by the file system's own clock; the same holds for the files by which
 * ranks say that they are here, so ranks that wait write theirs anew. Bytes of rank 0 are read
 * after all have met: rank 0 writes them before.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  gint64 rank, n_ranks, local_rank; /* local_rank: rank within this node; -1 unknown */
  char *file;                       /* the file that carries the bytes; NULL: a job of one */
  gint64 began_ns; /* the file system's time when this rank began; older files do not count */
} OrrRendezvous;

/* A job of one if the launcher's variables are not set. ORR_FAULT_RESOURCE for invalid values, and
 * for several processes without ORRERY_RENDEZVOUS. */
gboolean orr_rendezvous_init(OrrRendezvous *ret_rendezvous, GError **error);
void orr_rendezvous_clear(OrrRendezvous *rendezvous);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrRendezvous, orr_rendezvous_clear)

/* Copies rank 0's @n bytes to @bytes of all ranks. Rank 0 calls it before orr_rendezvous_meet, the
 * others after it. Rank 0 writes the file under another name and
 * renames it, so that no rank reads half of it; the others wait at most @timeout_s. */
gboolean orr_rendezvous_share(const OrrRendezvous *rendezvous, void *bytes, gsize n,
                              double timeout_s, GError **error);

/* Returns when all ranks have called it. ORR_FAULT_RESOURCE: a rank reported a failure, with its
 * reason, or some ranks did not arrive in time; the message names them. */
gboolean orr_rendezvous_meet(const OrrRendezvous *rendezvous, double timeout_s, GError **error);

/* Reports to all ranks that this one cannot continue; the first report counts. It stays: file
 * names contain the job's name, so a folder can serve one job after another. */
void orr_rendezvous_fail(const OrrRendezvous *rendezvous, const char *reason);
/* "rank 3: out of memory" where a rank has said so, else NULL. Newly allocated. */
char *orr_rendezvous_failed(const OrrRendezvous *rendezvous);

/* Rank 0 calls it when all have met; removes the files. */
void orr_rendezvous_end(const OrrRendezvous *rendezvous);

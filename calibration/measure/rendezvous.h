/*
 * rendezvous.h - the processes of a job find each other: who am I, of how many, and a few bytes
 * from the first to all.
 *
 * Rank and size come from the launcher's environment: SLURM_PROCID, SLURM_NTASKS;
 * OMPI_COMM_WORLD_RANK, _SIZE; PMI_RANK, PMI_SIZE. ORRERY_RENDEZVOUS must name a folder that all
 * see: a batch script's own shell has SLURM_NTASKS too, and would wait for ranks that nobody
 * started. There is no MPI in it.
 */
#ifndef ORR_RENDEZVOUS_H
#define ORR_RENDEZVOUS_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  gint64 rank, n_ranks, local_rank; /* local_rank: among those of this node; -1 unknown */
  char *file;                       /* where the bytes go; NULL: a job of one */
} OrrRendezvous;

/* A job of one where ORRERY_RENDEZVOUS or the launcher's variables are not set.
 * ORR_FAULT_RESOURCE for nonsense in them. */
gboolean orr_rendezvous_init(OrrRendezvous *ret_rendezvous, GError **error);
void orr_rendezvous_clear(OrrRendezvous *rendezvous);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrRendezvous, orr_rendezvous_clear)

/* Rank 0's @n bytes come into all @bytes. Rank 0 writes the file under another name and renames
 * it, so that nobody reads half of it; the others wait for it @timeout_s at most. */
gboolean orr_rendezvous_share(const OrrRendezvous *rendezvous, void *bytes, gsize n,
                              double timeout_s, GError **error);

/* Returns when all ranks have called it. ORR_FAULT_RESOURCE: a rank said that it has failed,
 * with its reason, or some did not come in time, which are named. */
gboolean orr_rendezvous_meet(const OrrRendezvous *rendezvous, double timeout_s, GError **error);

/* Tells all ranks that this one cannot go on; the first that says so is heard. It stays said: a
 * folder serves one job after another because a job's name is in each file's. */
void orr_rendezvous_fail(const OrrRendezvous *rendezvous, const char *reason);
/* "rank 3: out of memory" where a rank has said so, else NULL. Newly allocated. */
char *orr_rendezvous_failed(const OrrRendezvous *rendezvous);

/* rank 0, when all have met: removes the files */
void orr_rendezvous_end(const OrrRendezvous *rendezvous);

G_END_DECLS

#endif

/*
 * tiers.h - where blocks of the key-value cache are kept below HBM: host memory, SSD, a
 * store on the network.
 *
 *   block full in HBM --> host (a replica's) --> SSD (a replica's) --> remote (of all replicas)       written through
 *   lookup:  HBM, and from where that ends the first tier that has the next block, until none has
 *
 * Each tier is a list by least recent use of its own: a block that is computed, or found, is the
 * newest of every tier. As LMCache and Mooncake's store do, what is found is read before the step
 * that computes the rest of the prompt, which waits for it; writing takes no time of the step.
 *
 *   host     bytes of a rank / its host link
 *   ssd      latency + bytes of all ranks / ssd-bandwidth
 *   remote   latency + bytes of a rank / remote-bandwidth, or flows over the fabric (cache_tiers.c)
 *
 * Oracle: lists by least recent use contain one another (Mattson et al. 1970): a tier of at least
 * HBM's size answers as many lookups as an HBM of the tier's size would.
 */
#ifndef ORR_TIERS_H
#define ORR_TIERS_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum { ORR_TIER_HOST, ORR_TIER_SSD, ORR_TIER_REMOTE, ORR_N_TIERS } OrrTier;

/* Keys by least recent use. */
typedef struct OrrTierStore OrrTierStore;

OrrTierStore *orr_tier_store_new(gint64 n_blocks); /* NULL for 0 */
void orr_tier_store_free(OrrTierStore *store);
gboolean orr_tier_store_has(const OrrTierStore *store, guint64 key);
/* it is the newest; the oldest goes where there is no room */
void orr_tier_store_touch(OrrTierStore *store, guint64 key);

/* As one replica sees them: not owned, NULL where there is no such tier. */
typedef struct {
  OrrTierStore *stores[ORR_N_TIERS];
  gboolean host_alone; /* what is deeper is read to the host first: steps find host memory alone */
} OrrTiers;

int orr_tiers_find(const OrrTiers *tiers, guint64 key); /* the first that has it; -1: none */
void orr_tiers_touch(const OrrTiers *tiers, guint64 key);

G_END_DECLS

#endif

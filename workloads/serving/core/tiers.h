/*
 * tiers.h - cache tiers of the key-value cache below HBM: host memory, SSD, and a store on the
 * network.
 *
 *   block full in HBM --> host (a replica's) --> SSD (a replica's) --> remote (of all replicas)
 *   (written through)
 *   lookup:  HBM, and from where that ends the first tier that has the next block, until none has
 *
 * Each tier has its own least-recently-used order: a block that is computed or found becomes the
 * newest of every tier. As in LMCache and Mooncake's store, the blocks found are read before the
 * step that computes the rest of the prompt, which waits for them; writing takes no time of the
 * step.
 *
 *   host     bytes of a rank / its host link
 *   ssd      latency + bytes of all ranks / ssd-bandwidth
 *   remote   latency + bytes of a rank / remote-bandwidth, or flows over the fabric (cache_tiers.c)
 *
 * Oracle: least-recently-used lists include one another (Mattson et al. 1970): a tier at least as
 * large as HBM answers as many lookups as an HBM of the tier's size would.
 */
#ifndef ORR_TIERS_H
#define ORR_TIERS_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum { ORR_TIER_HOST, ORR_TIER_SSD, ORR_TIER_REMOTE, ORR_N_TIERS } OrrTier;

/* Keys in least-recently-used order. */
typedef struct OrrTierStore OrrTierStore;

OrrTierStore *orr_tier_store_new(gint64 n_blocks); /* NULL for 0 */
void orr_tier_store_free(OrrTierStore *store);
gboolean orr_tier_store_has(const OrrTierStore *store, guint64 key);
/* makes the key the newest; drops the oldest if the store is full */
void orr_tier_store_touch(OrrTierStore *store, guint64 key);

/* The tiers of one replica: not owned; NULL for a missing tier. */
typedef struct {
  OrrTierStore *stores[ORR_N_TIERS];
  gboolean host_alone; /* deeper tiers are read to host memory first: steps find only host memory */
} OrrTiers;

int orr_tiers_find(const OrrTiers *tiers, guint64 key); /* the first tier that holds the key; -1:
                                                         * none */
void orr_tiers_touch(const OrrTiers *tiers, guint64 key);

G_END_DECLS

#endif

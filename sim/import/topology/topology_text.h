/*
 * topology_text.h - a cluster in the words of other tools: what `describe cluster NAME --as FORMAT`
 * prints, and the readers here read back.
 *
 * A format says less than a document: NCCL's XML has the inside of a node (several, where NVLink
 * spans nodes), Slurm's file which nodes are close. What both say together is compared by
 * tests/import/test_topology_round.c.
 */
#pragma once

#include "topologies/cluster.h"

typedef struct {
  const char *name;     /* "nccl-xml" */
  const char *sentence; /* what it says */
  /* The text; newly allocated. NULL with ORR_FAULT_DOCUMENT where the format has no words for the
   * cluster. */
  char *(*write)(const OrrCluster *cluster, GError **error);
} OrrTopologyText;

extern const OrrTopologyText *const orr_topology_texts[]; /* alphabetical; ends with NULL */

/* The cluster in that format. NULL with ORR_FAULT_USAGE for an unknown @format. */
char *orr_topology_text(const char *format, const OrrCluster *cluster, GError **error);

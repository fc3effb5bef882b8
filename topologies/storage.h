/*
 * storage.h - a parallel file system outside a machine: servers with links of their own (Lustre's
 * object storage servers).
 *
 *   own:     node NICs for storage -- non-blocking network -- servers -- the file system's own
 *            limit
 *   fabric:  GPUs' NICs -- the compute fabric -- servers at its last ports -- the same
 *
 *   cluster:
 *     storage: {servers: 8, server-bandwidth: 40 GB/s, attach: own, node-bandwidth: 50 GB/s}
 *
 * Rates are effective, as large sequential files reach them, for one direction; a server reads and
 * writes at the same time.
 */
#ifndef ORR_STORAGE_H
#define ORR_STORAGE_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef enum { ORR_STORAGE_OWN, ORR_STORAGE_FABRIC } OrrStorageAttach;

typedef struct {
  gint64 servers; /* 0: no file system */
  double server_bytes_per_s;
  double aggregate_bytes_per_s; /* limit of the whole file system; 0: the sum of its servers */
  int attach;                   /* OrrStorageAttach */
  double node_bytes_per_s;      /* attach own: rate of a node's storage NICs */
  gint64 stripes;               /* servers over which one file is spread; 0: all */
  double latency_s;             /* to open and commit a file */
} OrrStorage;

extern const OrrFieldTable orr_storage_table;

gint64 orr_storage_stripes(const OrrStorage *storage); /* after defaults; at most the number of
                                                        * servers */

/* The server of stripe @i of client @gpu's file: round robin, in the order in which Lustre's
 * allocator assigns object servers. */
gint64 orr_storage_server(const OrrStorage *storage, gint64 gpu, gint64 i);

/* Checks rules that span fields. Adds findings at @place. */
void orr_storage_check(const OrrStorage *storage, OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif

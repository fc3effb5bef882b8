/*
 * storage.c - the fields of the file system, its checks, and the servers of a file.
 */
#include "topologies/cluster.h"

static const char *const attach_words[] = {"own", "fabric", NULL};

const OrrFieldTable orr_storage_table = ORR_FIELDS(
    "storage", "A parallel file system outside the machine.", OrrStorage,
    ORR_FIELD_INT(OrrStorage, "servers", servers, "0",
                  "Servers of the parallel file system; 0: no file system.", .min = 0, .max = 1e5),
    ORR_FIELD_REAL(OrrStorage, "server-bandwidth", server_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   "0 B/s", "Rate at which one server reads or writes.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(OrrStorage, "aggregate-bandwidth", aggregate_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                   "0 B/s",
                   "Limit of the whole file system, reading or writing; 0: the sum of its servers.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_WORD(OrrStorage, "attach", attach, attach_words, "own",
                   "own: over separate NICs and a separate network; fabric: over the compute "
                   "fabric, at its last ports."),
    ORR_FIELD_REAL(OrrStorage, "node-bandwidth", node_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
                   "With attach own: rate of a node's storage NICs, one direction.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(OrrStorage, "stripes", stripes, "0",
                  "Servers over which a file is spread (Lustre's stripe count); 0: all.", .min = 0,
                  .max = 1e5),
    ORR_FIELD_REAL(OrrStorage, "latency", latency_s, ORR_UNIT_SECONDS, "0 s",
                   "Time to open and commit a file.", .flags = ORR_FIELD_UNSIGNED));

gint64 orr_storage_stripes(const OrrStorage *storage) {
  return storage->stripes > 0 ? MIN(storage->stripes, storage->servers) : storage->servers;
}

gint64 orr_storage_server(const OrrStorage *storage, gint64 gpu, gint64 i) {
  return (gpu * orr_storage_stripes(storage) + i) % storage->servers;
}

void orr_storage_check(const OrrStorage *storage, OrrPlace place, OrrDiags *diags) {
  if (storage->servers == 0) return;
  if (!(storage->server_bytes_per_s > 0))
    orr_diags_error(diags, place,
                    "storage has servers, but no server-bandwidth: it must be greater than 0");
  if (storage->attach == ORR_STORAGE_OWN && !(storage->node_bytes_per_s > 0))
    orr_diags_error(diags, place,
                    "storage is attached by a network of its own: node-bandwidth must be greater "
                    "than 0 (or attach: fabric)");
  if (storage->attach == ORR_STORAGE_FABRIC && storage->node_bytes_per_s > 0)
    orr_diags_error(diags, place,
                    "storage is attached to the compute fabric: node-bandwidth does not apply");
  if (storage->stripes > storage->servers)
    orr_diags_error(diags, place, "stripes is %ld, but there are %ld servers", storage->stripes,
                    storage->servers);
}

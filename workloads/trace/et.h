/*
 * et.h - Chakra execution traces (MLCommons), schema 0.0.4 and later: one file per rank, a stream
 * of messages, each after its length as a varint. The first is GlobalMetadata, the others are
 * nodes.
 *
 *   Node   1 id  2 name  3 type  4 ctrl_deps  5 data_deps  6 start_time_micros  7 duration_micros
 *          8 inputs  9 outputs  10 attr (name 1, value by its type 3 to 31)
 *   type   1 METADATA  2 MEM_LOAD  3 MEM_STORE  4 COMP  5 COMM_SEND  6 COMM_RECV  7 COMM_COLL
 *          8 STORAGE  9 BATCH  10 CHECKPOINT
 *
 * Source: mlcommons/chakra, schema/protobuf/et_def.proto (MIT). What attributes mean is as
 * ASTRA-sim 2 reads them: comm_size is what one rank gives in, so an all-gather of n ranks gathers
 * n times as much. Times are whole microseconds: what we write is off by at most one half per
 * stream of a rank, since rounding carries over.
 */
#pragma once

#include "workloads/trace/work_graph.h"

/* How ASTRA-sim's `involved_dim` names ranks: the ranks along each dimension, the first one
 * innermost. */
typedef struct {
  const double *sizes;
  guint n; /* 0: not given */
} OrrEtDims;

/* Adds a rank with the nodes of a file's bytes; messages name @file. */
gboolean orr_et_read(OrrWorkGraph *graph, const void *data, gsize length, const char *file,
                     const OrrEtDims *dims, GError **error);

/* Traces as JSON, as Chakra's jsonizer prints them: one object after another, GlobalMetadata first,
 * with protobuf's names of fields or those with underscores; numbers may stand in quotes.
 *
 *   {"version": "0.0.4"}
 *   {"id": "3", "name": "mm", "type": "COMP_NODE", "ctrlDeps": ["1"], "durationMicros": "20",
 *    "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "num_ops", "int64Val": "5"}]}
 *
 * Returns the bytes that orr_et_read takes; messages name @file with line and column. NULL with
 * @error. */
GByteArray *orr_et_json_read(const char *text, gsize length, const char *file, GError **error);

/* The bytes of @rank's file. Process groups are named by their number, as ASTRA-sim wants it. */
GByteArray *orr_et_write(const OrrWorkGraph *graph, guint32 rank);

/* The ranks of all groups as ASTRA-sim's JSON, {"0": [0, 1]}; newly allocated. */
char *orr_et_write_groups(const OrrWorkGraph *graph);

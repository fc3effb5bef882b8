/*
 * measure_export.h - measured rows as CSV files, with the columns that `orrery import measured`
 * reads.
 *
 *   gemm.csv                          gemm_dtype,m,n,k,latency_us              forward, unbatched
 *   attention_prefill.csv, attention_decode.csv, moe_ffn.csv
 *                                     as NVIDIA aiconfigurator's collector
 *   collectives.csv                   system,table,dtype,version,op,n_gpus,bytes,latency_us
 *   FAMILY.csv                        the family's own columns, then latency_us: all that has no
 *                                     place above
 *
 * Each file begins with a '#' line: device, software, source. If several rows have the same shape,
 * the newest is exported. Rows that failed verification are left out.
 */
#pragma once

#include "calibration/measure/measure_row.h"

typedef struct {
  char *file, *text;
  guint n_rows;
} OrrExportFile;

/* A GPtrArray of OrrExportFile, sorted by name, with rows in the order of their shapes. @rows:
 * OrrMeasureRow of one device, oldest first. NULL with ORR_FAULT_DOCUMENT if rows belong to
 * different devices or have an invalid shape. */
GPtrArray *orr_measure_export(const GArray *rows, GError **error);

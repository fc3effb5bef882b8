/*
 * measured.h - makes a profile from a folder of measured kernels: what `orrery import measured`
 * does.
 *
 * The folder contains gemm.csv, attention_prefill.csv, attention_decode.csv and moe_ffn.csv, or
 * some of them, with the columns of NVIDIA aiconfigurator's collector (gemm_dtype,m,n,k,latency_us
 * ...). Collectives are the rows of table nccl_perf of one system in a file of
 * system,table,dtype,version,op,n_gpus,bytes,latency_us.
 *
 * Instead of a folder, a file holds matrix products of one engine's kernels on several systems
 * (system,framework,version,dtype,m,n,k,latency_ms), or is a table of AMD's tuner of aiter
 * (cu_num,M,N,K,us ...): the profile is then DEVICE-libraries, or DEVICE-experts if the table has
 * fused experts.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  const char *device;          /* that was measured */
  const char *collectives_csv; /* NULL: none */
  /* Picks rows of @collectives_csv, and is named in the source; NULL: the folder is named. */
  const char *system;
  const char *base; /* base of the new profile; NULL: none */
  /* Folder of tables of the same chip under a lower power limit, which therefore cannot be the
   * faster. A product or prefill of at least 0.5 ms that takes a tenth longer here than there
   * was held back by this machine, and takes the time from there; NULL: none. */
  const char *same_chip;
  gboolean thin; /* three significant digits per latency: within 0.5 %; every row stays */
} OrrMeasuredOptions;

/* The YAML text of the profile DEVICE-kernels (of a file: DEVICE-libraries or DEVICE-experts): only
 * rows, to be the base of a profile with the device's constants. Newly allocated. NULL with
 * ORR_FAULT_DOCUMENT, which names every bad line, or ORR_FAULT_RESOURCE. */
char *orr_measured_import(const char *folder, const OrrMeasuredOptions *options, GError **error);

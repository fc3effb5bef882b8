/*
 * measured.h - makes a profile from a folder of measured kernels.
 *
 * The folder holds gemm.csv, attention_prefill.csv, attention_decode.csv and moe_ffn.csv with the
 * columns of NVIDIA aiconfigurator's collector (gemm_dtype,m,n,k,latency_us ...); any of the four
 * may be missing, not all. Collectives are the rows of table nccl_perf of one system in a file of
 * system,table,dtype,version,op,n_gpus,bytes,latency_us. What `orrery import measured` calls.
 */
#ifndef ORR_MEASURED_H
#define ORR_MEASURED_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  const char *device;          /* that was measured */
  const char *collectives_csv; /* NULL: none */
  /* picks rows of @collectives_csv, and is named in the source; NULL: the folder is */
  const char *system;
  const char *base; /* profile that the new one is laid on; NULL: none */
  /* folder of tables of the same chip under a lower power limit, which cannot be the faster: a
   * product or prefill of 0.5 ms and more that takes a tenth longer here than there was held
   * back by this machine, and takes the time there; NULL: none */
  const char *same_chip;
  gboolean thin; /* three significant digits a latency: within 0.5 % of it; every row stays */
} OrrMeasuredOptions;

/* The YAML text of the profile DEVICE-kernels: rows alone, which a profile with the device's
 * constants takes as its base. Newly allocated. NULL with ORR_FAULT_DOCUMENT that names every
 * bad line (and nothing is returned), or ORR_FAULT_RESOURCE. */
char *orr_measured_import(const char *folder, const OrrMeasuredOptions *options, GError **error);

G_END_DECLS

#endif

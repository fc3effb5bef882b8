/*
 * calibrate_import.h - times that NVIDIA's profilers measured, as rows of table kernel_sample: for
 * machines where this program may not run.
 *
 *   nsys stats --format csv --report nvtx_kern_sum R         a row per range and kernel
 *   nsys stats --format csv --report cuda_gpu_kern_sum:nvtx-name R      names: range/kernel
 *   ncu --csv --nvtx --import R                              a row per launch and metric: Duration
 *
 * A kernel's name has no sizes, so rows come from NVTX ranges around the calls:
 *
 *   orrery:FAMILY KEY=VALUE ...        any family, with the shape as table kernel_sample writes it
 *   aten::mm, sizes = [[m, k], [k, n]] PyTorch's emit_nvtx(record_shapes=True); addmm and bmm as
 *                                      well. Format and layout come from the kernel's name
 *                                      (nvjet_tst_..._TNT, ..._bf16_..._tn_...)
 *
 * Everything else is listed as not used, with the reason: attention of PyTorch (its ranges do not
 * hold the mask), NCCL's kernels (no size; `import nsys --ranks` reads NCCL's own ranges), ranges
 * whose kernels ran different numbers of times.
 *
 * The time of one call is the sum over the kernels in its range: the report's median where one
 * kernel ran once in each call, otherwise the mean.
 */
#pragma once

#include "calibration/measure/measure_row.h"

typedef struct {
  char *name, *reason; /* of a range, or of a kernel without one */
  double us;           /* all its calls */
} OrrCalibrateUnused;

typedef struct {
  const char *tool;  /* "nsys" or "ncu" */
  GArray *rows;      /* OrrMeasureRow, in the order of the file */
  GPtrArray *unused; /* OrrCalibrateUnused, the longest first */
} OrrCalibrateImport;

/* Reads a report. @device: the name of the rows' device; @date: ISO 8601. NULL with
 * ORR_FAULT_DOCUMENT: not such a report, or cells that are not numbers, each with its line;
 * ORR_FAULT_RESOURCE: it cannot be read. */
OrrCalibrateImport *orr_calibrate_import_read(const char *path, const char *device,
                                              const char *date, GError **error);
void orr_calibrate_import_free(OrrCalibrateImport *import);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCalibrateImport, orr_calibrate_import_free)

/* Adds the rows to the database as one run. */
gboolean orr_calibrate_import_store(const OrrCalibrateImport *import, const char *db,
                                    GError **error);

/* The shape that a range and the name of its longest kernel stand for. FALSE with @ret_reason,
 * newly allocated, why it is unknown. */
gboolean orr_calibrate_import_shape(const char *range, const char *kernel, OrrShape *ret_shape,
                                    char **ret_reason);

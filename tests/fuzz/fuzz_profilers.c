/*
 * fuzz_profilers.c - libFuzzer target: no bytes may break the reader of nsys' and ncu's reports;
 * each row that it makes has a shape of its family and a time above 0.
 */
#include <math.h>

#include "calibration/measure/family.h"
#include "sim/calibrate/calibrate_import.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCalibrateImport) import =
      orr_calibrate_import_read(fuzz_file(data, size), "h100-sxm", "2026-01-01T00:00:00Z", &error);
  g_assert_true((import != NULL) == (error == NULL));
  for (guint i = 0; import && i < import->rows->len; i++) {
    const OrrMeasureRow *row = &g_array_index(import->rows, OrrMeasureRow, i);
    OrrShape shape;
    g_assert_true(orr_shape_parse(orr_family_find(row->family), row->shape, &shape, NULL));
    g_assert_true(isfinite(row->median_us) && row->median_us > 0);
  }
  return 0;
}

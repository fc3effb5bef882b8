/*
 * fuzz_csv.c - libFuzzer target: no bytes may break the reader of tables. Each row that it keeps
 * has as many cells as the header, and each cell is a finite number or an error.
 */
#include <math.h>

#include "sim/base/csv.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = orr_csv_read(fuzz_file(data, size), diags, &error);
  g_assert_true((csv != NULL) == (error == NULL));
  for (guint i = 0; csv && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (!line->cells) continue;
    g_assert_cmpuint(g_strv_length(line->cells), ==, g_strv_length(csv->header));
    for (int column = 0; csv->header[column]; column++) {
      const guint before = orr_diags_n_errors(diags);
      double value = NAN;
      if (orr_csv_number(csv, line, column, diags, &value))
        g_assert_true(isfinite(value));
      else
        g_assert_cmpuint(orr_diags_n_errors(diags), ==, before + 1);
    }
  }
  return 0;
}

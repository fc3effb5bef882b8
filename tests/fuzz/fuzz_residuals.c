/*
 * fuzz_residuals.c - libFuzzer target: no bytes may break the reader of residuals, nor the bands
 * that are asked of what it keeps. The bytes are read as a whole file, and as the lines after a
 * header.
 */
#include <math.h>
#include <string.h>

#include "sim/bands/band.h"
#include "tests/fuzz/fuzz_file.h"

static void append_header(GString *out) {
  g_string_append(out, "# model-revision: 1\nset,row,part,label");
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++)
    g_string_append_printf(out, ",%s", orr_likeness_table.fields[i].name);
  g_string_append(out, ",answers\n");
}

static void check_row(const OrrResidual *row) {
  g_assert_cmpint(row->row, >, 0);
  g_assert_cmpuint(row->n_answers, >=, 1);
  g_assert_cmpuint(row->n_answers, <=, ORR_RESIDUAL_ANSWERS);
  for (guint i = 0; i < row->n_answers; i++) {
    const OrrResidualAnswer *answer = &row->answers[i];
    g_assert_true(answer->measured > 0 && isfinite(answer->measured));
    g_assert_true(answer->simulated > 0 && isfinite(answer->simulated));
    g_assert_true(orr_residual_answer(row, answer->metric) != NULL);
  }
}

/* A band has bounds that are above 0 and in order, or none. */
static void check_band(double low, double high, OrrBandQuality quality) {
  if (quality == ORR_BAND_NONE)
    g_assert_true(isnan(low) && isnan(high));
  else
    g_assert_true(low > 0 && low <= high && isfinite(high));
}

/* The band of a row's own answer, and of its ratio to another row's. */
static void ask(const OrrBands *bands, const OrrResidual *row, const OrrResidual *other) {
  const OrrBandQuestion question = {
      .likeness = &row->likeness, .metric = row->answers[0].metric, .level = 0.8};
  const OrrBand band = orr_bands_ask(bands, &question, NULL);
  const OrrRatioBand ratio = orr_bands_ask_ratio(bands, &question, &other->likeness, 1.5);
  check_band(band.low, band.high, band.quality);
  check_band(ratio.low, ratio.high, ratio.quality);
}

static void read_and_ask(const uint8_t *data, size_t size) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrResiduals) residuals = orr_residuals_read(fuzz_file(data, size), &error);
  g_assert_true((residuals != NULL) == (error == NULL));
  if (!residuals || residuals->rows->len == 0) return;
  const OrrResidual *rows = (const OrrResidual *)(const void *)residuals->rows->data;
  for (guint i = 0; i < residuals->rows->len; i++) check_row(&rows[i]);
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  ask(bands, &rows[0], &rows[residuals->rows->len - 1]);
}

/* GLib keeps interned texts for good, and the old array whenever their array grows: the latter
 * looks like a leak. Leaks are looked for by tests/bands/test_residuals under sanitizers. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(GString) text = g_string_new(NULL);
  append_header(text);
  g_string_append_len(text, (const char *)data, (gssize)size);
  read_and_ask(data, size);
  read_and_ask((const uint8_t *)text->str, text->len);
  return 0;
}

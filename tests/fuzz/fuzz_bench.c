/*
 * fuzz_bench.c - libFuzzer target: no bytes may break the readers of benchmarks' results.
 */
#include "sim/import/bench/bench.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  g_autoptr(GPtrArray) results =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_bench_result_free);
  g_autoptr(GError) error = NULL;
  const gboolean is_read = orr_bench_read(fuzz_file(data, size), results, &error);
  g_assert_true(is_read == (error == NULL));
  g_autofree char *csv = orr_bench_csv(results);
  g_assert_nonnull(csv);
  for (guint i = 0; i < results->len; i++) {
    g_autofree char *load = orr_bench_load(results->pdata[i], NULL);
  }
  return 0;
}

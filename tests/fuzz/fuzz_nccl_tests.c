/*
 * fuzz_nccl_tests.c - libFuzzer target: no bytes may break the reader of nccl-tests' logs, as a
 * profile and as rows.
 */
#include "calibration/fit/import_nccl_tests.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  for (gboolean csv = FALSE; csv <= TRUE; csv++) {
    const OrrNcclTestsOrder order = {.device = "h100-sxm", .csv = csv};
    g_autoptr(GError) error = NULL;
    g_autofree char *text = orr_import_nccl_tests(fuzz_file(data, size), &order, &error);
    g_assert_true((text != NULL) == (error == NULL));
  }
  return 0;
}

/*
 * test_device.c - devices as documents: every shipped one is read, with its facts and peaks.
 */
#include "topologies/device.h"

#include <string.h>

#include "sim/base/library.h"
#include "tests/run/shared_library.h"

static void load(OrrLibrary *library, const char *name, OrrDevice *device) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrPlace nowhere = {"test", 0, 0};
  g_autoptr(OrrNode) root = orr_library_load(library, "device", name, nowhere, diags);
  if (root) orr_field_read(&orr_device_table, root, library, diags, device);
  g_autofree char *text = orr_diags_text(diags);
  g_assert_cmpstr(text, ==, "");
  g_assert_nonnull(root);
}

static void test_shipped(void) {
  const char *const wanted[] = {"a100-40gb-sxm", "a100-80gb-sxm", "b200",   "gb200",  "h100-sxm",
                                "h200-sxm",      "l40s",          "mi300x", "mi355x", NULL};
  OrrLibrary *library = shared_library();
  g_auto(GStrv) names = orr_library_names(library, "device");
  for (guint i = 0; wanted[i]; i++)
    g_assert_true(g_strv_contains((const char *const *)names, wanted[i]));
  for (guint i = 0; names[i]; i++) {
    OrrDevice device;
    load(library, names[i], &device);
    g_assert_cmpstr(device.name, ==, names[i]);
    g_assert_nonnull(device.source);
    g_assert_cmpfloat(device.bf16_flops, >, 0);
    g_assert_cmpfloat(device.memory_bytes, >,
                      1e10); /* no device with less than 10 GB: a slip of the unit */
    g_assert_cmpfloat(device.memory_bytes_per_s, >, 5e11);
    orr_field_clear(&orr_device_table, &device);
  }
}

static void test_facts(void) {
  /* The datasheet's: 312 TFLOP/s BF16, 2.039 TB/s, 300 GB/s NVLink one way; the 40 GB part
   * differs in memory alone. */
  OrrLibrary *library = shared_library();
  OrrDevice big, small;
  load(library, "a100-80gb-sxm", &big);
  load(library, "a100-40gb-sxm", &small);
  g_assert_cmpfloat_with_epsilon(big.bf16_flops, 312e12, 1);
  g_assert_cmpfloat_with_epsilon(big.memory_bytes_per_s, 2.039e12, 1);
  g_assert_cmpfloat_with_epsilon(big.scale_up_bytes_per_s, 300e9, 1);
  g_assert_cmpint(big.sms, ==, 108);
  g_assert_cmpfloat_with_epsilon(small.memory_bytes * 2, big.memory_bytes, 1);
  g_assert_cmpfloat_with_epsilon(small.bf16_flops, big.bf16_flops, 1);
  orr_field_clear(&orr_device_table, &big);
  orr_field_clear(&orr_device_table, &small);
}

static void test_peaks(void) {
  const OrrDevice device = {.fp32_flops = 1,
                            .tf32_flops = 2,
                            .fp16_flops = 3,
                            .bf16_flops = 4,
                            .fp8_flops = 5,
                            .fp4_flops = 6,
                            .int8_flops = 7};
  const OrrDtype dtypes[] = {ORR_FP32, ORR_TF32, ORR_FP16, ORR_BF16, ORR_FP8, ORR_FP4, ORR_INT8};
  for (int i = 0; i < ORR_N_DTYPES; i++)
    g_assert_cmpfloat(orr_device_peak_flops(&device, dtypes[i]), ==, i + 1);
}

static void test_sentences(void) {
  for (size_t i = 0; i < orr_device_table.n_fields; i++)
    g_assert_true(g_str_has_suffix(orr_device_table.fields[i].sentence, "."));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/device/shipped", test_shipped);
  g_test_add_func("/device/facts", test_facts);
  g_test_add_func("/device/peaks", test_peaks);
  g_test_add_func("/device/sentences", test_sentences);
  return g_test_run();
}

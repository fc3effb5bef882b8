/* calibration_sample.h - a device with round numbers, the two shipped ones, and profiles from text
 * or from the library.
 */
#pragma once

#include "calibration/cost/cost.h"
#include "sim/base/library.h"
#include "sim/base/yaml.h"
#include "tests/run/shared_library.h"

#include <string.h>

/* 1 TFLOP/s an SM, 1 TB/s. */
static const OrrDevice round_device G_GNUC_UNUSED = {.name = (char *)"round",
                                                     .sms = 100,
                                                     .memory_bytes_per_s = 1e12,
                                                     .fp32_flops = 1e13,
                                                     .bf16_flops = 1e14,
                                                     .fp16_flops = 1e14,
                                                     .scale_up_bytes_per_s = 1e11,
                                                     .scale_up_efficiency = 0.5};

static const OrrDevice a100_device G_GNUC_UNUSED = {.name = (char *)"a100-80gb-sxm",
                                                    .sms = 108,
                                                    .memory_bytes_per_s = 2.039e12,
                                                    .fp32_flops = 19.5e12,
                                                    .tf32_flops = 156e12,
                                                    .fp16_flops = 312e12,
                                                    .bf16_flops = 312e12,
                                                    .scale_up_bytes_per_s = 300e9,
                                                    .scale_up_efficiency = 0.8};

static const OrrDevice h100_device G_GNUC_UNUSED = {.name = (char *)"h100-sxm",
                                                    .sms = 132,
                                                    .memory_bytes_per_s = 3.35e12,
                                                    .fp32_flops = 67e12,
                                                    .tf32_flops = 494.5e12,
                                                    .fp16_flops = 989e12,
                                                    .bf16_flops = 989e12,
                                                    .fp8_flops = 1979e12,
                                                    .scale_up_bytes_per_s = 450e9};

static inline OrrProfile *read_profile(const char *text, char **ret_findings) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "p", diags);
  OrrProfile *profile = node ? orr_profile_read(node, NULL, diags) : NULL;
  *ret_findings = orr_diags_text(diags);
  return profile;
}

static inline OrrProfile *sample_profile(const char *text) {
  g_autofree char *findings = NULL;
  OrrProfile *profile = read_profile(text, &findings);
  g_assert_cmpstr(findings, ==, "");
  return profile;
}

static inline OrrProfile *shipped_profile(const char *name) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_library_load(library, "profile", name, (OrrPlace){0}, diags);
  OrrProfile *profile = node ? orr_profile_read(node, library, diags) : NULL;
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  return profile;
}

static inline OrrCostModel *model_of(const OrrProfile *profile, const OrrDevice *device) {
  g_autoptr(GError) error = NULL;
  OrrCostModel *model = orr_cost_model_new(profile, device, &error);
  g_assert_no_error(error);
  return model;
}

static inline OrrCost gemm_cost(const OrrCostModel *model, OrrDtype dtype, gint64 batch, gint64 m,
                                gint64 n, gint64 k) {
  OrrOperator op =
      orr_operator_gemm("test", ORR_PASS_FORWARD, dtype, (OrrGemmShape){batch, m, n, k});
  return orr_cost_operator(model, &op);
}

#define assert_near(value, expected, tolerance)                                                    \
  g_assert_cmpfloat_with_epsilon((value) / (expected), 1.0, (tolerance))

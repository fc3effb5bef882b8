/*
 * query_values.c - reads one value of a query.
 */
#include "calibration/cost/cost_private.h"

#include "calibration/profile/profile_moe.h"

static gboolean parse_word(OrrQueryKeyKind kind, const char *text, double *ret_value) {
  if (kind == ORR_QUERY_YES_NO) {
    *ret_value = strcmp(text, "yes") == 0;
    return *ret_value || strcmp(text, "no") == 0;
  }
  if (kind == ORR_QUERY_BALANCED) return strcmp(text, "balanced") == 0;
  if (kind == ORR_QUERY_TRTLLM_SOURCE) {
    *ret_value = strcmp(text, "NVLinkOneSided") == 0;
    return *ret_value || strcmp(text, "NVLinkTwoSided") == 0;
  }
  *ret_value = strcmp(text, "low_latency") == 0 || strcmp(text, "low-latency") == 0;
  return *ret_value || g_str_has_prefix(text, "normal"); /* tables have "normal(best SM count)" */
}

static gboolean parse_among(const char *const *words, const char *text, double *ret_value) {
  for (int i = 0; words[i]; i++)
    if (strcmp(text, words[i]) == 0) {
      *ret_value = i;
      return TRUE;
    }
  return FALSE;
}

static const char *const allowed[] = {
    [ORR_QUERY_COUNT] = "a whole number above 0",
    [ORR_QUERY_KNOWN_COUNT] =
        "a whole number above 0, or known (the fewest that the profile has rows for)",
    [ORR_QUERY_SIZE] = "a number above 0",
    [ORR_QUERY_FORMAT] = "a number format such as bfloat16",
    [ORR_QUERY_GEMM_FORMAT] = "a number format such as bfloat16",
    [ORR_QUERY_LIBRARY] = "any, sglang, trtllm or vllm",
    [ORR_QUERY_LAYOUT] = "forward, dgrad or wgrad",
    [ORR_QUERY_NO_WINDOW] = "0: the profile has no rows of windowed attention",
    [ORR_QUERY_DISTRIBUTION] = "balanced or power_law_A",
    [ORR_QUERY_BALANCED] = "balanced: other distributions were not measured",
    [ORR_QUERY_PROJECTIONS] = "3 (gate, up, down), 2 (no gate) or known (as measured, else 3)",
    [ORR_QUERY_YES_NO] =
        "yes (one of many in a row, under the board's power limit) or no (a short burst)",
    [ORR_QUERY_DEEPEP_MODE] = "normal or low_latency",
    [ORR_QUERY_TRTLLM_SOURCE] = "NVLinkTwoSided or NVLinkOneSided",
    [ORR_QUERY_TEXT] = "a name",
    [ORR_QUERY_WHOLE] = "a whole number"};

gboolean orr_query_values_read(const OrrQueryKey *key, const char *text, double *ret_value,
                               GError **error) {
  OrrDtype dtype;
  char *end;
  double value = g_ascii_strtod(text, &end);
  gboolean good = end > text && !*end && isfinite(value);
  if (key->kind == ORR_QUERY_FORMAT || key->kind == ORR_QUERY_GEMM_FORMAT) {
    good = orr_profile_format(text, &dtype);
    value = good ? dtype : 0;
    if (key->kind == ORR_QUERY_GEMM_FORMAT && strcmp(text, "fp8_block") == 0)
      value += ORR_QUERY_BY_BLOCKS;
  } else if (key->kind == ORR_QUERY_LIBRARY || key->kind == ORR_QUERY_LAYOUT) {
    good = parse_among(key->kind == ORR_QUERY_LIBRARY ? orr_kernel_library_words
                                                      : orr_gemm_layout_words,
                       text, &value);
  } else if (key->kind == ORR_QUERY_PROJECTIONS) {
    gboolean known = strcmp(text, "known") == 0;
    good = known || (good && (value == 2 || value == 3));
    value = known ? 0 : value;
  } else if (key->kind == ORR_QUERY_DISTRIBUTION) {
    good = orr_profile_moe_imbalance(text, &value);
  } else if (key->kind == ORR_QUERY_YES_NO || key->kind == ORR_QUERY_BALANCED ||
             key->kind == ORR_QUERY_DEEPEP_MODE || key->kind == ORR_QUERY_TRTLLM_SOURCE) {
    value = 0;
    good = parse_word(key->kind, text, &value);
  } else if (key->kind == ORR_QUERY_KNOWN_COUNT && strcmp(text, "known") == 0) {
    value = 0;
    good = TRUE;
  } else if (key->kind == ORR_QUERY_TEXT) {
    good = TRUE;
    value = !*text || strcmp(text, "any") == 0 ? 0 : g_quark_from_string(text);
  } else if (key->kind == ORR_QUERY_WHOLE) {
    good = !*text || (good && value >= 0 && value < 1e15 && value == floor(value));
    value = *text ? value : 0;
  } else if (key->kind == ORR_QUERY_NO_WINDOW) {
    good = good && value == 0;
  } else {
    good =
        good && value > 0 && value < 1e15 && (key->kind == ORR_QUERY_SIZE || value == floor(value));
  }
  if (!good)
    return orr_fault_set(error, ORR_FAULT_USAGE, "%s is '%s': want %s", key->name, text,
                         allowed[key->kind]);
  *ret_value = value;
  return TRUE;
}

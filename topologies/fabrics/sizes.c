/*
 * sizes.c - parses words such as "4x4x8" and names the key of a bad one in the error.
 */
#include "topologies/fabrics/sizes.h"

#define MOST 1e6

/* Parses the numbers of @text in [1, MOST] and returns how many there are; -1 if @text is
 * malformed or has too many. */
static int parse(const char *text, guint most, double *ret_numbers) {
  g_auto(GStrv) parts = g_strsplit(text, "x", -1);
  guint n = g_strv_length(parts);
  for (guint i = 0; i < n && n <= most; i++) {
    char *end = NULL;
    ret_numbers[i] = g_ascii_strtod(parts[i], &end);
    if (end == parts[i] || *end || !(ret_numbers[i] >= 1 && ret_numbers[i] <= MOST)) return -1;
  }
  return n == 0 || n > most ? -1 : (int)n;
}

guint orr_sizes_parse(const char *key, const char *text, guint most, gint64 *ret_sizes,
                      GError **error) {
  g_autofree double *numbers = g_new(double, most);
  int n = parse(text, most, numbers);
  for (int i = 0; i < n; i++)
    if (numbers[i] != (double)(gint64)numbers[i]) n = -1;
  if (n < 0) {
    g_set_error(
        error, ORR_FAULT, ORR_FAULT_DOCUMENT,
        "%s is '%s': it must be 1 to %u whole numbers of 1 to 1000000, joined by 'x' (e.g. 4x4x8)",
        key, text, most);
    return 0;
  }
  for (guint i = 0; i < most; i++) ret_sizes[i] = i < (guint)n ? (gint64)numbers[i] : 1;
  return (guint)n;
}

guint orr_sizes_parse_ratios(const char *key, const char *text, guint most, double *ret_ratios,
                             GError **error) {
  g_autofree double *numbers = g_new(double, most);
  const int n = parse(text, most, numbers);
  if (n < 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s is '%s': it must be at most %u ratios of 1 or more, joined by 'x' (e.g. 1x7)",
                key, text, most);
    return 0;
  }
  for (guint i = 0; i < most; i++) ret_ratios[i] = i < (guint)n ? numbers[i] : 1;
  return (guint)n;
}

/*
 * number.c - doubles in order, and their bits; versions in order.
 */
#include "sim/base/number.h"

int orr_number_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int orr_number_compare_versions(const char *a, const char *b) {
  while (*a || *b) {
    char *end_a = (char *)a, *end_b = (char *)b;
    const long x = g_ascii_isdigit(*a) ? strtol(a, &end_a, 10) : 0;
    const long y = g_ascii_isdigit(*b) ? strtol(b, &end_b, 10) : 0;
    if (x != y) return x < y ? -1 : 1;
    a = end_a > a && *end_a == '.' ? end_a + 1 : "";
    b = end_b > b && *end_b == '.' ? end_b + 1 : "";
  }
  return 0;
}

guint64 orr_number_bits(double value) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/*
 * number.c - doubles in order, and their bits.
 */
#include "sim/base/number.h"

#include <string.h>

int orr_number_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

guint64 orr_number_bits(double value) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

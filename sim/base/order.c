/*
 * order.c - orders of plain values, for sorting.
 */
#include "sim/base/arrays.h"

int orr_order_doubles(gconstpointer a, gconstpointer b) {
  return ORR_ORDER(*(const double *)a, *(const double *)b);
}

int orr_order_int64s(gconstpointer a, gconstpointer b) {
  return ORR_ORDER(*(const gint64 *)a, *(const gint64 *)b);
}

int orr_order_uint64s(gconstpointer a, gconstpointer b) {
  return ORR_ORDER(*(const guint64 *)a, *(const guint64 *)b);
}

int orr_order_texts(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

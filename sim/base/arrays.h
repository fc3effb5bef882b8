/*
 * arrays.h - loops over GLib's arrays, what appends to them and sorts them, and what frees several
 * values at once.
 *
 *   ORR_EACH(const OrrStorageRow, row, outcome->storage) sum += row->bytes;     GArray of structs
 *   ORR_EACH_POINTER(const OrrReplicaGroup, group, params->groups) { ... }      GPtrArray
 *   ORR_EACH_VALUE(const double, value, seconds) sum += value;                  GArray of numbers
 *   ORR_EACH_AT(i, const OrrJudgedRow, row, rows) { ... }                       and with its index
 *
 *   ORR_APPEND(outcome->steps, OrrStepRow, {i, begin_s, end_s});                GArray of structs
 *
 *   ORR_LEAST_FIRST(by_begin, OrrStep, begin_s)     by_begin, a function for g_array_sort
 *
 * An array that is NULL has no elements. Each round reads length and data again, so the body may
 * add elements; `break`, `continue` and `return` do what they do in a plain loop.
 */
#pragma once

#include "sim/base/ground.h"

#define ORR_EACH(type_, name_, array_) ORR_EACH_AT(name_##_at, type_, name_, array_)
#define ORR_EACH_POINTER(type_, name_, array_) ORR_EACH_POINTER_AT(name_##_at, type_, name_, array_)
#define ORR_EACH_VALUE(type_, name_, array_) ORR_EACH_VALUE_AT(name_##_at, type_, name_, array_)

#define ORR_EACH_AT(at_, type_, name_, array_)                                                     \
  ORR_EACH_MAKE(at_, type_ *name_ = &g_array_index(array_, type_, at_), name_##_goes_on, array_)
#define ORR_EACH_POINTER_AT(at_, type_, name_, array_)                                             \
  ORR_EACH_MAKE(at_, type_ *name_ = (array_)->pdata[at_], name_##_goes_on, array_)
#define ORR_EACH_VALUE_AT(at_, type_, name_, array_)                                               \
  ORR_EACH_MAKE(at_, type_ name_ = g_array_index(array_, type_, at_), name_##_goes_on, array_)

/* The inner loop declares the element and runs once. It ends with @goes_on_ FALSE, which the outer
 * loop turns round; after `break` @goes_on_ is still TRUE, so that the outer loop ends too. */
#define ORR_EACH_MAKE(at_, element_, goes_on_, array_)                                             \
  for (guint at_ = 0, goes_on_ = TRUE; goes_on_ && (array_) && at_ < (array_)->len;                \
       goes_on_ = !goes_on_, at_++)                                                                \
    for (element_; goes_on_; goes_on_ = !goes_on_)

/* Appends a value, which `...` initialises: {a, b} for a struct, or an expression. */
#define ORR_APPEND(array_, type_, ...) g_array_append_vals(array_, (const type_[]){__VA_ARGS__}, 1)

/* The order of two numbers: -1, 0 or 1. */
#define ORR_ORDER(x_, y_) (((x_) > (y_)) - ((x_) < (y_)))

/* Defines @name_, which orders structs by a member that is a number. */
#define ORR_LEAST_FIRST(name_, type_, member_)                                                     \
  static int name_(gconstpointer a, gconstpointer b) {                                             \
    return ORR_ORDER(((const type_ *)a)->member_, ((const type_ *)b)->member_);                    \
  }
#define ORR_MOST_FIRST(name_, type_, member_)                                                      \
  static int name_(gconstpointer a, gconstpointer b) {                                             \
    return ORR_ORDER(((const type_ *)b)->member_, ((const type_ *)a)->member_);                    \
  }

/* order.c: for arrays of plain values, least first; texts are pointers. */
int orr_order_doubles(gconstpointer a, gconstpointer b);
int orr_order_int64s(gconstpointer a, gconstpointer b);
int orr_order_uint64s(gconstpointer a, gconstpointer b);
int orr_order_texts(gconstpointer a, gconstpointer b);

/* g_free for each of the pointers, in their order. */
#define ORR_FREE(...)                                                                              \
  orr_arrays_free((gpointer[]){__VA_ARGS__}, sizeof((gpointer[]){__VA_ARGS__}) / sizeof(gpointer))

static inline void orr_arrays_free(gpointer *pointers, gsize n) {
  for (gsize i = 0; i < n; i++) g_free(pointers[i]);
}

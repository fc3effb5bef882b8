/*
 * zoo_fixture.h - shipped models and a plain shard, for tests that add up operators by hand.
 */
#pragma once

#include <math.h>

#include "models/transformer.h"
#include "sim/base/library.h"

static inline void assert_near(double value, double expected) {
  g_assert_cmpfloat_with_epsilon(value, expected, 1e-9 * fabs(expected));
}

static inline OrrModel zoo(const char *name) {
  static OrrLibrary *library;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrModel model;
  if (!library) library = orr_library_new(NULL);
  g_autoptr(OrrNode) node =
      orr_library_load(library, "model", name, (OrrPlace){.file = name}, diags);
  g_assert_nonnull(node);
  orr_field_read(&orr_model_table, node, library, diags, &model);
  orr_model_settle(&model, node->place, diags);
  return model;
}

static inline OrrShard plain(gint64 sequence) {
  return (OrrShard){.micro_batch = 1,
                    .sequence = sequence,
                    .tp = 1,
                    .attention = ORR_ATTENTION_FUSED,
                    .dtype = ORR_BF16};
}

static inline double flops_of(const GArray *operators) {
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) sum += g_array_index(operators, OrrOperator, i).flops;
  return sum;
}

/*
 * test_shape.c - families and shapes: tables that describe themselves, texts that read back, work
 * that adds up.
 */
#include <math.h>
#include <string.h>

#include "calibration/measure/family.h"
#include "sim/base/fault.h"
#include "tests/base/field_lint.h"

static const OrrMeasureFamily *const *families(void) {
  return (const OrrMeasureFamily *const *)orr_measure_registry.entries;
}

/* A device with every format and two GPUs, so that every plan is whole. */
static OrrBenchFacts facts_of_all(void) {
  OrrBenchFacts facts = {.sms = 148,
                         .scales_blocks = TRUE,
                         .adds_fp8 = TRUE,
                         .n_gpus = 8,
                         .n_ranks = 8,
                         .memory_bytes = 180e9,
                         .memory_bytes_per_s = 8e12};
  for (int d = 0; d < ORR_N_DTYPES; d++) facts.flops[d] = 1e15;
  return facts;
}

static void test_registry(void) {
  const char *before = "";
  for (const OrrMeasureFamily *const *family = families(); *family; family++) {
    g_assert_cmpint(strcmp(before, (*family)->entry.name), <, 0);
    g_assert_true(g_str_has_suffix((*family)->entry.sentence, "."));
    g_assert_cmpuint(orr_family_n_columns(*family), <=, ORR_SHAPE_COLUMNS);
    g_assert_true((*family)->min_gpus == 1 || (*family)->skipped_name);
    g_assert_true(orr_family_find((*family)->entry.name) == *family);
    before = (*family)->entry.name;
  }
  g_assert_null(orr_family_find("gem"));
}

/* Each planned shape's text reads back as the shape, its work is finite, and no shape is planned
 * twice in a row. */
static void test_plans(void) {
  const OrrBenchFacts facts = facts_of_all();
  for (const OrrMeasureFamily *const *family = families(); *family; family++) {
    g_autoptr(GArray) shapes = g_array_new(FALSE, FALSE, sizeof(OrrShape));
    (*family)->plan(*family, &facts, shapes);
    g_assert_cmpuint(shapes->len, >, 10);
    for (guint i = 0; i < shapes->len; i += 97) {
      const OrrShape *shape = &g_array_index(shapes, OrrShape, i);
      OrrShape back;
      g_autofree char *text = orr_shape_text(shape);
      g_assert_true(orr_shape_parse(*family, text, &back, NULL));
      g_assert_cmpmem(shape->at, sizeof shape->at, back.at, sizeof back.at);
      const double seconds = orr_family_roofline(shape, &facts);
      g_assert_true(isfinite(seconds) && seconds >= 2e-6);
    }
  }
}

static void assert_refused(const char *text, const char *wanted) {
  g_autoptr(GError) error = NULL;
  OrrShape shape;
  g_assert_false(orr_shape_parse(orr_family_find("launch"), text, &shape, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  if (!strstr(error->message, wanted)) g_error("'%s' is not in: %s", wanted, error->message);
}

static void test_bad_texts(void) {
  assert_refused("", "it has no 'way'");
  assert_refused("way=graph", "it has no 'kernels'");
  assert_refused("way=grap kernels=1", "bad value in 'way=grap'");
  assert_refused("way=graph kernels=-1", "bad value in");
  assert_refused("way=graph kernels=1 kernels=1", "cannot have 'kernels=1'");
  assert_refused("way=graph kernels=1 m=3", "cannot have 'm=3'");
}

static OrrShapeWork work_of(const char *family, const char *text) {
  const OrrBenchFacts facts = facts_of_all();
  OrrShape shape;
  g_assert_true(orr_shape_parse(orr_family_find(family), text, &shape, NULL));
  return shape.family->work(&shape, &facts);
}

/* Counted by hand. */
static void test_work(void) {
  /* 2 * 4 * 2 * 3 * 5 FLOPs; bf16: 2 bytes of (2*5 + 3*5 + 2*3) elements, 4 of each */
  OrrShapeWork work = work_of("gemm", "dtype=bf16 layout=forward batch=4 m=2 n=3 k=5");
  g_assert_cmpfloat(work.flops, ==, 240);
  g_assert_cmpfloat(work.bytes, ==, 4 * 2 * (10 + 15 + 6));
  /* nvfp4 operands are half a byte, the result two */
  work = work_of("gemm", "dtype=nvfp4 layout=forward batch=1 m=2 n=4 k=16");
  g_assert_cmpfloat(work.bytes, ==, (32 + 64) / 2 + 16);
  /* causal, 4 tokens: 1 + 2 + 3 + 4 = 10 pairs; 2 heads; 2 * (128 + 128) FLOPs per pair */
  work = work_of("attention-prefill", "dtype=bf16 pass=forward mask=causal head-dim=128 v-dim=128 "
                                      "prefix=0 heads=2 kv-heads=1 batch=1 length=4");
  g_assert_cmpfloat(work.flops, ==, 2 * 2 * 10 * 256);
  /* 2 bytes of q, out (2 heads x 4 x 256) and k, v (1 head x 4 x 256) */
  g_assert_cmpfloat(work.bytes, ==, 2 * (2 * 4 * 256 + 4 * 256));
  /* all-reduce of 8 ranks: each link carries 2 * 7/8 of the bytes */
  work = work_of("collective", "op=all-reduce dtype=fp16 ranks=8 bytes=1024");
  g_assert_cmpfloat(work.bytes, ==, 1792);
  /* Adam of 10 bf16 elements: gradient and weight 2 bytes each; three words of 4 bytes in and
   * out */
  work = work_of("memory", "op=adam dtype=bf16 rows=1 width=10");
  g_assert_cmpfloat(work.bytes, ==, 10 * (2 + 2 + 24));
}

static void test_device_names(void) {
  static const char *const names[][2] = {{"NVIDIA H200", "h200-sxm"},
                                         {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                         {"NVIDIA RTX 6000 (Ada)", "nvidia-rtx-6000-ada"}};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *name = orr_measure_row_device_name(names[i][0]);
    g_assert_cmpstr(name, ==, names[i][1]);
  }
}

static void test_row_table(void) {
  g_autofree char *found = orr_field_lint(&orr_measure_row_table);
  g_assert_cmpstr(found, ==, NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/shape/registry", test_registry);
  g_test_add_func("/measure/shape/plans", test_plans);
  g_test_add_func("/measure/shape/bad-texts", test_bad_texts);
  g_test_add_func("/measure/shape/work", test_work);
  g_test_add_func("/measure/shape/device-names", test_device_names);
  g_test_add_func("/measure/shape/row-table", test_row_table);
  return g_test_run();
}

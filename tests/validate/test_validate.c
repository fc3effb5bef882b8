/*
 * test_validate.c - validation sets: what columns mean, what is refused, what the summary says,
 * what is stored.
 *
 * Sets live in a library folder of the test's own; machines and models are the shipped ones
 * (ORRERY_SHIPPED).
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/validate/validate_private.h"
#include "tests/base/field_lint.h"

static char *folder; /* a user's library, flat: FOLDER/validation/NAME.yaml */
static OrrLibrary *library;

/* Four GPUs of one DGX A100, and a model of four small layers: milliseconds of wall time. */
#define SCENARIO                                                                                   \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "cluster: {base: dgx-a100-superpod, nodes: 1, gpus: 4}\n"                                        \
  "model: {layers: 4, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"                     \
  "workload:\n"                                                                                    \
  "  kind: training\n  stack: none\n"                                                              \
  "  parallel: {tp: 2, pp: 2, dp: 1}\n"                                                            \
  "  batch: {global: 8, micro: 1}\n"                                                               \
  "  precision: bf16\n"

/* The path of the file; the caller frees it. */
static char *put(const char *name, const char *text) {
  char *path = g_build_filename(folder, "validation-sets", name, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  return path;
}

static void put_set(const char *name, const char *section, const char *csv) {
  g_autofree char *yaml_name = g_strconcat(name, ".yaml", NULL),
                  *csv_name = g_strconcat(name, ".csv", NULL);
  g_autofree char *yaml = g_strconcat(SCENARIO, section, NULL);
  g_free(put(yaml_name, yaml));
  g_free(put(csv_name, csv));
}

static OrrValidation *validate(const char *name, guint jobs, OrrStore *store) {
  g_autoptr(GError) error = NULL;
  OrrValidation *validation =
      orr_validate(library, &(OrrValidateOrder){.set = name, .jobs = jobs, .store = store}, &error);
  g_assert_no_error(error);
  return validation;
}

static const char *text_at(const OrrNode *tree, const char *path) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  const OrrNode *node = tree;
  for (char **key = keys; *key && node; key++) node = orr_node_get(node, *key);
  return node ? node->text : NULL;
}

/* --- The summary --- */

static void summarise(const double *errors, guint n, OrrValidation *ret) {
  *ret = (OrrValidation){.rows = g_array_new(FALSE, TRUE, sizeof(OrrValidationRow))};
  for (guint i = 0; i < n; i++) {
    OrrValidationRow row = {.error = errors[i]};
    g_array_append_val(ret->rows, row);
  }
  orr_validation_summarise(ret);
  g_array_unref(ret->rows);
}

/* Absolute errors sorted: 0.1 0.2 0.3. mape 0.6/3; bias (0.1 - 0.2 + 0.3)/3; median the second;
 * p90 the ceil(2.7) = 3rd. */
static void test_summary_odd(void) {
  const double errors[] = {0.3, -0.2, 0.1};
  OrrValidation got;
  summarise(errors, 3, &got);
  g_assert_cmpfloat_with_epsilon(got.mape, 0.2, 1e-12);
  g_assert_cmpfloat_with_epsilon(got.bias, 0.2 / 3, 1e-12);
  g_assert_cmpfloat(got.median, ==, 0.2);
  g_assert_cmpfloat(got.p90, ==, 0.3);
  g_assert_cmpfloat(got.worst, ==, 0.3);
}

/* Ten rows 0.01 ... 0.10, all negative: median (0.05 + 0.06)/2; p90 the 9th; bias is minus the
 * mape. */
static void test_summary_even(void) {
  double errors[10];
  OrrValidation got;
  for (int i = 0; i < 10; i++) errors[i] = -(i + 1) / 100.0;
  summarise(errors, 10, &got);
  g_assert_cmpfloat_with_epsilon(got.median, 0.055, 1e-12);
  g_assert_cmpfloat(got.p90, ==, 0.09);
  g_assert_cmpfloat(got.worst, ==, 0.10);
  g_assert_cmpfloat_with_epsilon(got.bias, -got.mape, 1e-12);
}

static void test_summary_empty(void) {
  OrrValidation got;
  summarise(NULL, 0, &got);
  g_assert_true(isnan(got.mape) && isnan(got.bias) && isnan(got.median) && isnan(got.p90) &&
                isnan(got.worst));
}

/* --- What columns mean --- */

static void test_columns(void) {
  g_autoptr(GError) error = NULL;
  put_set(
      "columns",
      "validation:\n"
      "  columns:\n"
      "    size: [label, model.hidden]\n"
      "    seq: [model.context, workload.sequence]\n"
      "    gpu: ignore\n"
      "    how: label\n"
      "    ms: measured.iteration_time_s\n"
      "  values:\n"
      "    how: {all: {workload.recompute: full}}\n"
      "    workload.parallel.sequence-parallel: {'yes': true}\n"
      "    measured.mfu: {GB: ''}\n"
      "  scale: {ms: 0.001}\n",
      "# where from\nsize,seq,gpu,how,ms,workload.parallel.sequence-parallel,source,measured.mfu\n"
      "512,256,\"A100, 80GB\",all,250,yes,paper,\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "columns", NULL, &error);
  g_assert_no_error(error);
  OrrValidateCase *one = orr_validate_case_new(set, set->csv->lines->pdata[2]);
  g_assert_cmpstr(one->refused, ==, NULL);
  g_assert_cmpint(one->line, ==, 3);
  g_assert_cmpstr(one->texts[ORR_VALIDATE_LABEL], ==, "512 all");
  g_assert_cmpstr(one->texts[ORR_VALIDATE_SOURCE], ==, "paper");
  g_assert_cmpstr(text_at(one->tree, "model.hidden"), ==, "512");
  g_assert_cmpstr(text_at(one->tree, "model.context"), ==, "256");
  g_assert_cmpstr(text_at(one->tree, "workload.sequence"), ==, "256");
  g_assert_cmpstr(text_at(one->tree, "workload.recompute"), ==, "full");
  g_assert_cmpstr(text_at(one->tree, "workload.parallel.sequence-parallel"), ==, "true");
  g_assert_null(orr_node_get(one->tree, "validation"));
  g_assert_cmpuint(one->measured->len, ==, 1); /* the empty cell of measured.mfu is not compared */
  g_assert_cmpfloat_with_epsilon(g_array_index(one->measured, double, 0), 0.25, 1e-15);
  orr_validate_case_free(one);
}

/* `refuse` is a row's reason, in the table's words; a quantity brings its unit; what `values`
 * maps to nothing is empty; a group is those sets that say it. */
static void test_refuse_and_units(void) {
  g_autoptr(GError) error = NULL;
  put_set("refuse",
          "validation:\n"
          "  group: mine\n"
          "  columns: {chip: ignore, mem: measured.memory_peak_bytes}\n"
          "  values: {chip: {TPU: {refuse: no TPU here}, A100: {}}, mem: {GB: ''}}\n",
          "chip,mem\nA100,2GB\nTPU,2GB\nA100,GB\nA100,3 parsecs\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "refuse", NULL, &error);
  g_assert_no_error(error);
  OrrValidateCase *cases[4];
  for (guint i = 0; i < 4; i++)
    cases[i] = orr_validate_case_new(set, set->csv->lines->pdata[i + 1]);
  g_assert_cmpstr(cases[0]->refused, ==, NULL);
  g_assert_cmpfloat(g_array_index(cases[0]->measured, double, 0), ==, 2e9);
  g_assert_cmpstr(cases[1]->refused, ==, "no TPU here");
  g_assert_cmpstr(cases[2]->refused, ==, "nothing was measured");
  g_assert_nonnull(strstr(cases[3]->refused, "not a number"));
  for (guint i = 0; i < 4; i++) orr_validate_case_free(cases[i]);
  g_auto(GStrv) mine = orr_validation_group(library, "mine"),
                none = orr_validation_group(library, "theirs");
  g_assert_cmpint(g_strv_length(mine), ==, 1);
  g_assert_cmpstr(mine[0], ==, "refuse");
  g_assert_cmpint(g_strv_length(none), ==, 0);
}

/* The reason why row @i of the set is refused, newly allocated; NULL: it is not. */
static char *refused_at(const OrrValidateSet *set, guint i) {
  OrrValidateCase *one = orr_validate_case_new(set, set->csv->lines->pdata[i + 1]);
  char *refused = g_strdup(one->refused);
  orr_validate_case_free(one);
  return refused;
}

/* A column with `values` has no other cells: neither a text (int8), nor a number where the column
 * sets nothing by itself (fused 2); a number that sets a path (tp 4) is one, and so is a
 * measurement. */
static void test_unknown_cells(void) {
  g_autoptr(GError) error = NULL;
  put_set("unknown-cells",
          "validation:\n"
          "  columns: {format: workload.precision, fused: ignore, tp: workload.parallel.tp,\n"
          "            ms: measured.iteration_time_s}\n"
          "  values:\n"
          "    format: {BF16: bf16, FP16: fp16}\n"
          "    fused: {'0': {}, '1': {workload.kernels: modern}}\n"
          "    tp: {n/a: ''}\n"
          "    ms: {GB: ''}\n",
          "format,fused,tp,ms\nBF16,1,4,5\nint8,1,2,5\nFP16,2,2,5\nBF16,0,two,5\nBF16,0,n/a,5\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "unknown-cells", NULL, &error);
  g_assert_no_error(error);
  const char *wanted[] = {NULL, "column format, 'int8': not one of its values (known: BF16, FP16)",
                          "column fused, '2': not one of its values (known: 0, 1)",
                          "column tp, 'two': not one of its values (known: n/a)", NULL};
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
    g_autofree char *refused = refused_at(set, i);
    g_assert_cmpstr(refused, ==, wanted[i]);
  }
}

/* "*" is every cell that has no key of its own: it stands for itself, for settings, or for
 * nothing. */
static void test_any_other_cell(void) {
  g_autoptr(GError) error = NULL;
  put_set("any-other",
          "validation:\n"
          "  columns: {kind: workload.recompute, stage: [label, ignore], ms: "
          "measured.iteration_time_s}\n"
          "  values:\n"
          "    kind: {all: full, '*': <kind>}\n"
          "    stage: {second: {workload.batch.global: 16}, '*': {workload.batch.global: 32}}\n",
          "kind,stage,ms\nselective,second,5\nall,7,5\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "any-other", NULL, &error);
  g_assert_no_error(error);
  const char *recompute[] = {"selective", "full"}, *global[] = {"16", "32"};
  for (guint i = 0; i < 2; i++) {
    OrrValidateCase *one = orr_validate_case_new(set, set->csv->lines->pdata[i + 1]);
    g_assert_cmpstr(one->refused, ==, NULL);
    g_assert_cmpstr(text_at(one->tree, "workload.recompute"), ==, recompute[i]);
    g_assert_cmpstr(text_at(one->tree, "workload.batch.global"), ==, global[i]);
    orr_validate_case_free(one);
  }
}

/* The scenario runs tp 2 x pp 2 x dp 1 = 4 GPUs. Rows of 4 (as it stands, or as the set corrects
 * the table's 64) are compared; one of 8 is refused with both numbers. Another cell is not a
 * number. */
static void test_gpus(void) {
  put_set("gpus",
          "validation:\n"
          "  columns: {n: gpus, counted: ignore, n_gpus: measured.n_gpus}\n"
          "  values: {counted: {twice: {gpus: 4}, once: {}}}\n",
          "n,counted,n_gpus\n4,once,4\n64.0,twice,4\n8,once,4\nmany,once,4\n");
  g_autoptr(OrrValidation) got = validate("gpus", 1, NULL);
  g_assert_cmpuint(got->rows->len, ==, 2);
  g_assert_cmpuint(got->refusals->len, ==, 2);
  g_assert_cmpstr(g_array_index(got->refusals, OrrValidationRefusal, 0).reason, ==,
                  "the row was measured on 8 GPUs, and its scenario uses 4");
  g_assert_cmpstr(g_array_index(got->refusals, OrrValidationRefusal, 1).reason, ==,
                  "column n, 'many': not a number of GPUs");
}

/* What hangs on two columns is said for both cells together. A pair without a line is refused, as
 * an unknown cell is: it would run with another row's settings. A line may give a beginning, the
 * longest one counts; "*" is every other pair. */
static void test_together(void) {
  g_autoptr(GError) error = NULL;
  put_set("together",
          "validation:\n"
          "  columns: {isl: workload.sequence, osl: ignore, ms: measured.iteration_time_s}\n"
          "  together:\n"
          "    isl osl: {128 256: {workload.batch.global: 16}, 512 256: {refuse: too long},\n"
          "      256 2*: {workload.batch.global: 32}, 256 25*: {workload.batch.global: 64}}\n"
          "    osl isl: {256 128: {workload.batch.micro: 2}, '*': {}}\n",
          "isl,osl,ms\n128,256.0,5\n128,512,5\n512,256,5\n256,200,5\n256,256,5\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "together", NULL, &error);
  g_assert_no_error(error);
  OrrValidateCase *cases[5];
  for (guint i = 0; i < 5; i++)
    cases[i] = orr_validate_case_new(set, set->csv->lines->pdata[i + 1]);
  g_assert_cmpstr(text_at(cases[0]->tree, "workload.batch.global"), ==, "16");
  g_assert_cmpstr(text_at(cases[0]->tree, "workload.batch.micro"), ==, "2");
  g_assert_cmpstr(text_at(cases[1]->tree, "workload.batch.global"), ==, "8");
  g_assert_cmpstr(cases[1]->refused, ==,
                  "column isl osl, '128 512': not one of its values (known: 128 256, 512 256, "
                  "256 2*, 256 25*)");
  g_assert_cmpstr(cases[2]->refused, ==, "too long");
  g_assert_cmpstr(text_at(cases[3]->tree, "workload.batch.global"), ==, "32");
  g_assert_cmpstr(text_at(cases[4]->tree, "workload.batch.global"), ==, "64");
  for (guint i = 0; i < 5; i++) orr_validate_case_free(cases[i]);
}

/* A row is refused where a condition on its cells holds: 16 is 8 times 2, 8 is not. Without the
 * cell there is no condition. */
static void test_refuse_if(void) {
  g_autoptr(GError) error = NULL;
  put_set("refuse-if",
          "validation:\n"
          "  columns: {mode: ignore, a: ignore, b: ignore, ms: measured.iteration_time_s}\n"
          "  values: {mode: {x: {'refuse if <a> == 8 * <b>': lost}, y: {'refuse if <a>': no}}}\n",
          "mode,a,b,ms\nx,16.0,2,5\nx,8,2,5\nx,,2,5\ny,1,1,5\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "refuse-if", NULL, &error);
  g_assert_no_error(error);
  static const char *const wanted[] = {"lost", NULL, NULL, "not a condition"};
  for (guint i = 0; i < 4; i++) {
    OrrValidateCase *one = orr_validate_case_new(set, set->csv->lines->pdata[i + 1]);
    g_assert_cmpint(one->refused != NULL, ==, wanted[i] != NULL);
    g_assert_true(!wanted[i] || strstr(one->refused, wanted[i]));
    orr_validate_case_free(one);
  }
}

/* <column> is the row's cell; without it the row is refused. "= ..." is worked out. A row may be of
 * a part of its set. */
static void test_references(void) {
  g_autoptr(GError) error = NULL;
  put_set("references",
          "validation:\n"
          "  columns: {mode: ignore, ways: ignore, split: ignore, ms: measured.iteration_time_s}\n"
          "  values:\n"
          "    mode:\n"
          "      sum: {workload.batch.global: '= floor((<ways> + <split> + 7) / 4) * 4'}\n"
          "      bad: {workload.batch.global: '= <ways> *'}\n"
          "      all: {workload.parallel: '{tp: <split>, pp: 1, dp: <ways>}', part: whole}\n"
          "      some: {workload.parallel.dp: <ways>}\n",
          "mode,ways,split,ms\nall,2.0,4,5\nall,,4,5\nsome,3,,5\nsum,2.0,4,5\nbad,2,4,5\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "references", NULL, &error);
  g_assert_no_error(error);
  OrrValidateCase *cases[5];
  for (guint i = 0; i < 5; i++)
    cases[i] = orr_validate_case_new(set, set->csv->lines->pdata[i + 1]);
  g_assert_cmpstr(text_at(cases[0]->tree, "workload.parallel.tp"), ==, "4");
  g_assert_cmpstr(text_at(cases[0]->tree, "workload.parallel.dp"), ==, "2");
  g_assert_cmpstr(cases[0]->part, ==, "whole");
  g_assert_cmpstr(cases[1]->refused, ==, "the row has no value for ways");
  g_assert_cmpstr(text_at(cases[2]->tree, "workload.parallel.dp"), ==, "3");
  g_assert_null(cases[2]->refused);
  g_assert_null(cases[2]->part);
  g_assert_cmpstr(text_at(cases[3]->tree, "workload.batch.global"), ==, "12");
  g_assert_nonnull(strstr(cases[4]->refused, "'2 *'"));
  for (guint i = 0; i < 5; i++) orr_validate_case_free(cases[i]);
}

static void assert_set_error(const char *section, const char *csv, const char *wanted) {
  g_autoptr(GError) error = NULL;
  put_set("wrong", section, csv);
  OrrValidation *validation =
      orr_validate(library, &(OrrValidateOrder){.set = "wrong", .jobs = 1}, &error);
  g_assert_null(validation);
  g_assert_nonnull(error);
  if (!strstr(error->message, wanted)) g_error("'%s' is not in: %s", wanted, error->message);
}

static void test_wrong_sets(void) {
  assert_set_error("", "model.leyers,measured.mfu\n1,0.5\n",
                   "column 'model.leyers' has no meaning");
  assert_set_error("", "model.layers,measured.mfuu\n1,0.5\n", "did you mean 'mfu'");
  assert_set_error("", "model.layers\n1\n", "nothing to compare with");
  assert_set_error("", "measured.mfu,measured.mfu\n1,1\n", "duplicate column 'measured.mfu'");
  assert_set_error("", "measured.mfu,model.layers\n1\n", "wrong.csv:2:1: error: 1 cells");
  assert_set_error("validation: {colums: {a: b}}\n", "measured.mfu\n1\n", "did you mean 'columns'");
  assert_set_error("validation: {together: {a b: {1 2: {model.layers: 4}}}}\n", "measured.mfu\n1\n",
                   "names column 'a', which the table does not have");
  assert_set_error("validation: {together: {measured.mfu: {1: 4}}}\n", "measured.mfu\n1\n",
                   "takes a map of paths");
  assert_set_error("validation: {scale: {measured.mfu: much}}\n", "measured.mfu\n1\n",
                   "is not a number");
  assert_set_error(
      "validation: {columns: {ways: ignore}, values: {ways: {a: {model.layers: <way>}}}}\n",
      "ways,measured.mfu\na,1\n", "<way> is not a column of the table: did you mean <ways>?");
  assert_set_error("validation: {columns: {ways: ignore}, values: {ways: {'*': <way>}}}\n",
                   "ways,measured.mfu\na,1\n", "<way> is not a column of the table");
  assert_set_error(
      "validation: {columns: {ways: ignore}, values: {ways: {a: {'refuse if <way> == 1': no}}}}\n",
      "ways,measured.mfu\na,1\n", "<way> is not a column of the table: did you mean <ways>?");
  assert_set_error("validation: {columns: {ways: ignore}, values: {ways: two}}\n",
                   "ways,measured.mfu\na,1\n", "'ways' takes a map from cells");
}

static void test_unknown_set(void) {
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_validate(library, &(OrrValidateOrder){.set = "colums", .jobs = 1}, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_nonnull(strstr(error->message, "did you mean 'columns'?"));
}

/* --- Replay --- */

#define REPLAY                                                                                     \
  "label,workload.parallel.dp,cluster.gpus,measured.n_gpus,measured.micro_batches,note\n"          \
  "one,1,4,4,8,first\n"                                                                            \
  "two,2,8,16,4,\n"                                                                                \
  "odd,3,12,12,1,\n"                                                                               \
  "wrong,1,4,none,8,\n"                                                                            \
  "zero,1,4,0,8,\n"                                                                                \
  "empty,1,4,,,\n"

/*
 * Row one: tp 2 x pp 2 x dp 1 = 4 GPUs; 8 sequences / (1 a micro-batch x 1 replica) = 8
 * micro-batches. As measured: 0. Row two: 8 GPUs where 16 were measured: 8/16 - 1 = -0.5; 8 / 2 = 4
 * micro-batches: 0. Row odd: 12 GPUs of a machine with 8, and 8 sequences over 3 replicas: refused.
 * The others say nothing to compare.
 */
static void check_replay(const OrrValidation *got) {
  const double errors[] = {0, 0, -0.5, 0};
  const gint64 lines[] = {2, 2, 3, 3}, refused[] = {4, 5, 6, 7};
  g_assert_cmpuint(got->rows->len, ==, 4);
  g_assert_cmpuint(got->refusals->len, ==, 4);
  for (guint i = 0; i < 4; i++) {
    const OrrValidationRow *row = &g_array_index(got->rows, OrrValidationRow, i);
    const OrrValidationRefusal *refusal = &g_array_index(got->refusals, OrrValidationRefusal, i);
    g_assert_cmpfloat(row->error, ==, errors[i]);
    g_assert_cmpint(row->row, ==, lines[i]);
    g_assert_cmpstr(row->metric, ==, i % 2 ? "micro_batches" : "n_gpus");
    g_assert_nonnull(strstr(row->explanation, " %"));
    g_assert_cmpint(refusal->row, ==, refused[i]);
    g_assert_false(refusal->failed);
  }
  g_assert_cmpfloat(got->mape, ==, 0.125); /* 0.5 / 4 */
  g_assert_cmpstr(g_array_index(got->rows, OrrValidationRow, 0).note, ==, "first");
  g_assert_nonnull(strstr(g_array_index(got->refusals, OrrValidationRefusal, 0).reason, "12"));
}

static void test_replay(void) {
  put_set("replay", "", REPLAY);
  g_autoptr(OrrValidation) serial = validate("replay", 1, NULL);
  g_autoptr(OrrValidation) parallel = validate("replay", 8, NULL);
  check_replay(serial);
  check_replay(parallel);
}

/* The last of three rows is the ratio of the second's step to the first's, both simulated alone
 * as well. Whole numbers have none, and a scenario that cannot run refuses its row. */
static void test_over(void) {
  put_set(
      "over",
      "validation:\n"
      "  columns: {global: workload.batch.global, against: label, s: measured.iteration_time_s,\n"
      "            n: measured.micro_batches}\n"
      "  values:\n"
      "    against:\n"
      "      nothing: {}\n"
      "      small: {over: {workload.batch.global: '= <global> / 2'}}\n"
      "      odd: {over: {cluster.gpus: 12}}\n",
      "global,against,s,n\n8,nothing,1,\n16,nothing,1,\n16,small,2,\n16,small,,2\n"
      "16,odd,2,\n");
  g_autoptr(OrrValidation) got = validate("over", 2, NULL);
  g_assert_cmpuint(got->rows->len, ==, 3);
  const OrrValidationRow *row = &g_array_index(got->rows, OrrValidationRow, 0);
  g_assert_cmpfloat(row[1].simulated, >, 1.2 * row[0].simulated);
  g_assert_cmpfloat_with_epsilon(row[2].simulated, row[1].simulated / row[0].simulated, 1e-12);
  g_assert_cmpfloat_with_epsilon(row[2].error, row[2].simulated / 2 - 1, 1e-12);
  g_assert_cmpuint(got->residuals->rows->len, ==, 2); /* bands are of answers, not of ratios */
  g_assert_cmpuint(got->refusals->len, ==, 2);
  const OrrValidationRefusal *refused = &g_array_index(got->refusals, OrrValidationRefusal, 0);
  g_assert_nonnull(strstr(refused[0].reason, "micro-batches"));
  g_assert_nonnull(strstr(refused[1].reason, "over: "));
  g_assert_false(refused[0].failed || refused[1].failed);
}

static void test_other_rows(void) {
  g_autoptr(GError) error = NULL;
  put_set("replay", "", REPLAY);
  g_autofree char *path = put("other.csv", "measured.n_gpus\n8\n");
  g_autoptr(OrrValidation) got = orr_validate(
      library, &(OrrValidateOrder){.set = "replay", .rows_csv = path, .jobs = 1}, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(got->rows->len, ==, 1);
  g_assert_cmpfloat(g_array_index(got->rows, OrrValidationRow, 0).error, ==, -0.5); /* 4 / 8 - 1 */
  g_assert_cmpstr(g_array_index(got->rows, OrrValidationRow, 0).label, ==, "line 2");
}

static void count_progress(guint done, guint total, void *user) {
  guint *last = user;
  g_assert_cmpuint(done, >=, *last);
  g_assert_cmpuint(total, ==, 6);
  *last = done;
}

static void test_progress(void) {
  g_autoptr(GError) error = NULL;
  guint last = 0;
  put_set("replay", "", REPLAY);
  g_autoptr(OrrValidation) got = orr_validate(
      library,
      &(OrrValidateOrder){.set = "replay", .jobs = 2, .progress = count_progress, .user = &last},
      &error);
  g_assert_no_error(error);
  g_assert_nonnull(got);
  g_assert_cmpuint(last, ==, 6);
}

/* A child that says nothing that can be understood - here, one without a scenario, which crashes
 * it - is a failure with its reason, and the case after it runs all the same. */
static void test_crash(void) {
  g_autoptr(GError) error = NULL;
  put_set("replay", "", "measured.n_gpus\n4\n4\n");
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, "replay", NULL, &error);
  g_assert_no_error(error);
  g_autoptr(GPtrArray) cases =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_validate_case_free);
  for (guint i = 1; i <= 2; i++)
    g_ptr_array_add(cases, orr_validate_case_new(set, set->csv->lines->pdata[i]));
  OrrValidateCase *first = cases->pdata[0];
  g_clear_pointer(&first->tree, orr_node_free);
  g_autoptr(GPtrArray) answers = orr_validate_pool_run(library, cases, 1, NULL, NULL);
  const OrrValidateAnswer *crashed = answers->pdata[0], *fine = answers->pdata[1];
  g_assert_true(crashed->failed && !crashed->ok);
  g_assert_nonnull(strstr(crashed->reason, "the simulation"));
  g_assert_true(fine->ok);
  g_assert_cmpint(fine->result.training.n_gpus, ==, 4);
}

static void test_store(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = g_build_filename(folder, "results.db", NULL);
  put_set("replay", "", REPLAY);
  g_autoptr(OrrStore) store = orr_store_open(path, &error);
  g_assert_no_error(error);
  orr_validation_free(validate("replay", 2, store));
  /* Four comparisons, and the refused rows with what was measured of them: odd 2, wrong 1 (the
   * other is not a number), zero 1, empty 0. */
  g_autoptr(OrrAnswer) answer = orr_store_query(
      store,
      "SELECT count(*), count(error), min(error), (SELECT kind FROM run) FROM validation_row", 0,
      &error);
  g_assert_no_error(error);
  char **cells = answer->rows->pdata[0];
  g_assert_cmpstr(cells[0], ==, "8");
  g_assert_cmpstr(cells[1], ==, "4");
  g_assert_cmpstr(cells[2], ==, "-0.5");
  g_assert_cmpstr(cells[3], ==, "validation");
}

static void test_names(void) {
  put_set("replay", "", REPLAY);
  g_auto(GStrv) names = orr_validation_sets(library);
  g_autofree char *path = orr_validation_path(library, "replay"),
                  *none = orr_validation_path(library, "nothing");
  g_assert_true(g_strv_contains((const char *const *)names, "replay"));
  g_assert_true(g_str_has_prefix(path, folder));
  g_assert_null(none);
}

static void test_table(void) {
  g_autofree char *wrong = orr_field_lint(&orr_validation_row_table);
  g_assert_cmpstr(wrong, ==, NULL);
}

static void remove_folder(void) {
  const char *argv[] = {"rm", "-rf", folder, NULL};
  g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-validate-XXXXXX", NULL);
  g_autofree char *sets = g_build_filename(folder, "validation-sets", NULL);
  g_assert_cmpint(g_mkdir(sets, 0700), ==, 0);
  library = orr_library_new((const char *[]){folder, NULL});
  g_test_add_func("/validate/summary-odd", test_summary_odd);
  g_test_add_func("/validate/summary-even", test_summary_even);
  g_test_add_func("/validate/summary-empty", test_summary_empty);
  g_test_add_func("/validate/refuse-and-units", test_refuse_and_units);
  g_test_add_func("/validate/columns", test_columns);
  g_test_add_func("/validate/unknown-cells", test_unknown_cells);
  g_test_add_func("/validate/any-other-cell", test_any_other_cell);
  g_test_add_func("/validate/gpus", test_gpus);
  g_test_add_func("/validate/together", test_together);
  g_test_add_func("/validate/refuse-if", test_refuse_if);
  g_test_add_func("/validate/references", test_references);
  g_test_add_func("/validate/wrong-sets", test_wrong_sets);
  g_test_add_func("/validate/unknown-set", test_unknown_set);
  g_test_add_func("/validate/replay", test_replay);
  g_test_add_func("/validate/over", test_over);
  g_test_add_func("/validate/other-rows", test_other_rows);
  g_test_add_func("/validate/progress", test_progress);
  g_test_add_func("/validate/crash", test_crash);
  g_test_add_func("/validate/store", test_store);
  g_test_add_func("/validate/names", test_names);
  g_test_add_func("/validate/table", test_table);
  int status = g_test_run();
  orr_library_free(library);
  remove_folder();
  g_free(folder);
  return status;
}

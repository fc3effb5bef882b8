/*
 * test_calibrate.c - a calibration of the analytic device from end to end: budget, database,
 * resumption, verification, export, and the import of what was exported.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "calibration/fit/fit.h"
#include "calibration/fit/measured.h"
#include "calibration/profile/profile_private.h"
#include "results/store.h"
#include "sim/base/fault.h"
#include "sim/calibrate/calibrate.h"
#include "tests/calibration/calibration_sample.h"

typedef struct {
  char *folder, *db, *out;
  GPtrArray *notes;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data) {
  (void)data;
  fixture->folder = g_dir_make_tmp("orrery-calibrate-XXXXXX", NULL);
  fixture->db = g_build_filename(fixture->folder, "c.db", NULL);
  fixture->out = g_build_filename(fixture->folder, "out", NULL);
  fixture->notes = g_ptr_array_new_with_free_func(g_free);
}

static void remove_all(const char *folder) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name = dir ? g_dir_read_name(dir) : NULL; name; name = g_dir_read_name(dir)) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
      remove_all(path);
    else
      g_unlink(path);
  }
  g_rmdir(folder);
}

static void tear_down(Fixture *fixture, gconstpointer data) {
  (void)data;
  remove_all(fixture->folder);
  g_ptr_array_unref(fixture->notes);
  g_free(fixture->out);
  g_free(fixture->db);
  g_free(fixture->folder);
}

static void keep_note(const char *text, void *user) { g_ptr_array_add(user, g_strdup(text)); }

static void calibrate(Fixture *fixture, const char *families, double budget_s,
                      OrrCalibrateAnswer *ret_answer) {
  g_autoptr(GError) error = NULL;
  g_auto(GStrv) names = families ? g_strsplit(families, ",", -1) : NULL;
  const OrrCalibrateOrder order = {.db = fixture->db,
                                   .layer = &orr_fake_layer,
                                   .budget_s = budget_s,
                                   .families = names,
                                   .note = keep_note,
                                   .user = fixture->notes};
  g_assert_true(orr_calibrate(&order, ret_answer, &error));
  g_assert_no_error(error);
}

static GArray *read_rows(const Fixture *fixture) {
  g_autoptr(GError) error = NULL;
  GArray *rows = orr_calibrate_rows_read(fixture->db, &error);
  g_assert_no_error(error);
  return rows;
}

/* Each kernel takes 0.14 s of the device's own clock (0.02 s of warm-up and 0.12 s), and one in
 * eight 2 s more for its power: 0.39 s in the mean, so that 39 s are 100 rows; the session ends
 * with the first beyond. */
static void test_budget(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_auto(OrrCalibrateAnswer) answer = {0};
  calibrate(fixture, "gemm", 39, &answer);
  g_assert_cmpuint(answer.outcome.n_new, >=, 97);
  g_assert_cmpuint(answer.outcome.n_new, <=, 101);
  g_assert_false(answer.outcome.is_complete);
  g_autoptr(GArray) rows = read_rows(fixture);
  g_assert_cmpuint(rows->len, ==, answer.outcome.n_new);
  const OrrMeasureRow *row = &g_array_index(rows, OrrMeasureRow, 0);
  g_assert_cmpstr(row->family, ==, "gemm");
  g_assert_cmpstr(row->device, ==, "Fake analytic device");
  g_assert_cmpint(row->verified, ==, ORR_VERIFIED_YES);
  g_assert_cmpfloat(row->power_limit_watts, ==, 700);
  g_assert_cmpuint(strlen(row->date), ==, strlen("2026-01-01T00:00:00Z"));
  for (guint i = 0; i < rows->len; i++) /* the first is watched, then each eighth */
    g_assert_true(isnan(g_array_index(rows, OrrMeasureRow, i).watts) ==
                  (i % ORR_WATCHED_ONE_IN != 0));
}

/* 72 s for all families: each of the ten takes its turn, 0.34 s or more a row, so none has fewer
 * than a tenth of what there is time for, less what one of them has not (launch: 3 tables of 1
 * axis, 13 shapes). */
static void test_no_family_starves(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_auto(OrrCalibrateAnswer) answer = {0};
  calibrate(fixture, NULL, 72, &answer);
  for (guint i = 0; answer.families[i]; i++)
    g_assert_cmpuint(answer.states[i].n_measured, >=, MIN(7, answer.states[i].n_planned));
}

/* A product during a transfer takes 1.2 times as long on the fake device, a transfer during
 * anything 1.5 times (fake_layer.c): a profile fitted to its rows has these figures. */
static void test_overlap_reaches_profile(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_auto(OrrCalibrateAnswer) first = {0}, second = {0};
  g_autoptr(GError) error = NULL;
  calibrate(fixture, "interference", 1e6, &first);
  calibrate(fixture, "gemm", 25, &second);
  g_autoptr(GPtrArray) files = orr_calibrate_rows_export(fixture->db, NULL, fixture->out, &error);
  g_assert_no_error(error);
  const OrrFitOrder order = {.folder = fixture->out, .name = "mine"};
  g_autofree char *text = orr_fit(&order, &h100_device, &error);
  g_assert_no_error(error);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  const OrrInterference *it = &profile->constants.interference;
  assert_near(it->compute_by_comm, 1.2, 1e-3);
  assert_near(it->compute_by_copy, 1.2, 1e-3);
  const double by_others[] = {it->comm_by_compute, it->comm_by_copy, it->copy_by_compute,
                              it->copy_by_comm};
  for (guint i = 0; i < G_N_ELEMENTS(by_others); i++) assert_near(by_others[i], 1.5, 1e-3);
  g_assert_nonnull(strstr(profile->constants.source,
                          "overlap-slowdown: measured: the mean of 16 rows of matrix products"));
  g_assert_nonnull(
      strstr(profile->constants.source, "NCCL held to 16 thread blocks products take"));
}

/* A second session measures nothing twice; with all measured there is nothing left. */
static void test_resumes(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_auto(OrrCalibrateAnswer) first = {0}, second = {0}, third = {0};
  calibrate(fixture, "launch", 1, &first);
  g_assert_cmpuint(first.outcome.n_new, <, 13);
  calibrate(fixture, "launch", 1e6, &second);
  g_assert_cmpuint(second.outcome.n_known, ==, first.outcome.n_new);
  g_assert_cmpuint(second.outcome.n_new + first.outcome.n_new, ==,
                   13); /* 6 + 6 + 1, family_launch.c */
  g_assert_true(second.outcome.is_complete);
  calibrate(fixture, "launch", 1e6, &third);
  g_assert_cmpuint(third.outcome.n_new, ==, 0);
  g_autoptr(GArray) rows = read_rows(fixture);
  g_assert_cmpuint(rows->len, ==, 13);
  for (guint i = 0; i < rows->len; i++)
    for (guint j = 0; j < i; j++)
      g_assert_cmpstr(g_array_index(rows, OrrMeasureRow, i).shape, !=,
                      g_array_index(rows, OrrMeasureRow, j).shape);
}

/* A database of a version that did not know `setting` and `harness` is read, and its rows are
 * measured again. A shape that its family no longer has is not exported. */
static void test_old_database(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrField fields[64];
  OrrFieldTable old = orr_measure_row_table;
  const OrrRunFacts facts = {.scenario = "calibrate",
                             .kind = "calibration",
                             .file = "",
                             .hash = "h",
                             .resolved = "r",
                             .tool_version = "0",
                             .engine = "fake",
                             .fidelity = "measured"};
  OrrMeasureRow row = {
      .family = "interference", .shape = "beside=nothing watch=gemm bytes=0", .device = "A"};
  row.median_us = 7;
  g_autoptr(GError) error = NULL;
  old.n_fields = 0;
  for (size_t i = 0; i < orr_measure_row_table.n_fields; i++) {
    const OrrField *field = &orr_measure_row_table.fields[i];
    if (strcmp(field->name, "setting") != 0 && strcmp(field->name, "harness") != 0)
      fields[old.n_fields++] = *field;
  }
  old.fields = fields;
  g_assert_cmpuint(old.n_fields + 2, ==, orr_measure_row_table.n_fields);
  OrrStore *store = orr_store_open(fixture->db, &error);
  gboolean fine = orr_store_begin_run(store, &facts, NULL, &error) &&
                  orr_store_add_row(store, &old, &row, &error) &&
                  orr_store_end_run(store, 1, &error);
  g_assert_no_error(error);
  g_assert_true(fine);
  orr_store_free(store);
  g_autoptr(GArray) rows = read_rows(fixture);
  g_assert_cmpuint(rows->len, ==, 1);
  g_assert_cmpfloat(g_array_index(rows, OrrMeasureRow, 0).median_us, ==, 7);
  g_assert_cmpint(g_array_index(rows, OrrMeasureRow, 0).harness, ==, 0);
  g_assert_null(g_array_index(rows, OrrMeasureRow, 0).setting);
  g_autoptr(GPtrArray) files = orr_calibrate_rows_export(fixture->db, NULL, fixture->out, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(files->len, ==, 0);
}

/* Rows of another driver or power limit are not this machine's. */
static void test_same_machine(void) {
  OrrBench *bench = orr_fake_layer.open(0, NULL);
  const OrrBenchFacts *facts = orr_fake_layer.facts(bench);
  const OrrTiming timing = {.median_us = 1, .method = "host"};
  const OrrShape shape = {.family = orr_family_find("launch"), .at = {0, 1}};
  OrrMeasureRow row;
  orr_measure_row_init(&row, &shape, &(OrrShapeWork){0}, facts, &timing, NULL,
                       "2026-01-01T00:00:00Z");
  g_assert_true(orr_measure_row_is_of(&row, facts));
  row.power_limit_watts = 500;
  g_assert_false(orr_measure_row_is_of(&row, facts));
  row.power_limit_watts = NAN;
  g_assert_false(orr_measure_row_is_of(&row, facts));
  row.power_limit_watts = facts->power_limit_watts;
  row.harness--; /* measured in another way */
  g_assert_false(orr_measure_row_is_of(&row, facts));
  row.harness++;
  g_assert_true(orr_measure_row_is_of(&row, facts));
  row.driver[0]++;
  g_assert_false(orr_measure_row_is_of(&row, facts));
  orr_field_clear(&orr_measure_row_table, &row);
  orr_fake_layer.close(bench);
}

/* The fake device's permute is wrong on 4096 rows (fake_layer.c), one row for each of ten widths:
 * reported, kept, measured again by the next session, and not exported. */
static void test_wrong_results(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_auto(OrrCalibrateAnswer) answer = {0}, again = {0};
  calibrate(fixture, "memory", 1e6, &answer);
  g_assert_true(answer.outcome.is_complete);
  g_assert_cmpuint(answer.outcome.n_wrong, ==, 10);
  calibrate(fixture, "memory", 1e6, &again);
  g_assert_cmpuint(again.outcome.n_new, ==, 10);
  g_autoptr(GPtrArray) files = orr_calibrate_rows_export(fixture->db, NULL, fixture->out, NULL);
  g_assert_cmpuint(files->len, ==, 1);
  const OrrExportFile *file = files->pdata[0];
  g_assert_cmpstr(file->file, ==, "memory.csv");
  g_assert_cmpuint(file->n_rows, ==, answer.outcome.n_new - 10);
  g_assert_null(strstr(file->text, "permute,bf16,4096,"));
}

/* The number of lines of @path that begin with @prefix. */
static guint count_lines(const char *text, const char *prefix) {
  guint n = 0;
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++) n += g_str_has_prefix(*line, prefix);
  return n;
}

/* What is exported is imported as a profile with every GEMM row in it: each n x k pair is a row
 * there. */
static void test_round_trip(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_auto(OrrCalibrateAnswer) answer = {0};
  g_autoptr(GError) error = NULL;
  calibrate(fixture, "attention-decode,attention-prefill,collective,gemm,moe-ffn", 360, &answer);
  g_autoptr(GPtrArray) files =
      orr_calibrate_rows_export(fixture->db, "fake-analytic-device", fixture->out, &error);
  g_assert_no_error(error);
  guint n_rows = 0;
  for (guint i = 0; i < files->len; i++) n_rows += ((OrrExportFile *)files->pdata[i])->n_rows;
  g_assert_cmpuint(n_rows, ==, answer.outcome.n_new);
  g_autofree char *collectives = g_build_filename(fixture->out, "collectives.csv", NULL);
  const OrrMeasuredOptions options = {
      .device = "h100-sxm", .collectives_csv = collectives, .system = "fake-analytic-device"};
  g_autofree char *profile = orr_measured_import(fixture->out, &options, &error);
  g_assert_no_error(error);
  g_assert_nonnull(strstr(profile, "device: Fake analytic device; measured with orrery calibrate"));
  g_autofree char *path = g_build_filename(fixture->out, "gemm.csv", NULL), *gemm = NULL;
  g_assert_true(g_file_get_contents(path, &gemm, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(gemm, "\n", -1);
  g_auto(GStrv) cells = g_strsplit(lines[2], ",", -1); /* after the source and the header */
  g_autofree char *row = g_strdup_printf("      - {n: %s, k: %s, us: \"", cells[2], cells[3]);
  g_assert_cmpuint(count_lines(profile, row), >=, 1);
  g_assert_nonnull(strstr(profile, cells[7])); /* after layout, batch and release */
  g_assert_cmpuint(count_lines(profile, "    layout: wgrad"), >=, 1);
  g_assert_cmpuint(count_lines(profile, "    batch: 8"), >=, 1);
  g_assert_cmpuint(count_lines(profile, "    release: \"cublas-0.0\""), >=, 3);
  g_assert_cmpuint(count_lines(profile, "  - phase: prefill"), >=, 1);
  g_assert_cmpuint(count_lines(profile, "  - phase: decode"), >=, 1);
  g_assert_cmpuint(count_lines(profile, "collectives:"), ==, 1);
  g_assert_cmpuint(count_lines(profile, "moe:"), ==, 1);
}

static const OrrCalibrateDifference *difference_of(const GPtrArray *differences,
                                                   const char *kernels) {
  for (guint i = 0; i < differences->len; i++) {
    const OrrCalibrateDifference *difference = differences->pdata[i];
    if (strcmp(difference->kernels, kernels) == 0) return difference;
  }
  g_assert_not_reached();
}

/* Rows against the profile that was fitted to them: 0 but for the three digits of a latency; had
 * every kernel taken twice as long, the profile would say half: -50 %. Backward passes and
 * copies are measured too, and distinguished. */
static void test_compare(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const char *const fitted[] = {"gemm bf16 forward",     "gemm bf16 dgrad",
                                       "gemm bf16 wgrad",       "attention-decode bf16 even",
                                       "moe-ffn bf16 balanced", "collective all-reduce fp16"};
  g_auto(OrrCalibrateAnswer) answer = {0};
  g_autoptr(GError) error = NULL;
  calibrate(fixture, "attention-decode,collective,device-copy,gemm,memory,moe-ffn", 290, &answer);
  g_autoptr(GPtrArray) files = orr_calibrate_rows_export(fixture->db, NULL, fixture->out, &error);
  g_autofree char *collectives = g_build_filename(fixture->out, "collectives.csv", NULL);
  const OrrFitOrder order = {.folder = fixture->out,
                             .collectives_csv = collectives,
                             .system = "fake-analytic-device",
                             .name = "mine"};
  g_autofree char *text = orr_fit(&order, &h100_device, &error);
  g_assert_no_error(error);
  OrrProfile *profile = sample_profile(text);
  const OrrMachine machine = {.profile = profile, .device = &h100_device};
  g_autoptr(GArray) rows =
      orr_calibrate_rows_of(fixture->db, "h100-sxm", &error); /* a stranger: as the user says */
  g_assert_no_error(error);
  for (guint twice = 0; twice < 2; twice++) {
    g_autoptr(GPtrArray) differences = orr_calibrate_compare(rows, &machine, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < G_N_ELEMENTS(fitted); i++) {
      const OrrCalibrateDifference *difference = difference_of(differences, fitted[i]);
      g_assert_cmpuint(difference->errors.n, >=, 3); /* heads of 192 and 128 have no operator */
      g_assert_cmpfloat_with_epsilon(difference->errors.bias, twice ? -0.5 : 0, 0.005);
      g_assert_cmpfloat_with_epsilon(difference->errors.p90, twice ? 0.5 : 0, 0.005);
    }
    g_assert_cmpuint(difference_of(differences, "device-copy")->errors.n, ==, 0);
    g_assert_cmpuint(difference_of(differences, "device-copy")->n_rows, >, 3);
    g_assert_cmpuint(difference_of(differences, "gemm bf16 wgrad")->errors.n, >, 3);
    g_assert_cmpuint(difference_of(differences, "memory rmsnorm-forward")->errors.n, >, 3);
    for (guint i = 0; i < rows->len; i++) g_array_index(rows, OrrMeasureRow, i).median_us *= 2;
  }
  orr_profile_free(profile);
}

/* Rows of a shipped device are not another one's. */
static void test_rows_of(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_auto(OrrCalibrateAnswer) answer = {0};
  g_autoptr(GError) error = NULL;
  calibrate(fixture, "launch", 1, &answer);
  g_autoptr(GArray) stranger = orr_calibrate_rows_of(fixture->db, "h100-sxm", &error);
  g_assert_cmpuint(stranger->len, ==, answer.outcome.n_new);
  g_assert_false(orr_measure_row_device_is_shipped("Fake analytic device"));
  g_assert_true(orr_measure_row_device_is_shipped("NVIDIA H200"));
}

/* The newest of a shape counts; two devices are not one table. */
static void test_export_rules(void) {
  OrrMeasureRow rows[2] = {{.family = "launch",
                            .shape = "way=graph kernels=4",
                            .median_us = 3,
                            .device = "A",
                            .driver = "1",
                            .runtime = "1",
                            .blas = "",
                            .dnn = "",
                            .ccl = "",
                            .date = "d"}};
  g_autoptr(GError) error = NULL;
  rows[1] = rows[0];
  rows[1].median_us = 2.5;
  g_autoptr(GArray) both = g_array_new(FALSE, FALSE, sizeof(OrrMeasureRow));
  g_array_append_vals(both, rows, 2);
  g_autoptr(GPtrArray) files = orr_measure_export(both, &error);
  g_assert_no_error(error);
  const OrrExportFile *file = files->pdata[0];
  g_assert_true(g_str_has_suffix(file->text, "\nway,kernels,latency_us\ngraph,4,2.5\n"));
  g_array_index(both, OrrMeasureRow, 1).device = "B";
  g_assert_null(orr_measure_export(both, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
}

static void test_refusals(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  char *names[] = {"gem", NULL};
  OrrCalibrateAnswer answer;
  OrrCalibrateOrder order = {
      .db = fixture->db, .layer = &orr_fake_layer, .budget_s = 1, .families = names};
  g_assert_false(orr_calibrate(&order, &answer, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_nonnull(strstr(error->message, "did you mean 'gemm'?"));
  g_clear_error(&error);
  order.families = NULL;
  order.device = 1;
  g_assert_false(orr_calibrate(&order, &answer, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_clear_error(&error);
  g_assert_false(g_file_test(fixture->db, G_FILE_TEST_EXISTS)); /* nothing was touched */
  g_assert_null(orr_calibrate_rows_export(fixture->db, NULL, fixture->out, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
}

#define ADD(name_, function_)                                                                      \
  g_test_add("/measure/calibrate/" name_, Fixture, NULL, set_up, function_, tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("budget", test_budget);
  ADD("no-family-starves", test_no_family_starves);
  ADD("overlap-reaches-profile", test_overlap_reaches_profile);
  ADD("resumes", test_resumes);
  ADD("old-database", test_old_database);
  g_test_add_func("/measure/calibrate/same-machine", test_same_machine);
  ADD("wrong-results", test_wrong_results);
  ADD("round-trip", test_round_trip);
  ADD("compare", test_compare);
  ADD("rows-of", test_rows_of);
  g_test_add_func("/measure/calibrate/export-rules", test_export_rules);
  ADD("refusals", test_refusals);
  return g_test_run();
}

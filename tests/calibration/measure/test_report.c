/*
 * test_report.c - the report of a calibration: what it holds, what it must not hold, and sessions
 * that fail.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "calibration/measure/measure_visit.h"
#include "sim/base/fault.h"
#include "sim/calibrate/calibrate.h"
#include "tests/calibration/calibration_sample.h"

typedef struct {
  char *folder, *db;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data) {
  (void)data;
  fixture->folder = g_dir_make_tmp("orrery-report-XXXXXX", NULL);
  fixture->db = g_build_filename(fixture->folder, "c.db", NULL);
}

static void tear_down(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_unlink(fixture->db);
  g_rmdir(fixture->folder);
  g_free(fixture->db);
  g_free(fixture->folder);
}

static gboolean calibrate(const Fixture *fixture, const OrrDeviceLayer *layer, double budget_s,
                          GError **error) {
  char *families[] = {"gemm", "launch", NULL};
  g_auto(OrrCalibrateAnswer) answer = {0};
  const OrrCalibrateOrder order = {
      .db = fixture->db, .layer = layer, .budget_s = budget_s, .families = families};
  return orr_calibrate(&order, &answer, error);
}

static char *report_of(const Fixture *fixture, const OrrMachine *machine, guint *ret_rows) {
  g_autoptr(GError) error = NULL;
  OrrCalibrateReport report;
  g_assert_true(orr_calibrate_report(fixture->db, NULL, "h100-sxm", machine, &report, &error));
  g_assert_no_error(error);
  *ret_rows = report.n_rows;
  return report.text;
}

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) g_error("'%s' is not in:\n%.3000s", part, text);
}

static guint count_lines_after(const char *text, const char *heading) {
  const char *at = strstr(text, heading);
  guint n = 0;
  g_assert_nonnull(at);
  for (at += strlen(heading); *at; at++) n += *at == '\n';
  return n;
}

/* The fake board draws a tenth of its limit when idle, and says that it is idle (fake_layer.c).
 * Every row is there, and each kind of kernel is held against the profile. */
static void test_whole(Fixture *fixture, gconstpointer data) {
  (void)data;
  const OrrMachine machine = {.device = &h100_device};
  guint n_rows;
  g_assert_true(calibrate(fixture, &orr_fake_layer, 30, NULL));
  g_autofree char *text = report_of(fixture, &machine, &n_rows);
  g_assert_true(g_str_has_prefix(text, "# orrery calibration report, version 1\n"));
  assert_has(text, "\ndevice: Fake analytic device\n");
  assert_has(text, "\nwatts_before: 70.0\nwatts_after: 70.0\n");
  assert_has(text, "\nslowed_before: idle\n");
  assert_has(text, "\ngemm bf16 forward,");
  assert_has(text, "\n## Refused\n\nnone\n");
  g_assert_cmpuint(count_lines_after(text, "\n## Rows\n\n"), ==, n_rows + 1); /* and the header */
  g_assert_cmpuint(n_rows, >, 50);
  g_assert_null(strstr(text, fixture->folder));
  g_assert_null(strstr(text, "failure: ")); /* a column that says nothing is left out */
}

static void test_no_profile(Fixture *fixture, gconstpointer data) {
  (void)data;
  guint n_rows;
  g_assert_true(calibrate(fixture, &orr_fake_layer, 5, NULL));
  g_autofree char *text = report_of(fixture, NULL, &n_rows);
  assert_has(text, "there is no profile of this device");
}

/* A device that breaks at its tenth kernel, with a reason that says whose it is. */
static guint n_kernels;

static OrrKernel *break_at_ten(OrrBench *bench, const OrrShape *shape, GError **error) {
  if (++n_kernels < 10) return orr_fake_layer.prepare(bench, shape, error);
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s broke on %s: see /home/me/log.txt",
              g_get_user_name(), g_get_host_name());
  return NULL;
}

static void test_failure(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrDeviceLayer layer = orr_fake_layer;
  g_autoptr(GError) error = NULL;
  guint n_rows;
  n_kernels = 0;
  layer.prepare = break_at_ten;
  g_assert_false(calibrate(fixture, &layer, 30, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
  g_autofree char *text = report_of(fixture, NULL, &n_rows);
  g_assert_cmpuint(n_rows, ==, 9);
  assert_has(text, "\nnew_rows: 9\n");
  assert_has(text, "* broke on *: see *\n");   /* of the session */
  assert_has(text, ",* broke on *: see *,1,"); /* of the refusal */
  g_assert_null(strstr(text, "/home"));
}

static void test_scrub(void) {
  static const char *const words[] = {"gpu-box-7", "alice", "x", NULL};
  static const char *const cases[][2] = {
      {"libnccl.so.2 was not found (LD_LIBRARY_PATH, /usr/local/cuda-13.0/lib64)",
       "libnccl.so.2 was not found (LD_LIBRARY_PATH, *)"},
      {"~/models/a.yaml: no such file", "*: no such file"},
      {"Alice@gpu-box-7: malice is not a name", "*@*: malice is not a name"},
      {"1.5 GB/s, and/or x", "1.5 GB/s, and/or x"},
      {"", ""},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *clean = orr_calibrate_report_scrub(cases[i][0], words);
    g_assert_cmpstr(clean, ==, cases[i][1]);
  }
}

/* nvml.h: 0x1 idle, 0x4 software power cap, 0x40 hardware thermal slowdown. */
static void test_throttle_words(void) {
  static const struct {
    gint64 reasons;
    const char *words;
  } cases[] = {{0, "none"},
               {1, "idle"},
               {0x44, "power limit, hardware thermal slowdown"},
               {0x404, "power limit, others"},
               {-1, "unknown"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *words = orr_measure_visit_throttle_words(cases[i].reasons);
    g_assert_cmpstr(words, ==, cases[i].words);
  }
}

/* One GPU cannot be asked for collectives; the plan of eight has seeds of them: 17 slices of one
 * axis, 3 each, and 7 more over two and over four ranks. */
static void test_plan(void) {
  char *families[] = {"collective", "launch", NULL};
  const OrrCalibrateOrder order = {.layer = &orr_fake_layer, .families = families};
  g_auto(OrrCalibrateAnswer) one = {0}, eight = {0};
  g_assert_true(orr_calibrate_plan(&order, 1, &one, NULL));
  g_assert_true(orr_calibrate_plan(&order, 8, &eight, NULL));
  g_assert_cmpuint(one.states[0].n_planned, ==, 0);
  g_assert_cmpuint(one.left_out->len, ==, 1);
  g_assert_cmpuint(eight.states[0].n_slices, ==, 31);
  g_assert_cmpuint(eight.states[0].n_seeds, ==, 93);
  g_assert_cmpuint(eight.left_out->len, ==, 0);
  for (guint i = 0; i < 2; i++) { /* launch: 6 + 6 + 1 shapes; its third table has but one */
    const OrrPlanState *state = i ? &eight.states[1] : &one.states[1];
    g_assert_cmpuint(state->n_slices, ==, 3);
    g_assert_cmpuint(state->n_seeds, ==, 7);
    g_assert_cmpuint(state->n_planned, ==, 13);
  }
}

#define ADD(name_, function_)                                                                      \
  g_test_add("/measure/report/" name_, Fixture, NULL, set_up, function_, tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("whole", test_whole);
  ADD("no-profile", test_no_profile);
  ADD("failure", test_failure);
  g_test_add_func("/measure/report/scrub", test_scrub);
  g_test_add_func("/measure/report/throttle-words", test_throttle_words);
  g_test_add_func("/measure/report/plan", test_plan);
  return g_test_run();
}

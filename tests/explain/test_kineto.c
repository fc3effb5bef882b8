/*
 * test_kineto.c - the reader of PyTorch's traces: forms of several years, plain and gzipped, and
 * files that are cut short, hostile, or hold no kernel.
 */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/explain/explain.h"

typedef struct {
  char *path;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data) {
  (void)data;
  const int file = g_file_open_tmp("orrery-XXXXXX.json", &fixture->path, NULL);
  g_assert_cmpint(file, >=, 0);
  close(file);
}

static void tear_down(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_unlink(fixture->path);
  g_free(fixture->path);
}

static OrrTimeline *read_text(const Fixture *fixture, const char *text, OrrDiags *diags) {
  const char *form = NULL;
  g_assert_true(g_file_set_contents(fixture->path, text, -1, NULL));
  return orr_trace_read(fixture->path, NULL, &form, diags);
}

static void refuses(const Fixture *fixture, const char *text, const char *reason) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrTimeline) timeline = read_text(fixture, text, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_assert_null(timeline);
  if (!strstr(found, reason)) g_error("expected '%s', found '%s'", reason, found);
}

#define KERNEL "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":10,\"dur\":5}"

static const char full[] =
    "{\"username\":\"someone\",\"deviceProperties\":[{\"id\":0}],\"traceEvents\":[\n"
    "{\"args\":{\"stream\":7,\"device\":2,\"Collective name\":\"allreduce\",\"In msg nelems\":1000,"
    "\"Out msg nelems\":2000,\"dtype\":\"BFloat16\",\"Process Group Description\":\"mesh_tp\"},"
    "\"dur\":2.5,\"ts\":4458676416788.066,\"name\":\"ncclDevKernel_AllReduce\",\"cat\":\"kernel\","
    "\"pid\":0,\"tid\":7,\"ph\":\"X\"},\n"
    "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"gemm\",\"pid\":2,\"tid\":\"stream 7\","
    "\"ts\":4458676416798.067,\"dur\":4,\"args\":{\"External id\":[1,{\"ts\":3}]}},\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"ts\":4458676416780,"
    "\"dur\":90},\n"
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f\",\"ts\":1,\"dur\":-1},\n"
    "{\"ph\":\"i\",\"cat\":\"kernel\",\"name\":\"gemm\"},{\"ph\":\"M\",\"name\":\"process_name\"}\n"
    "],\"displayTimeUnit\":\"ms\"}\n";

static void check_full(const OrrTimeline *timeline) {
  g_assert_nonnull(timeline);
  g_assert_cmpuint(timeline->events->len, ==, 2);
  g_assert_cmpuint(timeline->steps->len, ==, 1);
  const OrrTimelineEvent *first = &g_array_index(timeline->events, OrrTimelineEvent, 0),
                         *second = &g_array_index(timeline->events, OrrTimelineEvent, 1);
  const OrrTimelineName *name = &g_array_index(timeline->names, OrrTimelineName, first->name);
  g_assert_cmpint(first->device, ==, 2);
  g_assert_cmpint(second->device, ==, 2);
  g_assert_cmpint(first->stream, ==, 7);
  g_assert_cmpfloat_with_epsilon(second->begin_s - first->begin_s, 10.001e-6, 1e-15);
  g_assert_cmpfloat_with_epsilon(first->end_s - first->begin_s, 2.5e-6, 1e-15);
  g_assert_cmpstr(name->family->name, ==, "all-reduce");
  g_assert_cmpstr(name->purpose, ==, "tp");
  g_assert_cmpfloat(name->bytes, ==, 4000);
}

static void test_form(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrTimeline) timeline = read_text(fixture, full, diags);
  check_full(timeline);
  /* the array alone, as chrome://tracing takes it */
  g_autoptr(OrrTimeline) bare = read_text(fixture, "[" KERNEL "]", diags);
  g_assert_nonnull(bare);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 0);
}

/* Gzipped; and the same file without its last bytes. */
static void test_gzip(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  gzFile file = gzopen(fixture->path, "wb");
  g_assert_cmpint(gzwrite(file, full, sizeof full - 1), ==, (int)sizeof full - 1);
  gzclose(file);
  g_autoptr(OrrTimeline) timeline = orr_kineto_read(fixture->path, NULL, NULL, diags);
  check_full(timeline);
  GStatBuf size;
  g_assert_cmpint(g_stat(fixture->path, &size), ==, 0);
  g_assert_cmpint(truncate(fixture->path, size.st_size - 12), ==, 0);
  g_autoptr(OrrTimeline) cut = orr_kineto_read(fixture->path, NULL, NULL, diags);
  g_assert_null(cut);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 1);
}

static void test_refused(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GString) deep = g_string_new("{\"traceEvents\":[");
  for (guint i = 0; i < 100000; i++) g_string_append_c(deep, '[');
  refuses(fixture, deep->str, "64 deep");
  refuses(fixture, "", "cut short");
  refuses(fixture, "{\"traceEvents\":[" KERNEL, "cut short");
  refuses(fixture, "{\"traceEvents\":[" KERNEL "]} x", "not JSON");
  refuses(fixture, "{\"traceEvents\":[\n  {\"ts\":NaN}]}", ":2:");
  refuses(fixture, "{\"traceEvents\":[]}", "no event");
  refuses(fixture,
          "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1}]}",
          "cpu_op 1");
  refuses(fixture, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":-1}]",
          "ends before it begins");
  refuses(fixture, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1}]",
          "expected numbers as ts and dur");
  refuses(fixture, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1e300,\"dur\":1}]",
          "expected numbers");
  refuses(fixture,
          "[" KERNEL ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\","
          "\"ts\":99999999999999999,\"dur\":1}]",
          "years from the first");
  refuses(fixture, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":1,\"dur\":1e999}]",
          "years from the first");
  refuses(fixture, "PK\x03\x04", "zip archive");
}

/* Endless spaces, which a compressed file holds in little room, and more kernels than allowed. */
static void test_limits(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *spaces = g_strnfill(1 << 20, ' ');
  gzFile file = gzopen(fixture->path, "wb1");
  for (guint i = 0; i < 64; i++) g_assert_cmpint(gzwrite(file, spaces, 1 << 20), ==, 1 << 20);
  gzclose(file);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrTimeline) endless = orr_kineto_read(fixture->path, NULL, NULL, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_assert_null(endless);
  g_assert_nonnull(strstr(found, "16 MiB"));
  g_assert_true(g_file_set_contents(fixture->path, "[" KERNEL "," KERNEL "]", -1, NULL));
  const OrrKinetoLimits one = {.most_events = 1, .most_s = 10};
  g_autoptr(OrrTimeline) many = orr_kineto_read(fixture->path, NULL, &one, diags);
  g_assert_null(many);
}

/* What is written reads back the same. */
static void test_round_trip(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrTimeline) made = orr_timeline_new();
  orr_timeline_add(made, orr_timeline_name(made, "orrery::gemm", NULL, 0), 3, 1, 0.25, 1.75);
  orr_timeline_add(made, orr_timeline_name(made, "orrery::all-gather", "dp", 4096), 3, 2, 1, 2);
  orr_timeline_add_step(made, "ProfilerStep#0", 0, 2);
  const OrrKinetoPart part = {made, NULL, -1, 0, 100};
  g_assert_true(orr_kineto_write(&part, 1, fixture->path, NULL));
  g_autoptr(OrrTimeline) read = orr_kineto_read(fixture->path, NULL, NULL, diags);
  g_assert_nonnull(read);
  g_assert_cmpuint(read->events->len, ==, 2);
  for (guint i = 0; i < 2; i++) {
    const OrrTimelineEvent *a = &g_array_index(made->events, OrrTimelineEvent, i),
                           *b = &g_array_index(read->events, OrrTimelineEvent, i);
    const OrrTimelineName *x = &g_array_index(made->names, OrrTimelineName, a->name),
                          *y = &g_array_index(read->names, OrrTimelineName, b->name);
    g_assert_cmpint(a->device, ==, b->device);
    g_assert_cmpfloat_with_epsilon(b->end_s - b->begin_s, a->end_s - a->begin_s, 1e-12);
    g_assert_true(x->family == y->family && x->purpose == y->purpose);
    g_assert_cmpfloat(x->bytes, ==, y->bytes);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add("/kineto/form", Fixture, NULL, set_up, test_form, tear_down);
  g_test_add("/kineto/gzip", Fixture, NULL, set_up, test_gzip, tear_down);
  g_test_add("/kineto/refused", Fixture, NULL, set_up, test_refused, tear_down);
  g_test_add("/kineto/limits", Fixture, NULL, set_up, test_limits, tear_down);
  g_test_add("/kineto/round-trip", Fixture, NULL, set_up, test_round_trip, tear_down);
  return g_test_run();
}

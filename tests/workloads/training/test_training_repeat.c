/*
 * Steps that repeat are left out: every number and every row is as in a replay of all steps.
 *
 * Each job of the generated family (training_jobs.h) runs twice, in children of their own: with
 * whole steps, and as users get it. Seeds are in the messages.
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/yaml.h"
#include "sim/run/scenario.h"
#include "sim/run/simulate.h"
#include "sim/run/world.h"
#include "tests/base/test_size.h"
#include "tests/engine/forked.h"
#include "tests/workloads/training/training_jobs.h"
#include "tests/run/shared_library.h"

#define CLOSE 1e-9

/* An operation, or a moment of memory, in its place: sorted by place, in order. */
typedef struct {
  guint place, order;
  double begin_s, started_s, end_s;
} Dates;

typedef struct {
  gboolean is_read, repeats;
  GArray *numbers; /* of double: what sums up all steps */
  GArray *dates;   /* of Dates: what single steps have */
} Found;

static void add(Found *found, double value) { g_array_append_val(found->numbers, value); }

static void add_dates(Found *found, Dates dates) {
  dates.order = found->dates->len;
  g_array_append_val(found->dates, dates);
}

static void note_sums(const OrrOutcome *outcome, Found *found) {
  const OrrTrainingResult *r = &outcome->result.training;
  add(found, r->iteration_time_s);
  add(found, r->step_p50_s);
  add(found, r->step_p99_s);
  add(found, r->bubble_fraction);
  add(found, r->exposed_comm_fraction);
  add(found, r->mfu);
  for (guint i = 0; i < outcome->steps->len; i++) {
    const OrrStepRow *step = &g_array_index(outcome->steps, OrrStepRow, i);
    add(found, step->begin_s);
    add(found, step->end_s);
    found->repeats = found->repeats || step->repeated;
  }
  for (guint i = 0; i < outcome->lanes->len; i++) {
    const OrrLaneRow *lane = &g_array_index(outcome->lanes, OrrLaneRow, i);
    add(found, lane->compute_s);
    add(found, lane->comm_s);
    add(found, lane->wait_s);
    add(found, lane->end_s);
  }
  for (guint i = 0; i < outcome->times->len; i++)
    add(found, g_array_index(outcome->times, OrrTimeRow, i).seconds);
  for (guint i = 0; i < outcome->collectives->len; i++)
    add(found, g_array_index(outcome->collectives, OrrCollectiveRow, i).mean_s);
  for (guint i = 0; i < outcome->links->len; i++)
    add(found, g_array_index(outcome->links, OrrLinkRow, i).bytes);
}

static void note_dates(const OrrOutcome *outcome, Found *found) {
  for (guint i = 0; i < outcome->spans->len; i++) {
    const OrrSpanRow *span = &g_array_index(outcome->spans, OrrSpanRow, i);
    const guint place = g_str_hash(span->stream) * 31 + (guint)span->lane;
    add_dates(found, (Dates){place, 0, span->begin_s, span->started_s, span->end_s});
  }
  for (guint i = 0; i < outcome->memory_times->len; i++) {
    const OrrMemoryTimeRow *row = &g_array_index(outcome->memory_times, OrrMemoryTimeRow, i);
    add_dates(found, (Dates){(guint)row->stage, 0, row->begin_s, row->begin_s, row->end_s});
  }
}

/* The fraction of the bytes in each bin, over all links: links that are equally busy to rounding
 * may change places. */
static void note_bins(const OrrOutcome *outcome, Found *found) {
  double bins[1024] = {0}, sum = 0;
  for (guint i = 0; i < outcome->link_times->len; i++) {
    const OrrLinkTimeRow *row = &g_array_index(outcome->link_times, OrrLinkTimeRow, i);
    bins[(guint)round(row->begin_s / (row->end_s - row->begin_s))] += row->bytes;
    sum += row->bytes;
  }
  for (guint i = 0; sum > 0 && i < G_N_ELEMENTS(bins); i++) add(found, bins[i] / sum);
}

static OrrOutcome *simulate(const char *text, gboolean whole) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "job.yaml", diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  if (!scenario) return NULL; /* refused, with a reason */
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, &error);
  g_assert_no_error(error);
  const OrrSimulation simulation = {.keep_spans = TRUE, .whole_steps = whole};
  OrrOutcome *outcome = orr_simulate_in(world, scenario, &simulation, &error);
  if (error) g_error("%s\n%s", error->message, text);
  return outcome;
}

static void put(int fd, const void *data, gsize size) {
  for (gsize done = 0; done < size;) {
    const gssize n = write(fd, (const char *)data + done, size - done);
    if (n <= 0) _exit(1);
    done += (gsize)n;
  }
}

static void G_GNUC_NORETURN answer(const char *text, gboolean whole, int fd) {
  Found found = {.numbers = g_array_new(FALSE, FALSE, sizeof(double)),
                 .dates = g_array_new(FALSE, FALSE, sizeof(Dates))};
  g_autoptr(OrrOutcome) outcome = simulate(text, whole);
  found.is_read = outcome != NULL;
  if (outcome) {
    note_sums(outcome, &found);
    note_bins(outcome, &found);
    note_dates(outcome, &found);
  }
  const guint counts[] = {found.is_read, found.repeats, found.numbers->len, found.dates->len};
  put(fd, counts, sizeof counts);
  put(fd, found.numbers->data, found.numbers->len * sizeof(double));
  put(fd, found.dates->data, found.dates->len * sizeof(Dates));
  _exit(0);
}

static void take(int fd, void *data, gsize size) {
  for (gsize done = 0; done < size;) {
    const gssize n = read(fd, (char *)data + done, size - done);
    if (n <= 0) g_error("a child ended early");
    done += (gsize)n;
  }
}

static gint by_place(gconstpointer a, gconstpointer b) {
  const Dates *x = a, *y = b;
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static Found ask(const char *text, gboolean whole) {
  int ends[2], status = 0;
  guint counts[4];
  forked_load();
  shared_costs("h100-sxm");
  g_assert_cmpint(pipe(ends), ==, 0);
  const pid_t child = fork();
  if (child == 0) answer(text, whole, ends[1]);
  close(ends[1]);
  take(ends[0], counts, sizeof counts);
  Found found = {counts[0], counts[1],
                 g_array_set_size(g_array_new(FALSE, TRUE, sizeof(double)), counts[2]),
                 g_array_set_size(g_array_new(FALSE, TRUE, sizeof(Dates)), counts[3])};
  take(ends[0], found.numbers->data, counts[2] * sizeof(double));
  take(ends[0], found.dates->data, counts[3] * sizeof(Dates));
  close(ends[0]);
  waitpid(child, &status, 0);
  g_assert_cmpint(status, ==, 0);
  g_array_sort(found.dates, by_place);
  return found;
}

static void forget(Found *found) {
  g_array_unref(found->numbers);
  g_array_unref(found->dates);
}

static void assert_close(const char *text, double a, double b) {
  if (fabs(a - b) > CLOSE * MAX(fabs(a), fabs(b)) + 1e-12)
    g_error("%.17g with whole steps, %.17g with steps left out:\n%s", a, b, text);
}

static gboolean are_close(const Dates *a, const Dates *b) {
  return fabs(a->begin_s - b->begin_s) <= CLOSE * a->end_s &&
         fabs(a->started_s - b->started_s) <= CLOSE * a->end_s &&
         fabs(a->end_s - b->end_s) <= CLOSE * a->end_s;
}

/* The rows of one place: the first of them are the first of @whole's, the others its last. */
static void assert_place(const char *text, const Dates *whole, guint n_whole, const Dates *some,
                         guint n) {
  guint first = 0, last = 0;
  while (first < n && are_close(&whole[first], &some[first])) first++;
  while (last < n && are_close(&whole[n_whole - 1 - last], &some[n - 1 - last])) last++;
  if (first + last < n) g_error("%u rows, %u and %u of them fit:\n%s", n, first, last, text);
}

static guint same_place(const GArray *dates, guint from) {
  guint n = 0;
  while (from + n < dates->len &&
         g_array_index(dates, Dates, from + n).place == g_array_index(dates, Dates, from).place)
    n++;
  return n;
}

static void compare(const char *text, const Found *whole, const Found *some, guint steps) {
  g_assert_cmpuint(whole->numbers->len, ==, some->numbers->len);
  for (guint i = 0; i < whole->numbers->len; i++)
    assert_close(text, g_array_index(whole->numbers, double, i),
                 g_array_index(some->numbers, double, i));
  g_assert_cmpuint(whole->dates->len, ==, some->dates->len * (some->repeats ? steps : 2) / 2);
  for (guint i = 0, k = 0; i < whole->dates->len;) {
    const guint n = same_place(whole->dates, i), n_some = same_place(some->dates, k);
    assert_place(text, &g_array_index(whole->dates, Dates, i), n,
                 &g_array_index(some->dates, Dates, k), n_some);
    i += n;
    k += n_some;
  }
}

static void test_family(void) {
  guint n_repeat = 0, n_read = 0;
  for (guint i = 0; i < test_size(200, 40); i++) {
    g_autofree char *name = g_strdup_printf("repeat-%u", i);
    OrrRandom random = orr_random_stream(17, name);
    g_autofree char *job = job_text(&random, "tp-cp-dp-pp");
    const guint steps = 2 + orr_random_below(&random, 5);
    g_autofree char *text = g_strdup_printf("%s  steps: %u\n", job, steps);
    Found whole = ask(text, TRUE), some = ask(text, FALSE);
    g_assert_cmpint(whole.is_read, ==, some.is_read);
    g_assert_false(whole.repeats);
    g_test_message("%s, %u steps%s", name, steps, some.repeats ? ", which repeat" : "");
    n_repeat += some.repeats;
    n_read += whole.is_read;
    if (whole.is_read) compare(text, &whole, &some, steps);
    forget(&whole);
    forget(&some);
  }
  g_test_message("of %u jobs, steps of %u repeat", n_read, n_repeat);
  g_assert_cmpuint(n_repeat, >, n_read / 3);
}

#define JOB                                                                                        \
  "schema: scenario/1\nname: job\ncluster: {base: dgx-h100-superpod, nodes: 2}\n"                  \
  "model: {name: small, layers: 8, hidden: 1024, heads: 16, vocab: 8192, context: 2048}\n"         \
  "workload: {kind: training, stack: none, parallel: {tp: 4, pp: 2, dp: 2}, batch: {global: 16, "  \
  "micro: 1}, steps: 4, "

/* Each alone makes steps differ, or lets something run on from one step to the next. */
static void test_steps_that_differ(void) {
  static const char *const sets[] = {
      "noise: {rank: 0.01}",
      "noise: {kernel: 0.01}",
      "loader: {sample-time: 1 ms}",
      "evaluation: true",
      "optimizer: {sharding: fsdp}",
      "pipeline: {kind: zb-h1, post-validation: true}",
      "packing: {documents: {kind: lognormal, tokens: 500, sigma: 1}}"};
  for (guint i = 0; i < G_N_ELEMENTS(sets); i++) {
    g_autofree char *text = g_strconcat(JOB, sets[i], "}\n", NULL);
    Found found = ask(text, FALSE);
    if (!found.is_read || found.repeats) g_error("steps repeat, or are refused: %s", sets[i]);
    forget(&found);
  }
  Found alike = ask(JOB "recompute: full}\n", FALSE);
  g_assert_true(alike.repeats);
  forget(&alike);
}

/* A fault strikes one step. */
static void test_faults(void) {
  Found found = ask(JOB "recompute: full}\n"
                        "faults: [{fault: {kind: slow-gpu, gpu: 3, slower: 30 %}}]\n",
                    FALSE);
  g_assert_true(found.is_read);
  g_assert_false(found.repeats);
  forget(&found);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-repeat/family", test_family);
  g_test_add_func("/training-repeat/steps-that-differ", test_steps_that_differ);
  g_test_add_func("/training-repeat/faults", test_faults);
  return g_test_run();
}

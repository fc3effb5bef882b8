/*
 * verb_import_nccl_compare.c - a log of nccl-tests against what the machine should reach.
 *
 *   sizes of the log -> healthy curve with bands -> judged sizes -> faults that have such a curve
 */
#include "sim/base/json_write.h"
#include "sim/cli/page.h"
#include "sim/cli/verb_import.h"
#include "sim/nccl/nccl_diagnosis.h"
#include "workloads/collectives/collective_bench.h"

/* A run of the log and its answer. */
typedef struct {
  const OrrNcclTestsRun *run;
  OrrNcclCurveQuestion question;
  char **settings;  /* of the question */
  GArray *measured; /* of OrrNcclMeasured */
  OrrNcclCurve *healthy;
  OrrNcclDiagnosis *diagnosis;
} Compared;

static void compared_clear(Compared *one) {
  g_clear_pointer(&one->settings, g_strfreev);
  g_clear_pointer(&one->measured, g_array_unref);
  g_clear_pointer(&one->healthy, orr_nccl_curve_free);
  g_clear_pointer(&one->diagnosis, orr_nccl_diagnosis_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Compared, compared_clear)

static const OrrNcclMeasured *row_at(const Compared *one, guint i) {
  return &g_array_index(one->measured, OrrNcclMeasured, i);
}

static gboolean find_op(const char *name, OrrCollectiveOp *ret_op) {
  for (guint i = 0; i < ORR_N_COLLECTIVES; i++)
    if (g_str_equal(name, orr_collective_nccl_words[i]) ||
        g_str_equal(name, orr_collective_words[i])) {
      *ret_op = (OrrCollectiveOp)i;
      return TRUE;
    }
  return FALSE;
}

ORR_LEAST_FIRST(compare_sizes, OrrNcclMeasured, bytes)

/* The times to compare, by size; sizes without one are left out. */
static GArray *measured_of(const OrrNcclTestsRun *run, gboolean in_place) {
  GArray *measured = g_array_new(FALSE, FALSE, sizeof(OrrNcclMeasured));
  ORR_EACH(const OrrNcclTestsRow, row, run->rows) {
    const OrrNcclMeasured one = {row->bytes, (in_place ? row->in_place_us : row->us) * 1e-6};
    if (one.time_s > 0) g_array_append_val(measured, one);
  }
  g_array_sort(measured, compare_sizes);
  return measured;
}

/* The sizes of the log as nccl-tests steps: by the factor between the first two, if all follow;
 * else 1.2 apart, with times between them interpolated. */
static void find_sizes(Compared *one) {
  OrrNcclCurveQuestion *q = &one->question;
  const guint n = one->measured->len;
  q->begin_bytes = row_at(one, 0)->bytes;
  q->end_bytes = row_at(one, n - 1)->bytes;
  q->factor = n > 1 ? row_at(one, 1)->bytes / q->begin_bytes : 2;
  gboolean follows = q->factor >= 1.01;
  for (guint i = 1; i < n; i++)
    follows &= fabs(row_at(one, i)->bytes / (row_at(one, i - 1)->bytes * q->factor) - 1) < 0.01;
  if (follows) return;
  q->factor = 1.2;
  q->end_bytes *= 1.2; /* the last size lies between two */
}

/* Places the ranks: hosts are nodes, which have the same number of ranks each. */
static gboolean place(Compared *one, const OrrCluster *cluster, GError **error) {
  const gint64 ranks = one->run->n_ranks, gpus = cluster->node.gpus;
  const gint64 hosts = one->run->n_hosts ? one->run->n_hosts : (ranks + gpus - 1) / gpus;
  const gint64 each = ranks / hosts;
  one->question.nodes = hosts;
  one->question.ranks = ranks;
  if (ranks % hosts != 0 || each > gpus || (hosts > 1 && gpus % each != 0))
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "%ld ranks on %ld hosts: want as many on each, and a number that divides the "
        "%ld GPUs of a node of %s",
        ranks, hosts, gpus, cluster->name);
  one->question.stride = hosts > 1 ? gpus / each : 1;
  return TRUE;
}

static gboolean diagnose(OrrLibrary *library, Compared *one, GError **error) {
  g_autoptr(OrrScenario) scenario = orr_nccl_curve_scenario(library, &one->question, NULL, error);
  g_autoptr(OrrFabric) fabric =
      scenario ? orr_fabric_new(&scenario->cluster, (guint64)scenario->seed, error) : NULL;
  if (!fabric) return FALSE;
  const OrrNcclCurveOrder order = {&one->question, NULL, TRUE};
  g_autoptr(GPtrArray) curves = orr_nccl_curve_replay(library, &order, 1, 1);
  one->healthy = g_ptr_array_steal_index(curves, 0);
  if (one->healthy->error) {
    g_propagate_error(error, g_error_copy(one->healthy->error));
    return FALSE;
  }
  const OrrNcclSite site = {&scenario->cluster, fabric, &one->question};
  one->diagnosis = orr_nccl_diagnosis_new(library, &site, one->healthy, one->measured,
                                          (guint)orr_options.n_jobs);
  return TRUE;
}

/* What the log says of its reduction and number format, where we have them, and then --set's: other
 * reductions have other kernels. */
static char **settings_of(const OrrNcclTestsRun *run) {
  static const char *const types[][2] = {
      {"half", "fp16"},    {"bfloat16", "bf16"}, {"int8", "int8"},    {"uint8", "int8"},
      {"fp8_e4m3", "fp8"}, {"f8e4m3", "fp8"},    {"fp8_e5m2", "fp8"}, {"f8e5m2", "fp8"}};
  g_autoptr(GStrvBuilder) all = g_strv_builder_new();
  g_autofree char *redop = g_strdup_printf("workload.redop=%s", run->redop ? run->redop : "sum");
  if (run->redop && g_strv_contains(orr_redop_words, run->redop)) g_strv_builder_add(all, redop);
  for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
    g_autofree char *dtype = g_strdup_printf("workload.dtype=%s", types[i][1]);
    if (g_strcmp0(run->type, types[i][0]) == 0) g_strv_builder_add(all, dtype);
  }
  if (orr_options.settings) g_strv_builder_addv(all, (const char **)orr_options.settings);
  return g_strv_builder_end(all);
}

static gboolean compare(OrrLibrary *library, const char *cluster, gboolean in_place, Compared *one,
                        GError **error) {
  one->settings = settings_of(one->run);
  one->question = (OrrNcclCurveQuestion){.cluster = cluster,
                                         .stride = 1,
                                         .begin_bytes = 8,
                                         .end_bytes = 8,
                                         .factor = 2,
                                         .settings = one->settings};
  one->measured = measured_of(one->run, in_place);
  if (!find_op(one->run->op, &one->question.op))
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "'%s' is not simulated", one->run->op);
  if (one->question.op == ORR_SEND_RECV && one->run->n_ranks > 2)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "%u ranks that all send at once are not simulated: 2 are",
                         one->run->n_ranks);
  if (one->question.op == ORR_SEND_RECV) one->question.ranks = 2;
  if (one->measured->len == 0)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "the log has no %s times",
                         in_place ? "in-place" : "out-of-place");
  g_autoptr(OrrScenario) whole = orr_nccl_curve_scenario(library, &one->question, NULL, error);
  if (!whole) return FALSE;
  g_autofree char *other =
      orr_nccl_tests_log_other_device(one->run->device, whole->cluster.device.name);
  if (other)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "%s of cluster %s: compare it with a machine "
                         "of its own GPUs",
                         other, cluster);
  if (!place(one, &whole->cluster, error)) return FALSE;
  find_sizes(one);
  return diagnose(library, one, error);
}

/* --- What one size is --- */

typedef struct {
  double expected_s, low_s, high_s;
  double measured_bus, expected_bus; /* GB/s */
  const char *judged;
} Size;

static Size size_of(const Compared *one, const OrrNcclMeasured *row) {
  Size size = {.expected_s = orr_nccl_curve_at(one->healthy, row->bytes)};
  const double factor = orr_collective_bus_factor(one->question.op, one->run->n_ranks);
  orr_nccl_diagnosis_band(one->healthy, row->bytes, &size.low_s, &size.high_s);
  size.measured_bus = factor * row->bytes / row->time_s / 1e9;
  size.expected_bus = factor * row->bytes / size.expected_s / 1e9;
  size.judged = row->time_s > size.high_s  ? "slow"
                : row->time_s < size.low_s ? "fast"
                                           : "as expected";
  return size;
}

static const char *const verdicts[] = {
    "as expected", "faster than expected: is this the machine's document?",
    "slow, and looks like one known fault", "slow, and looks like several known faults",
    "slow, and none of the known faults explains it"};

static const char *verdict_of(const OrrNcclDiagnosis *d) {
  const gboolean tried = d->verdict != ORR_NCCL_UNEXPLAINED || d->fits->len > 0;
  return tried ? verdicts[d->verdict] : "slow; no known fault was tried";
}

/* --- JSON --- */

static void add_fits(GString *out, const OrrNcclDiagnosis *d) {
  orr_json_write_array(out, "faults");
  ORR_EACH(const OrrNcclFit, fit, d->fits) {
    orr_json_write_element(out, "\n   ");
    orr_json_write_text(out, "fault", fit->fault->name);
    orr_json_write_text(out, "strength", fit->strength);
    orr_json_write_number(out, "misfit", fit->misfit);
    orr_json_write_bool(out, "explains", fit->explains);
    orr_json_write_bool(out, "likely", fit->is_likely);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  orr_json_write_texts(out, "not_visible", (char *const *)d->hidden->pdata, d->hidden->len);
  orr_json_write_texts(out, "not_replayed", (char *const *)d->refused->pdata, d->refused->len);
}

static void add_json(GString *out, const Compared *one) {
  const OrrNcclDiagnosis *d = one->diagnosis;
  orr_json_write_element(out, "\n ");
  orr_json_write_text(out, "op", one->run->op);
  orr_json_write_int(out, "ranks", one->run->n_ranks);
  orr_json_write_int(out, "nodes", one->question.nodes);
  orr_json_write_text(out, "verdict", orr_nccl_verdict_words[d->verdict]);
  ORR_JSON_NUMBERS(out, {"sizes", d->n}, {"slow", d->n_slow}, {"fast", d->n_fast},
                   {"misfit", d->misfit});
  orr_json_write_bool(out, "has_band", d->has_band);
  orr_json_write_array(out, "rows");
  for (guint i = 0; i < one->measured->len; i++) {
    const OrrNcclMeasured *row = row_at(one, i);
    const Size size = size_of(one, row);
    orr_json_write_element(out, "\n   ");
    ORR_JSON_NUMBERS(out, {"size_bytes", row->bytes}, {"time_s", row->time_s},
                     {"expected_s", size.expected_s}, {"low_s", size.low_s},
                     {"high_s", size.high_s}, {"busbw_gbps", size.measured_bus},
                     {"expected_busbw_gbps", size.expected_bus});
    orr_json_write_text(out, "judged", size.judged);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  add_fits(out, d);
  g_string_append_c(out, '}');
}

/* --- Text --- */

static void add_sizes(OrrPage *page, const Compared *one) {
  orr_page_add(page, "# %12s  %11s  %11s  %11s  %11s  %9s  %9s  %s\n", "size (B)", "measured us",
               "expected us", "from", "to", "busbw", "expected", "GB/s");
  for (guint i = 0; i < one->measured->len; i++) {
    const OrrNcclMeasured *row = row_at(one, i);
    const Size size = size_of(one, row);
    orr_page_add(page, "  %12.0f  %11.5g  %11.4g  %11.4g  %11.4g  %9.4g  %9.4g  %3.0f %%, %s\n",
                 row->bytes, row->time_s * 1e6, size.expected_s * 1e6, size.low_s * 1e6,
                 size.high_s * 1e6, size.measured_bus, size.expected_bus,
                 100 * size.measured_bus / size.expected_bus, size.judged);
  }
}

static void add_faults(OrrPage *page, const OrrNcclDiagnosis *d) {
  ORR_EACH_AT(i, const OrrNcclFit, fit, d->fits) {
    const gboolean is_shown = d->verdict == ORR_NCCL_UNEXPLAINED ? i < 3 : fit->is_likely;
    if (!is_shown) continue;
    orr_page_line(page, d->verdict == ORR_NCCL_UNEXPLAINED ? "nearest" : "looks like",
                  "%s%s%s (%s): misfit %.2g, of a healthy machine %.2g", fit->fault->sentence,
                  *fit->strength ? ", " : "", fit->strength, fit->fault->name, fit->misfit,
                  d->misfit);
    if (fit->is_likely) orr_page_line(page, "to check", "%s", fit->fault->check);
  }
  if (d->verdict == ORR_NCCL_AMBIGUOUS)
    orr_page_line(page, "",
                  "their curves differ by less than the log's noise: this log cannot tell which");
  if (d->hidden->len) {
    g_ptr_array_add(d->hidden, NULL);
    g_autofree char *names = g_strjoinv(", ", (char **)d->hidden->pdata);
    g_ptr_array_set_size(d->hidden, (gint)d->hidden->len - 1);
    orr_page_line(page, "not visible", "in this run: %s", names);
  }
  for (guint i = 0; i < d->refused->len; i++)
    orr_page_line(page, "not replayed", "%s", (char *)d->refused->pdata[i]);
}

static void print_text(const Compared *one) {
  g_autoptr(OrrPage) page = orr_page_new();
  const OrrNcclDiagnosis *d = one->diagnosis;
  const OrrNcclMeasured *last = row_at(one, one->measured->len - 1);
  const Size size = size_of(one, last);
  orr_page_add(page, "# %s, %s on %s of %s\n", one->run->op,
               orr_page_things(page, one->run->n_ranks, "rank"),
               orr_page_things(page, one->question.nodes, "node"), one->question.cluster);
  add_sizes(page, one);
  orr_page_line(page, "last size",
                "%s %s reaches %.4g GB/s bus bandwidth, %.0f %% of the %.4g that this "
                "machine should reach",
                orr_page_bytes(page, last->bytes), orr_collective_words[one->question.op],
                size.measured_bus, 100 * size.measured_bus / size.expected_bus, size.expected_bus);
  orr_page_line(page, "verdict", "%s (%u of %u sizes slow, %u fast)", verdict_of(d), d->n_slow,
                d->n, d->n_fast);
  if (d->verdict == ORR_NCCL_UNEXPLAINED && d->fits->len == 0)
    orr_page_line(page, "", "no fault was replayed: a curve has a shape from 3 sizes on");
  if (!d->has_band)
    orr_page_line(page, "", "no band: nothing measured is like it, so 25 %% either way are taken");
  add_faults(page, d);
  orr_page_print(page);
}

/* A run that cannot be compared is reported, and others go on. */
int orr_verb_import_compare_nccl(OrrLibrary *library, const GPtrArray *runs, const char *cluster,
                                 gboolean in_place, GError **error) {
  g_autoptr(GString) out = g_string_new("[");
  guint n_compared = 0;
  for (guint i = 0; i < runs->len; i++) {
    g_auto(Compared) one = {.run = runs->pdata[i]};
    g_autoptr(GError) reason = NULL;
    if (!compare(library, cluster, in_place, &one, &reason)) {
      orr_show_problem("%s over %u ranks is not compared: %s", one.run->op, one.run->n_ranks,
                       reason->message);
      continue;
    }
    n_compared++;
    if (orr_options.json)
      add_json(out, &one);
    else
      print_text(&one);
  }
  if (n_compared == 0)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "no test of the log can be compared") ? 0 : 2;
  if (orr_options.json) printf("%s]\n", out->str);
  return 0;
}

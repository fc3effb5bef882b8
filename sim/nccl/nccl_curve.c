/*
 * nccl_curve.c - makes the scenario of a question, and replays scenarios in children, which answer
 * with their points.
 */
#include "sim/nccl/nccl_diagnosis.h"

#include "sim/bands/band.h"
#include "sim/base/children.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/run/simulate.h"

void orr_nccl_curve_free(OrrNcclCurve *curve) {
  if (!curve) return;
  g_clear_error(&curve->error);
  g_clear_pointer(&curve->points, g_array_unref);
  g_free(curve);
}

/* A name as a YAML text in single quotes. Newly allocated. */
static char *quoted(const char *name) {
  g_auto(GStrv) parts = g_strsplit(name, "'", -1);
  g_autofree char *joined = g_strjoinv("''", parts);
  return g_strdup_printf("'%s'", joined);
}

static char *text_of(const OrrNcclCurveQuestion *q) {
  g_autofree char *cluster = quoted(q->cluster);
  g_autofree char *step =
      q->step_bytes > 0 ? g_strdup_printf("  step: %.0f B\n", q->step_bytes) : g_strdup("");
  g_autofree char *nodes = q->nodes > 0 ? g_strdup_printf(", nodes: %ld", q->nodes) : g_strdup("");
  return g_strdup_printf("schema: scenario/1\nname: nccl-tests\ncluster: {base: %s%s}\n"
                         "workload:\n  kind: collectives\n  collective: %s\n"
                         "  begin: %.0f B\n  end: %.0f B\n  factor: %.17g\n%s"
                         "  ranks: %ld\n  stride: %ld\n",
                         cluster, nodes, orr_collective_words[q->op], q->begin_bytes, q->end_bytes,
                         q->factor, step, q->ranks, q->stride);
}

static OrrNode *tree_of(const OrrNcclCurveQuestion *question, char *const *settings,
                        OrrDiags *diags, GError **error) {
  g_autofree char *text = text_of(question);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "the question", diags);
  if (!tree || !orr_settings_apply(&orr_scenario_table, tree, question->settings, error) ||
      !orr_settings_apply(&orr_scenario_table, tree, settings, error))
    return NULL;
  return g_steal_pointer(&tree);
}

OrrScenario *orr_nccl_curve_scenario(OrrLibrary *library, const OrrNcclCurveQuestion *question,
                                     char *const *settings, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) unset = NULL;
  g_autoptr(OrrNode) tree = tree_of(question, settings, diags, &unset);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  if (unset)
    g_propagate_error(error, g_steal_pointer(&unset));
  else if (!scenario)
    orr_diags_check(diags, error);
  return g_steal_pointer(&scenario);
}

static OrrNcclCurvePoint point_of(const OrrNcclTestRow *row) {
  OrrNcclCurvePoint point = {.bytes = (double)row->size_bytes,
                             .time_s = row->time_s,
                             .low_s = row->low_s,
                             .high_s = row->high_s,
                             .typical_s = row->expected_s,
                             .algbw_bytes_per_s = row->algbw_bytes_per_s,
                             .busbw_bytes_per_s = row->busbw_bytes_per_s};
  g_strlcpy(point.algorithm, row->algorithm, sizeof point.algorithm);
  g_strlcpy(point.protocol, row->protocol, sizeof point.protocol);
  g_strlcpy(point.how, row->how, sizeof point.how);
  return point;
}

typedef struct {
  OrrLibrary *library;
  const OrrNcclCurveOrder *orders;
} Replays;

static GBytes *work(guint index, void *user, GError **error) {
  const Replays *replays = user;
  const OrrNcclCurveOrder *order = &replays->orders[index];
  g_autoptr(OrrScenario) scenario =
      orr_nccl_curve_scenario(replays->library, order->question, order->settings, error);
  g_autoptr(OrrOutcome) outcome =
      scenario ? orr_simulate(replays->library, scenario, FALSE, error) : NULL;
  if (!outcome) return NULL;
  if (order->has_band) orr_bands_add(replays->library, scenario, outcome, ORR_BAND_LEVEL);
  g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(OrrNcclCurvePoint));
  ORR_EACH(OrrNcclTestRow, row, outcome->nccl_tests) {
    const OrrNcclCurvePoint point = point_of(row);
    g_array_append_val(points, point);
  }
  return g_bytes_new(points->data, points->len * sizeof(OrrNcclCurvePoint));
}

static OrrNcclCurve *curve_of(OrrChildAnswer *answer) {
  OrrNcclCurve *curve = g_new0(OrrNcclCurve, 1);
  curve->error = g_steal_pointer(&answer->error);
  if (!answer->bytes) return curve;
  gsize size = 0;
  const void *data = g_bytes_get_data(answer->bytes, &size);
  curve->points = g_array_new(FALSE, FALSE, sizeof(OrrNcclCurvePoint));
  g_array_append_vals(curve->points, data, (guint)(size / sizeof(OrrNcclCurvePoint)));
  return curve;
}

/* The profile and its tables are read once, before the children fork. */
static void warm(OrrLibrary *library, const OrrNcclCurveOrder *order) {
  g_autoptr(OrrScenario) scenario =
      orr_nccl_curve_scenario(library, order->question, order->settings, NULL);
  orr_run_world_warm(library, scenario);
}

GPtrArray *orr_nccl_curve_replay(OrrLibrary *library, const OrrNcclCurveOrder *orders, guint n,
                                 guint jobs) {
  Replays replays = {library, orders};
  const OrrChildren children = {.n = n, .jobs = jobs, .work = work, .user = &replays};
  GPtrArray *curves = g_ptr_array_new_with_free_func((GDestroyNotify)orr_nccl_curve_free);
  if (n > 1) warm(library, &orders[0]);
  g_autoptr(GPtrArray) answers = orr_children_run(&children);
  for (guint i = 0; i < answers->len; i++) g_ptr_array_add(curves, curve_of(answers->pdata[i]));
  return curves;
}

double orr_nccl_curve_at(const OrrNcclCurve *curve, double bytes) {
  const OrrNcclCurvePoint *points = (const OrrNcclCurvePoint *)(void *)curve->points->data;
  const guint n = curve->points->len;
  guint i = 0;
  while (i < n && points[i].bytes < bytes) i++;
  if (i == n) return points[n - 1].time_s * bytes / points[n - 1].bytes;
  if (i == 0 || points[i].bytes == bytes) return points[i].time_s;
  const double along =
      log(bytes / points[i - 1].bytes) / log(points[i].bytes / points[i - 1].bytes);
  return points[i - 1].time_s * pow(points[i].time_s / points[i - 1].time_s, along);
}

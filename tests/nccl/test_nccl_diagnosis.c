/*
 * test_nccl_diagnosis.c - healthy logs are as expected, logs of replayed faults are found among all
 * faults, and a curve that no fault has is said to be unexplained.
 */
#include "sim/nccl/nccl_diagnosis.h"

#include <math.h>
#include <string.h>

#include "sim/base/random.h"
#include "tests/run/shared_library.h"

typedef struct {
  OrrNcclCurveQuestion question;
  GArray *suspects;
  GPtrArray *curves;
  GPtrArray *healthy; /* one curve */
} Site;

static char *const split[] = {(char *)"cluster.max-nodes=0",
                              (char *)"cluster.fabric.nodes-per-group=2", NULL};

/* All curves of an all-reduce over @nodes nodes: two to a leaf, so that uplinks carry traffic. */
static Site *site_new(const char *cluster, gint64 nodes, OrrCollectiveOp op) {
  Site *site = g_new0(Site, 1);
  GError *error = NULL;
  site->question = (OrrNcclCurveQuestion){.cluster = cluster,
                                          .nodes = nodes,
                                          .ranks = nodes * 8,
                                          .stride = 1,
                                          .op = op,
                                          .begin_bytes = 8,
                                          .end_bytes = 8.0 * (1 << 30),
                                          .factor = 8,
                                          .settings = nodes > 1 ? split : NULL};
  g_autoptr(OrrScenario) scenario =
      orr_nccl_curve_scenario(shared_library(), &site->question, NULL, &error);
  g_assert_no_error(error);
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&scenario->cluster, 1, &error);
  g_assert_no_error(error);
  const OrrNcclSite place = {&scenario->cluster, fabric, &site->question};
  site->suspects = orr_nccl_faults_suspects(&place);
  site->curves = orr_nccl_diagnosis_replay(shared_library(), &site->question, site->suspects, 0);
  const OrrNcclCurveOrder order = {&site->question, NULL, TRUE};
  site->healthy = orr_nccl_curve_replay(shared_library(), &order, 1, 1);
  g_assert_no_error(((OrrNcclCurve *)site->healthy->pdata[0])->error);
  return site;
}

static const OrrNcclCurve *healthy_of(const Site *site) { return site->healthy->pdata[0]; }

static void site_free(Site *site) {
  g_array_unref(site->suspects);
  g_ptr_array_unref(site->curves);
  g_ptr_array_unref(site->healthy);
  g_free(site);
}

/* A log of @curve: times off by up to @noise either way. */
static GArray *log_of(const OrrNcclCurve *curve, double noise, guint64 seed) {
  GArray *measured = g_array_new(FALSE, FALSE, sizeof(OrrNcclMeasured));
  for (guint i = 0; i < curve->points->len; i++) {
    const OrrNcclCurvePoint *point = &g_array_index(curve->points, OrrNcclCurvePoint, i);
    const double u = (double)(orr_random_hash3(seed, i, 7) >> 11) / (double)(1ULL << 53);
    const OrrNcclMeasured row = {point->bytes, point->time_s * (1 + noise * (2 * u - 1))};
    g_array_append_val(measured, row);
  }
  return measured;
}

static OrrNcclDiagnosis *diagnose(const Site *site, const GArray *measured) {
  return orr_nccl_diagnosis_of(healthy_of(site), site->suspects, site->curves, measured);
}

static const OrrNcclFit *fit_of(const OrrNcclDiagnosis *diagnosis, const OrrNcclFault *fault) {
  for (guint i = 0; i < diagnosis->fits->len; i++) {
    const OrrNcclFit *fit = &g_array_index(diagnosis->fits, OrrNcclFit, i);
    if (fit->fault == fault) return fit;
  }
  return NULL;
}

/* Each suspect's own log, noise of 3 % in it: where it leaves the bands, the fault is among the
 * likely ones, and no fault fits better by more than noise. Returns the names of the faults that
 * left the bands. */
static GHashTable *find_each(const Site *site, guint *ret_alone) {
  GHashTable *found = g_hash_table_new(g_str_hash, g_str_equal);
  *ret_alone = 0;
  for (guint i = 0; i < site->suspects->len; i++) {
    const OrrNcclSuspect *suspect = &g_array_index(site->suspects, OrrNcclSuspect, i);
    const OrrNcclCurve *curve = site->curves->pdata[i];
    if (curve->error) {
      g_test_message("%s %s: %s", suspect->fault->name, suspect->strength, curve->error->message);
      continue;
    }
    g_autoptr(GArray) measured = log_of(curve, 0.03, i);
    g_autoptr(OrrNcclDiagnosis) diagnosis = diagnose(site, measured);
    if (diagnosis->verdict <= ORR_NCCL_FASTER) continue;
    const OrrNcclFit *fit = fit_of(diagnosis, suspect->fault);
    g_test_message("%s %s: %s, misfit %.3f of %.3f", suspect->fault->name, suspect->strength,
                   orr_nccl_verdict_words[diagnosis->verdict], fit ? fit->misfit : NAN,
                   diagnosis->misfit);
    g_assert_nonnull(fit);
    g_assert_true(fit->is_likely);
    g_assert_cmpfloat(fit->misfit, <=, 0.03);
    g_assert_cmpint(diagnosis->verdict, !=, ORR_NCCL_UNEXPLAINED);
    if (diagnosis->verdict == ORR_NCCL_EXPLAINED) *ret_alone += 1;
    g_hash_table_add(found, (gpointer)suspect->fault->name);
  }
  return found;
}

static void assert_found(GHashTable *found, const char *const *names) {
  for (guint i = 0; names[i]; i++)
    if (!g_hash_table_contains(found, names[i])) g_error("%s never left the bands", names[i]);
}

static void test_over_nodes(void) {
  static const char *const names[] = {"fewer-nics", "nic-missing", "no-gdr",    "pcie-width",
                                      "protocol",   "ring",        "slow-host", "slow-nic",
                                      "slow-rail",  "slow-uplink", "sockets",   NULL};
  Site *site = site_new("dgx-h100-superpod", 8, ORR_ALL_REDUCE);
  guint alone;
  g_autoptr(GHashTable) found = find_each(site, &alone);
  assert_found(found, names);
  g_assert_cmpuint(alone, >=, 10);
  site_free(site);
}

static void test_one_node(void) {
  static const char *const names[] = {"no-nvls", "no-nvlink", "protocol", "ring", "tree", NULL};
  Site *site = site_new("dgx-h100-superpod", 1, ORR_ALL_REDUCE);
  guint alone;
  g_autoptr(GHashTable) found = find_each(site, &alone);
  assert_found(found, names);
  for (guint i = 0; i < site->suspects->len; i++) /* no fault of the network */
    g_assert_null(strstr(g_array_index(site->suspects, OrrNcclSuspect, i).fault->name, "nic"));
  site_free(site);
}

/* The DGX A100 states its PCIe switches. */
static void test_all_to_all(void) {
  static const char *const names[] = {"no-gdr", "fewer-nics", "slow-nic", NULL};
  Site *site = site_new("dgx-a100-superpod", 4, ORR_ALL_TO_ALL);
  guint alone;
  g_autoptr(GHashTable) found = find_each(site, &alone);
  assert_found(found, names);
  site_free(site);
}

static OrrNcclVerdict verdict_of(const Site *site, double (*factor)(guint i)) {
  g_autoptr(GArray) measured = log_of(healthy_of(site), 0.03, 99);
  for (guint i = 0; i < measured->len; i++)
    g_array_index(measured, OrrNcclMeasured, i).time_s *= factor(i);
  g_autoptr(OrrNcclDiagnosis) diagnosis = diagnose(site, measured);
  return diagnosis->verdict;
}

static double same(guint i G_GNUC_UNUSED) { return 1.1; }
static double once(guint i) { return i == 3 ? 9 : 1.1; }
static double saw(guint i) { return i % 2 ? 6 : 1; }
static double fast(guint i G_GNUC_UNUSED) { return 0.5; }

static void test_verdicts(void) {
  Site *site = site_new("dgx-h100-superpod", 2, ORR_ALL_REDUCE);
  g_assert_cmpint(verdict_of(site, same), ==, ORR_NCCL_AS_EXPECTED);
  g_assert_cmpint(verdict_of(site, once), ==, ORR_NCCL_AS_EXPECTED);
  g_assert_cmpint(verdict_of(site, saw), ==, ORR_NCCL_UNEXPLAINED);
  g_assert_cmpint(verdict_of(site, fast), ==, ORR_NCCL_FASTER);
  for (guint64 seed = 0; seed < 20; seed++) {
    g_autoptr(GArray) measured = log_of(healthy_of(site), 0.05, seed);
    g_autoptr(OrrNcclDiagnosis) diagnosis = diagnose(site, measured);
    g_assert_cmpint(diagnosis->verdict, <=, ORR_NCCL_FASTER);
  }
  site_free(site);
}

/* Between (1, 1) and (4, 4) the line of logarithms is time = size; outside, the last rate and the
 * first time. */
static void test_between(void) {
  OrrNcclCurve curve = {.points = g_array_new(FALSE, FALSE, sizeof(OrrNcclCurvePoint))};
  const OrrNcclCurvePoint points[] = {{.bytes = 1, .time_s = 1}, {.bytes = 4, .time_s = 4}};
  g_array_append_vals(curve.points, points, 2);
  g_assert_cmpfloat_with_epsilon(orr_nccl_curve_at(&curve, 2), 2, 1e-12);
  g_assert_cmpfloat(orr_nccl_curve_at(&curve, 0.5), ==, 1);
  g_assert_cmpfloat(orr_nccl_curve_at(&curve, 8), ==, 8);
  g_array_unref(curve.points);
}

static void test_refused(void) {
  const OrrNcclCurveQuestion question = {.cluster = "no-such-machine",
                                         .ranks = 8,
                                         .stride = 1,
                                         .begin_bytes = 8,
                                         .end_bytes = 8,
                                         .factor = 2};
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_nccl_curve_scenario(shared_library(), &question, NULL, &error));
  g_assert_nonnull(strstr(error->message, "no-such-machine"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/nccl/curve/between", test_between);
  g_test_add_func("/nccl/curve/refused", test_refused);
  g_test_add_func("/nccl/diagnosis/all-to-all", test_all_to_all);
  g_test_add_func("/nccl/diagnosis/one-node", test_one_node);
  g_test_add_func("/nccl/diagnosis/over-nodes", test_over_nodes);
  g_test_add_func("/nccl/diagnosis/verdicts", test_verdicts);
  return g_test_run();
}

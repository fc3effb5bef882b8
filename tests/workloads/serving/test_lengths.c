/*
 * test_lengths.c - lengths as benchmark clients draw them: their limits, means and words.
 */
#include <string.h>

#include "sim/base/yaml.h"
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/lengths.h"

enum { N_DRAWS = 20000 };

/* The lengths that the text describes; *@ret_findings is NULL where nothing is wrong. */
static OrrLengths read_lengths(const char *text, char **ret_findings) {
  OrrLengths lengths;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "lengths", diags);
  g_assert_nonnull(node);
  orr_field_read(&orr_lengths_table, node, NULL, diags, &lengths);
  orr_lengths_check(&lengths, G_MAXINT32, "input", node->place, diags);
  *ret_findings = orr_diags_n_errors(diags) ? orr_diags_text(diags) : NULL;
  return lengths;
}

/* Both ends are drawn and nothing beyond them; @mean is the middle. 20,000 draws miss one of at
 * most 401 numbers with a probability of 2e-22; their mean's standard deviation is below 0.005
 * of the range. */
static void assert_range(const char *text, gint64 low, gint64 high) {
  g_autofree char *findings = NULL;
  const OrrLengths lengths = read_lengths(text, &findings);
  g_assert_cmpstr(findings, ==, NULL);
  OrrRandom random = orr_random_stream(1, "lengths");
  gint64 least = G_MAXINT64, most = 0;
  double sum = 0;
  for (int i = 0; i < N_DRAWS; i++) {
    const gint64 tokens = orr_lengths_draw(&lengths, &random);
    least = MIN(least, tokens);
    most = MAX(most, tokens);
    sum += (double)tokens;
  }
  g_assert_cmpint(least, ==, low);
  g_assert_cmpint(most, ==, high);
  g_assert_cmpint(orr_lengths_largest(&lengths), ==, high);
  g_assert_cmpfloat_with_epsilon(orr_lengths_mean(&lengths), (double)(low + high) / 2, 1e-9);
  g_assert_cmpfloat_with_epsilon(sum / N_DRAWS, (double)(low + high) / 2,
                                 0.01 * (double)(high - low) + 1e-9);
}

static void test_ranges(void) {
  assert_range("{kind: uniform, tokens: 1000, ratio: 0.2}", 800,
               1200); /* vLLM: [L (1 - r), L (1 + r)] */
  assert_range("{kind: uniform, tokens: 101, ratio: 0.25}", 75, 127); /* 75.75 down, 126.25 up */
  assert_range("{kind: uniform, tokens: 1000}", 1000, 1000);          /* vLLM's default is 0 */
  assert_range("{kind: uniform-up-to, tokens: 1000, ratio: 0.8}", 800,
               1000); /* SGLang, InferenceX: [r L, L] */
  assert_range("{kind: uniform-up-to, tokens: 100}", 1,
               100); /* SGLang's default is 0; no length is 0 */
  assert_range("{tokens: 7}", 7, 7);
}

/* What is drawn has the trace's mean within 3.5 %, and one draw in a hundred is above its 99th
 * percentile: of all requests of the published traces. Means of 20,000 draws scatter by 1.5 % at
 * most (outputs of azure-code, whose standard deviation is twice the mean). */
static void test_traces(void) {
  static const struct {
    const char *kind;
    double mean, p99;
  } rows[] = {{"azure-code-in", 2047.8, 7436},
              {"azure-code-out", 27.88, 251},
              {"azure-conversation-in", 1154.7, 4142},
              {"azure-conversation-out", 211.1, 601},
              {"mooncake-conversation-in", 12035, 85400},
              {"mooncake-conversation-out", 342.6, 1119}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *findings = NULL, *text = g_strdup_printf("{kind: %s}", rows[i].kind);
    const OrrLengths lengths = read_lengths(text, &findings);
    OrrRandom random = orr_random_stream(1, "lengths");
    double sum = 0, above = 0;
    for (int k = 0; k < N_DRAWS; k++) {
      const double tokens = (double)orr_lengths_draw(&lengths, &random);
      sum += tokens;
      above += tokens > rows[i].p99;
    }
    g_assert_cmpfloat_with_epsilon(orr_lengths_mean(&lengths) / rows[i].mean, 1, 0.035);
    g_assert_cmpfloat_with_epsilon(sum / N_DRAWS / rows[i].mean, 1, 0.05);
    g_assert_cmpfloat(above / N_DRAWS, <, 0.0125);
  }
}

/* Half of the draws of {100, 400, 800} lie below 400 and a tenth below 100 and above 800, within
 * four standard deviations of the counts, sqrt(20000 / 4) and sqrt(20000 * 0.09). The mean: 400
 * (exp(s^2 / 2) Phi(-s) + exp(t^2 / 2) Phi(t)), s = ln 4 / 1.28155 = 1.08172, t = ln 2 / 1.28155 =
 * 0.54086: 1.7952 * 0.13968 + 1.1575 * 0.70570 = 1.06759. With a mean of 854.07, twice that, all
 * double. */
static void test_percentiles(void) {
  g_autofree char *findings = NULL, *wrong = NULL;
  const char *texts[] = {"{kind: percentiles, p10: 100, p50: 400, p90: 800}",
                         "{kind: percentiles, p10: 100, p50: 400, p90: 800, mean: 854.07}"};
  for (int k = 0; k < 2; k++) {
    const OrrLengths lengths = read_lengths(texts[k], &findings);
    g_assert_cmpstr(findings, ==, NULL);
    OrrRandom random = orr_random_stream(1, "lengths");
    const double scale = k ? 2 : 1;
    int low = 0, half = 0, high = 0;
    for (int i = 0; i < N_DRAWS; i++) {
      const double tokens = (double)orr_lengths_draw(&lengths, &random);
      low += tokens < 100 * scale;
      half += tokens < 400 * scale;
      high += tokens > 800 * scale;
    }
    g_assert_cmpint(ABS(half - N_DRAWS / 2), <, 4 * 71);
    g_assert_cmpint(ABS(low - N_DRAWS / 10), <, 4 * 43);
    g_assert_cmpint(ABS(high - N_DRAWS / 10), <, 4 * 43);
    g_assert_cmpfloat_with_epsilon(orr_lengths_mean(&lengths), scale * 400 * 1.06759, 0.2);
  }
  read_lengths("{kind: percentiles, p10: 500, p50: 400, p90: 800}", &wrong);
  g_assert_nonnull(strstr(wrong, "p10 <= p50 <= p90"));
}

static void test_refused(void) {
  g_autofree char *findings = NULL, *at_one = NULL;
  read_lengths("{kind: uniform, tokens: 1000, ratio: 1}", &at_one);
  g_assert_nonnull(strstr(at_one, "ratio is 1"));
  g_assert_nonnull(strstr(at_one, "uniform-up-to"));
  read_lengths("{kind: uniform-up-to, tokens: 1000, ratio: 1}", &findings);
  g_assert_cmpstr(findings, ==, NULL);
}

/* The older word is read as the newer one, which is what a resolved document says. */
static void test_alias(void) {
  g_autofree char *findings = NULL, *schema = orr_field_json_schema(&orr_lengths_table, NULL);
  const OrrLengths lengths = read_lengths("{kind: fixed, tokens: 7}", &findings);
  g_assert_cmpstr(findings, ==, NULL);
  g_autoptr(OrrNode) dump = orr_field_dump(&orr_lengths_table, &lengths);
  g_assert_cmpstr(orr_node_get_text(dump, "kind"), ==, "constant");
  g_assert_nonnull(strstr(schema, "\"fixed\""));
}

static const OrrFieldTable table =
    ORR_FIELDS("load", "A load.", OrrLengths,
               {.name = "input", .kind = ORR_FIELD_SECTION, .table = &orr_lengths_table});

/* The lengths of a workload's member `input`, given as @text and then changed. */
static OrrLengths read_input(const char *text, const char *path, const char *value) {
  OrrLengths lengths;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "load", diags);
  if (path) g_assert_true(orr_field_set(&table, node, path, value, NULL));
  orr_field_read(&table, node, NULL, diags, &lengths);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  return lengths;
}

/* A plain number is a constant length; a key that is set next to it, or that a document lays over
 * it, keeps it. */
static void test_number(void) {
  const OrrLengths plain = read_input("input: 512", NULL, NULL);
  g_assert_cmpint(plain.kind, ==, read_input("input: {tokens: 512}", NULL, NULL).kind);
  g_assert_cmpint(plain.tokens, ==, 512);
  g_assert_cmpint(read_input("input: 1_000", "input.most", "2000").tokens, ==, 1000);
  g_assert_cmpint(read_input("input: {kind: normal, tokens: 9}", "input", "512").kind, ==,
                  plain.kind);
  g_assert_cmpint(read_input("input: {base: 512, most: 700}", NULL, NULL).tokens, ==, 512);
  g_assert_cmpint(read_input("input: {base: 512, tokens: 700}", NULL, NULL).tokens, ==, 700);
}

/* Exponential lengths of mean m that are limited to c have the mean m (1 - exp(-c / m)): of 1,000,
 * limited to 1,500, it is 776.9. Lognormal ones have m Phi(z - s) + c (1 - Phi(z)), where z is
 * (ln c - ln m + s^2 / 2) / s; half of a normal distribution's are cut to the mean, and lose
 * s m / sqrt(2 pi) on average. The document's limit counts as the caller's does. A trace's own
 * mean, and limits that nothing reaches, give no warning. */
static void test_cut(void) {
  static const struct {
    const char *text;
    gint64 room;
    const char *said;
  } rows[] = {{"{kind: exponential, tokens: 1000, most: 1500}", G_MAXINT32, "about 776.9"},
              {"{kind: exponential, tokens: 1000}", 1500, "about 776.9"},
              {"{kind: lognormal, tokens: 1000, sigma: 1, most: 500}", G_MAXINT32, "about 404.7"},
              {"{kind: lognormal, tokens: 1000, sigma: 1}", 2000, "about 809.4"},
              {"{kind: lognormal, tokens: 1000, sigma: 2, most: 3000}", G_MAXINT32, "about 508.1"},
              {"{kind: normal, tokens: 1000, sigma: 0.3}", 1000, "about 880."},
              {"{kind: exponential, tokens: 1000}", 100000, NULL},
              {"{kind: lognormal, tokens: 1000, sigma: 0.5}", 100000, NULL},
              {"{kind: lognormal, tokens: 20, sigma: 0.5}", G_MAXINT32, NULL},
              {"{kind: lognormal, tokens: 80, sigma: 0.1}", G_MAXINT32, NULL},
              {"{kind: azure-code-in, most: 1000}", G_MAXINT32, NULL}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrLengths lengths;
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) node = orr_yaml_parse(rows[i].text, strlen(rows[i].text), "lengths", diags);
    orr_field_read(&orr_lengths_table, node, NULL, diags, &lengths);
    orr_lengths_check(&lengths, rows[i].room, "input", node->place, diags);
    g_autofree char *text = orr_diags_text(diags);
    g_assert_cmpint(orr_diags_n_errors(diags), ==, 0);
    g_assert_cmpint(strstr(text, "limited to") != NULL, ==, rows[i].said != NULL);
    if (rows[i].said) g_assert_nonnull(strstr(text, rows[i].said));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/lengths/ranges", test_ranges);
  g_test_add_func("/lengths/traces", test_traces);
  g_test_add_func("/lengths/percentiles", test_percentiles);
  g_test_add_func("/lengths/refused", test_refused);
  g_test_add_func("/lengths/alias", test_alias);
  g_test_add_func("/lengths/number", test_number);
  g_test_add_func("/lengths/cut", test_cut);
  return g_test_run();
}

/*
 * test_expert_load.c - the fullest rank under each way that tokens spread over experts, against
 * closed forms.
 */
#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "tests/base/field_lint.h"
#include "workloads/expert_loads/expert_load.h"

extern const OrrExpertLoadKind orr_expert_load_histogram;

typedef struct {
  OrrChoice load;
} Sample;

static const OrrField fields[] = {
    {.name = "load",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(Sample, load),
     .sentence = "A load.",
     .registry = &orr_expert_load_registry},
};
static const OrrFieldTable table = ORR_FIELD_TABLE("sample", "A load.", Sample, fields);

static Sample read_load(const char *load) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = g_strdup_printf("load: %s\n", load);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "load.yaml", diags);
  Sample sample;
  g_assert_true(orr_field_read(&table, tree, NULL, diags, &sample));
  return sample;
}

static double fullest_within(double capacity, const char *load, gint64 experts, gint64 topk,
                             gint64 ep) {
  Sample sample = read_load(load);
  const double most = orr_expert_load_fullest(
      &sample.load,
      &(OrrExpertSpread){.experts = experts, .topk = topk, .ep = ep, .capacity = capacity}, 7);
  orr_field_clear(&table, &sample);
  return most;
}

static double fullest(const char *load, gint64 experts, gint64 topk, gint64 ep) {
  return fullest_within(0, load, experts, topk, ep);
}

/* With an expert a rank the fullest one has the largest share: 1 of 8 times 8; of Zipf's law 8 /
 * (1 + 1/2 + ... + 1/8) = 8 / 2.717857 = 2.943495; of counts 6 of 12 over four experts: 2. */
static void test_an_expert_a_rank(void) {
  g_assert_cmpfloat_with_epsilon(fullest("balanced", 8, 1, 8), 1, 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest("zipf", 8, 1, 8), 2.943495, 1e-6);
  g_assert_cmpfloat_with_epsilon(fullest("{kind: zipf, exponent: 0}", 8, 1, 8), 1, 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest("{kind: histogram, counts: [1, 6, 2, 3]}", 4, 1, 4), 2,
                                 1e-12);
}

/* A token has an expert once: of topk 2 none has more than half of the pairs, 8 / 2 = 4 balanced
 * shares. */
static void test_cap(void) {
  g_assert_cmpfloat_with_epsilon(fullest("{kind: zipf, exponent: 4}", 8, 2, 8), 4, 1e-9);
  g_assert_cmpfloat_with_epsilon(fullest("{kind: histogram, counts: [1, 0, 0, 0]}", 4, 1, 4), 4,
                                 1e-9);
  /* half of the pairs, and the other half evenly over experts without tokens: 4 / 2 = 2 */
  g_assert_cmpfloat_with_epsilon(fullest("{kind: histogram, counts: [1, 0, 0, 0]}", 4, 2, 4), 2,
                                 1e-9);
}

/* Counts 6, 3, 2, 1 over four experts are 2, 1, 2/3, 1/3 balanced shares. A capacity of 1.5 cuts
 * the first to that, one of 1 to 1, one of 0.25 all of them; one of 2 nothing. On one rank the
 * sum is left: 1.5 + 1 + 2/3 + 1/3 = 3.5 of 4. */
static void test_capacity(void) {
  const char *counts = "{kind: histogram, counts: [6, 3, 2, 1]}";
  g_assert_cmpfloat_with_epsilon(fullest_within(1.5, counts, 4, 1, 4), 1.5, 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest_within(1, counts, 4, 1, 4), 1, 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest_within(0.25, counts, 4, 1, 4), 0.25, 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest_within(2, counts, 4, 1, 4), fullest(counts, 4, 1, 4),
                                 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest_within(1.5, counts, 4, 1, 1), 3.5 / 4, 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest_within(0.5, "balanced", 8, 2, 4), 0.5, 1e-12);
}

/* Two experts per rank of four: one wanted expert is on one of two ranks, 2. Two of them are on the
 * same rank in 1 of 3 placements (2), else each on its own (1): 4/3 in the mean, estimated from 256
 * draws whose mean has a deviation of 0.03. */
static void test_several_a_rank(void) {
  g_assert_cmpfloat_with_epsilon(fullest("{kind: histogram, counts: [1, 0, 0, 0]}", 4, 1, 2), 2,
                                 1e-9);
  g_assert_cmpfloat_with_epsilon(fullest("{kind: histogram, counts: [1, 1, 0, 0]}", 4, 1, 2),
                                 4.0 / 3, 0.12);
  g_assert_cmpfloat(fullest("zipf", 64, 4, 1), ==, 1);
  double before = fullest("zipf", 64, 4, 64);
  for (gint64 ep = 32; ep > 1; ep /= 2) { /* more experts on a rank even out */
    const double more = fullest("zipf", 64, 4, ep);
    g_assert_cmpfloat(more, <, before);
    g_assert_cmpfloat(more, >, 1);
    before = more;
  }
}

static double fullest_of(const char *load, OrrExpertSpread spread) {
  Sample sample = read_load(load);
  const double most = orr_expert_load_fullest(&sample.load, &spread, 7);
  orr_field_clear(&table, &sample);
  return most;
}

/* Copies share an expert's tokens: counts 6, 2, 2, 2 over four ranks are 2 balanced shares for
 * the first. Of four copies more three go to it (3, 2, 1.5 each) and one to another (1 each);
 * packed, two slots a rank, that is 2 + 1, 2 + 1, 1.5 + 1.5 and 1.5 + 1.5 of 12: 1. Drawn, at worst
 * 2 + 2. */
static void test_redundant(void) {
  const char *counts = "{kind: histogram, counts: [6, 2, 2, 2]}";
  const OrrExpertSpread plain = {.experts = 4, .topk = 1, .ep = 4};
  OrrExpertSpread copies = plain;
  copies.redundant = 4;
  copies.packed = TRUE;
  g_assert_cmpfloat_with_epsilon(fullest_of(counts, plain), 2, 1e-12);
  g_assert_cmpfloat_with_epsilon(fullest_of(counts, copies), 1, 1e-12);
  copies.packed = FALSE;
  g_assert_cmpfloat(fullest_of(counts, copies), >, 1);
  g_assert_cmpfloat(fullest_of(counts, copies), <=, 4.0 / 3 + 1e-12);
}

/* Packing alone cannot split the largest expert, and is within 4/3 - 1 / (3 ep) of the best (Graham
 * 1969), whose fullest rank has at least 1 and at least the largest slot. */
static void test_packed(void) {
  OrrExpertSpread spread = {.experts = 256, .topk = 8, .ep = 32, .packed = TRUE};
  const OrrExpertSpread one_each = {.experts = 256, .topk = 8, .ep = 256};
  const double largest = fullest_of("lognormal", one_each) / 8;
  const double packed = fullest_of("lognormal", spread);
  g_assert_cmpfloat(packed, >=, MAX(1, largest) - 1e-9);
  g_assert_cmpfloat(packed, <=, MAX(1, largest) * (4.0 / 3 - 1.0 / 96) + 1e-9);
  spread.redundant = 32;
  g_assert_cmpfloat(fullest_of("lognormal", spread), <, packed);
  spread.packed = FALSE;
  g_assert_cmpfloat(fullest_of("lognormal", spread), >, 1.1);
}

/* A lognormal of spread 1: with a rank per expert the fullest has exp(q) over the mean of all
 * quantiles' exp, q = 2.8856 the normal quantile at 255.5 / 256: 17.915 / 1.6381 = 10.936. The
 * first of two ranks draws 128 of 256 experts without return: a nearly normal sum with the
 * deviation of an expert times sqrt(128 * 128 / 255), so the fuller of the two has 1 + cv sqrt(2 /
 * pi / 255) in the mean. Measured of DeepSeek-R1 (lognormal.c): 11.9 for an expert, 2.56 for one of
 * 32 ranks, 1.11 packed with 32 copies, which has the draws of a step's tokens too. */
static void test_lognormal(void) {
  OrrExpertSpread spread = {.experts = 256, .topk = 8, .ep = 256};
  const double one = fullest_of("lognormal", spread);
  g_assert_cmpfloat_with_epsilon(one, 10.936, 0.001);
  g_assert_cmpfloat_with_epsilon(one, 11.9, 0.1 * 11.9);
  g_assert_cmpfloat_with_epsilon(fullest_of("{kind: lognormal, spread: 0}", spread), 1, 1e-9);
  spread.ep = 2;
  const double cv = sqrt(exp(1) - 1);
  g_assert_cmpfloat_with_epsilon(fullest_of("lognormal", spread), 1 + cv * sqrt(2 / G_PI / 255),
                                 0.01);
  spread.ep = 32;
  g_assert_cmpfloat_with_epsilon(fullest_of("lognormal", spread), 2.56, 0.15 * 2.56);
  spread.redundant = 32;
  spread.packed = TRUE;
  g_assert_cmpfloat(fullest_of("lognormal", spread), <, 1.109);
}

/* The same seed, the same draws; the order of a histogram's counts does not matter but for them. */
static void test_seed(void) {
  Sample sample = read_load("zipf");
  const OrrExpertSpread spread = {.experts = 64, .topk = 4, .ep = 8};
  const double first = orr_expert_load_fullest(&sample.load, &spread, 1);
  g_assert_cmpfloat(first, ==, orr_expert_load_fullest(&sample.load, &spread, 1));
  g_assert_cmpfloat_with_epsilon(first, orr_expert_load_fullest(&sample.load, &spread, 2),
                                 0.05 * first);
  orr_field_clear(&table, &sample);
}

static void test_tables(void) {
  g_autofree char *finding = orr_field_lint(&table);
  g_assert_cmpstr(finding, ==, NULL);
}

/* Of two layers the counts follow each other: one is even, the other gives half to one of four, so
 * its fullest rank has twice the mean, and the mean over layers is 1.5. */
static void test_layers(void) {
  const char *two = "{kind: histogram, counts: [5, 5, 5, 5, 1, 6, 2, 3]}";
  g_assert_cmpfloat_with_epsilon(fullest(two, 4, 1, 4), 1.5, 1e-12);
  Sample sample = read_load("{kind: histogram, counts: [1, 2, 3, 4, 5, 6]}");
  g_autofree char *odd = orr_expert_load_histogram.refuse(sample.load.params, 4);
  g_assert_nonnull(strstr(odd, "histogram has 6 counts, but the model has 4 experts"));
  orr_field_clear(&table, &sample);
  sample = read_load("{kind: histogram, counts: [1, 2, 3, 4, 0, 0, 0, 0]}");
  g_autofree char *none = orr_expert_load_histogram.refuse(sample.load.params, 4);
  g_assert_nonnull(strstr(none, "the counts of a layer are all 0"));
  orr_field_clear(&table, &sample);
}

/* A plan that is always new packs exactly; one that is old beyond all correlation is as good as a
 * drawn placement; between the two the fullest rank grows with the interval. Of 64 experts without
 * copies over 8 ranks, a rank of such an old plan has one in eight of its eight experts already, so
 * it receives seven on average, and the rank with most receives more, but no more than eight. */
static void test_drift(void) {
  Sample sample = read_load("lognormal");
  OrrExpertSpread spread = {.experts = 64, .topk = 1, .ep = 8};
  const double drawn = orr_expert_load_fullest(&sample.load, &spread, 7);
  spread.packed = TRUE;
  const double exact = orr_expert_load_fullest(&sample.load, &spread, 7);
  g_assert_cmpfloat(orr_expert_load_moved(&sample.load, &spread, 7), ==, 0);
  spread.aging = 1e-9;
  g_assert_cmpfloat_with_epsilon(orr_expert_load_fullest(&sample.load, &spread, 7), exact, 1e-3);
  double before = exact;
  for (double aging = 0.03; aging < 3; aging *= 4) {
    spread.aging = aging;
    const double aged = orr_expert_load_fullest(&sample.load, &spread, 7);
    g_assert_cmpfloat(aged, >, before);
    before = aged;
  }
  spread.aging = 1e6;
  g_assert_cmpfloat(fabs(orr_expert_load_fullest(&sample.load, &spread, 7) / drawn - 1), <, 0.03);
  const double moved = orr_expert_load_moved(&sample.load, &spread, 7);
  g_assert_cmpfloat(moved, >, 7);
  g_assert_cmpfloat(moved, <=, 8);
  orr_field_clear(&table, &sample);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/expert-load/an-expert-a-rank", test_an_expert_a_rank);
  g_test_add_func("/expert-load/cap", test_cap);
  g_test_add_func("/expert-load/capacity", test_capacity);
  g_test_add_func("/expert-load/several-a-rank", test_several_a_rank);
  g_test_add_func("/expert-load/redundant", test_redundant);
  g_test_add_func("/expert-load/packed", test_packed);
  g_test_add_func("/expert-load/lognormal", test_lognormal);
  g_test_add_func("/expert-load/seed", test_seed);
  g_test_add_func("/expert-load/tables", test_tables);
  g_test_add_func("/expert-load/layers", test_layers);
  g_test_add_func("/expert-load/drift", test_drift);
  return g_test_run();
}

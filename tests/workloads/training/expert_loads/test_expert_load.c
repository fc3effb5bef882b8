/*
 * test_expert_load.c - the fullest rank under each way that tokens spread over experts, against
 * closed forms.
 */
#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "workloads/training/expert_loads/expert_load.h"

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
  const double most =
      orr_expert_load_fullest(&sample.load, &(OrrExpertSpread){experts, topk, ep, capacity}, 7);
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

/* The same seed, the same draws; the order of a histogram's counts does not matter but for them. */
static void test_seed(void) {
  Sample sample = read_load("zipf");
  const OrrExpertSpread spread = {64, 4, 8, 0};
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

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/expert-load/an-expert-a-rank", test_an_expert_a_rank);
  g_test_add_func("/expert-load/cap", test_cap);
  g_test_add_func("/expert-load/capacity", test_capacity);
  g_test_add_func("/expert-load/several-a-rank", test_several_a_rank);
  g_test_add_func("/expert-load/seed", test_seed);
  g_test_add_func("/expert-load/tables", test_tables);
  return g_test_run();
}

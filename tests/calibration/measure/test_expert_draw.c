/*
 * test_expert_draw.c - the experts that tokens choose in a measured layer: loads that add up, no
 * expert twice for a token, and the fullest rank.
 */
#include <math.h>

#include "calibration/measure/expert_draw.h"

static gint64 sum_of(const gint64 *loads, gint64 n) {
  gint64 sum = 0;
  for (gint64 i = 0; i < n; i++) sum += loads[i];
  return sum;
}

/* Layers of family_moe_ffn.c: tokens * topk in all, none above the tokens, falling. */
static void test_loads_add_up(void) {
  static const gint64 layers[][2] = {{2, 8}, {8, 128}, {8, 256}, {4, 128}, {1, 1}, {3, 3}};
  for (guint l = 0; l < G_N_ELEMENTS(layers); l++)
    for (gint64 tokens = 1; tokens <= 65536; tokens *= 4) {
      gint64 loads[256];
      orr_expert_draw_loads(tokens, layers[l][0], layers[l][1], loads);
      g_assert_cmpint(sum_of(loads, layers[l][1]), ==, tokens * layers[l][0]);
      for (gint64 e = 0; e < layers[l][1]; e++) {
        g_assert_cmpint(loads[e], <=, tokens);
        g_assert_cmpint(loads[e], >=, 0);
        g_assert_true(e == 0 || loads[e] <= loads[e - 1] + 1); /* rounded sums may differ by one */
      }
    }
}

/* Q(u) of the header by the midpoint rule, 1000 points an expert: 4096 tokens, top 8 of 128. */
static void test_loads_follow_the_law(void) {
  const gint64 tokens = 4096, topk = 8, n = 128;
  const double low = 1, high = 0.8 * 4096, start = pow(low, -0.2), slope = pow(high, -0.2) - start;
  double shares[128], sum = 0;
  gint64 loads[128];
  for (int e = 0; e < n; e++) {
    shares[e] = 0;
    for (int i = 0; i < 1000; i++)
      shares[e] += pow(slope * ((n - 1 - e) + (i + 0.5) / 1000) / (double)n + start, -5);
    sum += shares[e];
  }
  orr_expert_draw_loads(tokens, topk, n, loads);
  const double scale = (double)(tokens * topk) / sum;
  g_assert_cmpfloat(shares[0] * scale, >,
                    5 * 4096.0 * 8 / 128); /* it is a skewed law: the fullest has 5 means */
  for (int e = 0; e < n; e++)
    g_assert_cmpfloat(fabs((double)loads[e] - fmin(shares[e] * scale, (double)tokens)), <=,
                      1.01 + 1e-3 * loads[e]);
}

static void test_choices_are_distinct(void) {
  const gint64 tokens = 64, topk = 8, n = 128;
  gint32 chosen[64 * 8];
  for (int is_balanced = 0; is_balanced < 2; is_balanced++) {
    orr_expert_draw(tokens, topk, n, is_balanced, 7, chosen);
    for (gint64 t = 0; t < tokens; t++)
      for (gint64 j = 0; j < topk; j++) {
        g_assert_true(chosen[t * topk + j] >= 0 && chosen[t * topk + j] < n);
        for (gint64 i = 0; i < j; i++)
          g_assert_cmpint(chosen[t * topk + i], !=, chosen[t * topk + j]);
      }
  }
}

/* The rank that is measured is the one with the most tokens, not the first: over 40 seeds, and
 * its load is a quarter or more above the mean of 512 * 8 / 16 = 256 choices a rank. */
static void test_fullest_rank(void) {
  const gint64 tokens = 512, topk = 8, n = 256, per_rank = 16;
  g_autofree gint32 *chosen = g_new(gint32, tokens * topk);
  guint n_first = 0;
  for (guint64 seed = 0; seed < 40; seed++) {
    gint64 counts[16] = {0};
    orr_expert_draw(tokens, topk, n, FALSE, seed, chosen);
    const gint64 first = orr_expert_draw_fullest(chosen, tokens * topk, n, per_rank);
    for (gint64 i = 0; i < tokens * topk; i++) counts[chosen[i] / per_rank]++;
    for (int rank = 0; rank < 16; rank++)
      g_assert_cmpint(counts[first / per_rank], >=, counts[rank]);
    g_assert_cmpint(first % per_rank, ==, 0);
    g_assert_cmpint(counts[first / per_rank], >=, 320);
    n_first += first == 0;
  }
  g_assert_cmpuint(n_first, <, 20); /* about 1 in 16 */
}

/* The layers of family_moe_ffn.c at any number of tokens: the fullest rank has its mean, rounded
 * up to whole choices; at one token and 8 of 128 experts on 8 ranks that is one. */
static void test_balanced(void) {
  static const gint64 layers[][3] = {{2, 8, 8},   {8, 128, 1},  {8, 128, 8},
                                     {8, 256, 8}, {8, 256, 32}, {4, 128, 8}};
  g_autofree gint32 *chosen = g_new(gint32, 4096 * 8);
  for (guint l = 0; l < G_N_ELEMENTS(layers); l++)
    for (gint64 tokens = 1; tokens <= 4096; tokens *= 2) {
      const gint64 topk = layers[l][0], n = layers[l][1], ep = layers[l][2], total = tokens * topk;
      gint64 most = 0, counts[32] = {0};
      orr_expert_draw(tokens, topk, n, TRUE, 1, chosen);
      for (gint64 i = 0; i < total; i++) counts[chosen[i] / (n / ep)]++;
      for (gint64 rank = 0; rank < ep; rank++) most = MAX(most, counts[rank]);
      g_assert_cmpint(most, ==, MAX((total + ep - 1) / ep, 1));
    }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/expert-draw/loads-add-up", test_loads_add_up);
  g_test_add_func("/measure/expert-draw/loads-follow-the-law", test_loads_follow_the_law);
  g_test_add_func("/measure/expert-draw/choices-are-distinct", test_choices_are_distinct);
  g_test_add_func("/measure/expert-draw/fullest-rank", test_fullest_rank);
  g_test_add_func("/measure/expert-draw/balanced", test_balanced);
  return g_test_run();
}

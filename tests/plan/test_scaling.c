/*
 * test_scaling.c - losses, the best size and scaled models against figures worked out by hand.
 */
#include <glib.h>
#include <math.h>

#include "sim/base/fault.h"
#include "sim/plan/plan.h"
#include "tests/run/shared_library.h"

static const OrrScalingLaw *law_of(const char *name) {
  g_autoptr(GError) error = NULL;
  const OrrScalingLaw *law = orr_scaling_law(name, &error);
  g_assert_no_error(error);
  return law;
}

static void near(double got, double wanted, double within) {
  g_assert_cmpfloat_with_epsilon(got, wanted, within * fabs(wanted));
}

/* Chinchilla, 70B on 1.4T tokens: 70e9^0.34 = 4,868, 1.4e12^0.28 = 2,517: 1.69 + 406.4/4,868 +
 * 410.7/2,517 = 1.9366. */
static void test_loss(void) {
  near(orr_scaling_loss(law_of("hoffmann-2022"), 70e9, 1.4e12, INFINITY), 1.9366, 1e-4);
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_scaling_law("chinchilla", &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_nonnull(strstr(error->message, "besiroglu-2024, hoffmann-2022, muennighoff-2023"));
}

/* Four passes over U tokens: three repetitions are worth 15.39 (1 - exp(-3/15.39)) = 2.7262 U, so
 * 3.7262 U. For a model smaller than the best one of U tokens only the tokens decay. */
static void test_repeats(void) {
  const OrrScalingLaw *law = law_of("muennighoff-2023");
  const double four = orr_scaling_loss(law, 1e6, 4e9, 1e9);
  near(four, 1.87 + 521 / pow(1e6, 0.353) + 1488 / pow(3.7262e9, 0.353), 1e-5);
  g_assert_cmpfloat(four, >, orr_scaling_loss(law, 1e6, 4e9, INFINITY));
  near(orr_scaling_loss(law, 1e6, 1e9, 1e9), orr_scaling_loss(law, 1e6, 1e9, INFINITY), 1e-15);
  /* a model of twice the best size for U: one repetition of parameters, 5.31 (1 - exp(-1/5.31)) */
  const double best = orr_scaling_parameters(law, 1e9), worth = 1 + 5.31 * (1 - exp(-1 / 5.31));
  near(orr_scaling_loss(law, 2 * best, 1e9, 1e9),
       1.87 + 521 / pow(best * worth, 0.353) + 1488 / pow(1e9, 0.353), 1e-12);
}

/* Sizes that all reach the same FLOP/s: the closed form gives the best one. A machine on which
 * large models run at half the rate takes a smaller one. */
static void test_best(void) {
  enum { N = 9 };
  const double flops_per_s = 1e18, seconds = 1e6;
  OrrScalingSpeed speeds[N];
  for (guint i = 0; i < N; i++)
    speeds[i] = (OrrScalingSpeed){1e9 * pow(2, i), flops_per_s / (6e9 * pow(2, i))};
  static const char *const names[] = {"besiroglu-2024", "hoffmann-2022"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    const OrrScalingLaw *law = law_of(names[i]);
    double tokens;
    const double best = orr_scaling_best(law, speeds, N, seconds, INFINITY, &tokens);
    near(best, orr_scaling_parameters_of_flops(law, flops_per_s * seconds), 2e-3);
    near(best, orr_scaling_parameters(law, tokens), 1e-2);
    near(6 * best * tokens, flops_per_s * seconds, 1e-9);
    OrrScalingSpeed slower[N];
    for (guint k = 0; k < N; k++)
      slower[k] = (OrrScalingSpeed){speeds[k].parameters,
                                    speeds[k].tokens_per_s * pow(speeds[k].parameters, -0.2)};
    g_assert_cmpfloat(orr_scaling_best(law, slower, N, seconds * pow(best, 0.2), INFINITY, &tokens),
                      <, 0.9 * best);
  }
  double tokens;
  near(orr_scaling_best(law_of(names[0]), speeds, 1, seconds, INFINITY, &tokens), 1e9, 1e-15);
}

static void test_tokens(void) {
  const OrrScalingLaw *law = law_of("hoffmann-2022");
  const double loss = orr_scaling_loss(law, 7e9, 1e12, INFINITY);
  near(orr_scaling_tokens(law, 7e9, loss, INFINITY), 1e12, 1e-9);
  g_assert_true(isinf(orr_scaling_tokens(law, 7e9, 1.6, INFINITY))); /* below E */
  const OrrScalingLaw *repeats = law_of("muennighoff-2023");
  const double most = orr_scaling_loss(repeats, 1e8, 1e30, 1e9);
  g_assert_true(isinf(orr_scaling_tokens(repeats, 1e8, most * 0.999, 1e9)));
}

/* Twice Llama 3.1 8B: 64 layers of 2 * 8192^2 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192 =
 * 855,654,400, and 2 * 128,256 * 8192 + 8192. */
static void test_scaled(void) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  double parameters;
  g_autofree char *twice = orr_plan_scaled_model(library, "llama-3.1-8b", 2, &parameters, &error);
  g_assert_no_error(error);
  near(parameters, 64 * 855654400. + 2101346304 + 8192, 1e-15);
  g_assert_cmpstr(twice, ==,
                  "{base: llama-3.1-8b, name: \"llama-3.1-8b x 2\", layers: 64, hidden: 8192, "
                  "heads: 64, kv-heads: 8, head-dim: 128, ffn: 28672, parameters: 56863236096}");
  static const struct {
    const char *model, *why;
  } refused[] = {{"mixtral-8x7b", "experts"},
                 {"qwen3-next-80b-a3b", "experts"},
                 {"nemotron-h-8b", "several kinds"},
                 {"nope", "unknown model"}};
  for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_autoptr(GError) reason = NULL;
    g_assert_null(orr_plan_scaled_model(library, refused[i].model, 2, &parameters, &reason));
    g_assert_nonnull(strstr(reason->message, refused[i].why));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/scaling/loss", test_loss);
  g_test_add_func("/scaling/repeats", test_repeats);
  g_test_add_func("/scaling/best", test_best);
  g_test_add_func("/scaling/tokens", test_tokens);
  g_test_add_func("/scaling/scaled", test_scaled);
  return g_test_run();
}

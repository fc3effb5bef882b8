/*
 * scaling.c - the laws, and sizes that follow from them (plan.h).
 */
#include "sim/plan/plan.h"

/* Alphabetical. */
static const OrrScalingLaw laws[] = {
    {.name = "besiroglu-2024",
     .source = "Besiroglu et al. 2024, arXiv 2404.10102: Hoffmann's runs, fitted again",
     .e = 1.8172,
     .a = 482.01,
     .alpha = 0.3478,
     .b = 2085.43,
     .beta = 0.3658,
     .most_parameters = 16e9},
    {.name = "hoffmann-2022",
     .source = "Hoffmann et al. 2022, arXiv 2203.15556, eq. 10",
     .e = 1.69,
     .a = 406.4,
     .alpha = 0.34,
     .b = 410.7,
     .beta = 0.28,
     .most_parameters = 16e9},
    {.name = "muennighoff-2023",
     .source =
         "Muennighoff et al. 2023, arXiv 2305.16264, appendix A: C4, repeated up to 1,500 times",
     .e = 1.87,
     .a = 521,
     .alpha = 0.353,
     .b = 1488,
     .beta = 0.353,
     .token_repeats = 15.39,
     .parameter_repeats = 5.31,
     .most_parameters = 8.7e9},
};

/* "besiroglu-2024, hoffmann-2022, ...": newly allocated. */
static char *scaling_law_names(void) {
  GString *names = g_string_new(laws[0].name);
  for (guint i = 1; i < G_N_ELEMENTS(laws); i++)
    g_string_append_printf(names, ", %s", laws[i].name);
  return g_string_free(names, FALSE);
}

const OrrScalingLaw *orr_scaling_law(const char *name, GError **error) {
  for (guint i = 0; i < G_N_ELEMENTS(laws); i++)
    if (g_str_equal(laws[i].name, name)) return &laws[i];
  g_autofree char *names = scaling_law_names();
  return orr_fault_null(error, ORR_FAULT_USAGE, "unknown scaling law '%s' (allowed: %s)", name,
                        names);
}

double orr_scaling_parameters(const OrrScalingLaw *law, double tokens) {
  const double a = law->alpha * law->a, b = law->beta * law->b;
  return pow(a / b, 1 / law->alpha) * pow(tokens, law->beta / law->alpha);
}

double orr_scaling_parameters_of_flops(const OrrScalingLaw *law, double flops) {
  const double both = law->alpha + law->beta;
  const double g = pow(law->alpha * law->a / (law->beta * law->b), 1 / both);
  return g * pow(flops / 6, law->beta / both);
}

/* What @whole is worth: @unique are new, and the rest decays with @repeats. */
static double worth(double whole, double unique, double repeats) {
  if (repeats == 0 || whole <= unique) return whole;
  return unique + unique * repeats * (1 - exp(-(whole / unique - 1) / repeats));
}

double orr_scaling_loss(const OrrScalingLaw *law, double parameters, double tokens, double unique) {
  const double seen = fmin(tokens, unique);
  const double n = worth(parameters, orr_scaling_parameters(law, seen), law->parameter_repeats);
  const double d = worth(tokens, seen, law->token_repeats);
  return law->e + law->a / pow(n, law->alpha) + law->b / pow(d, law->beta);
}

double orr_scaling_tokens(const OrrScalingLaw *law, double parameters, double loss, double unique) {
  double low = 0, high = 60; /* exponents of 10 */
  if (orr_scaling_loss(law, parameters, pow(10, high), unique) > loss) return INFINITY;
  for (int i = 0; i < 200; i++) {
    const double middle = (low + high) / 2;
    if (orr_scaling_loss(law, parameters, pow(10, middle), unique) > loss)
      low = middle;
    else
      high = middle;
  }
  return pow(10, high);
}

/* On the line between the two speeds that enclose @parameters, in logarithms. */
static double speed_at(const OrrScalingSpeed *speeds, guint n, double parameters) {
  guint i = 1;
  while (i + 1 < n && speeds[i].parameters < parameters) i++;
  const OrrScalingSpeed *a = &speeds[i - 1], *b = &speeds[i];
  const double at = log(parameters / a->parameters) / log(b->parameters / a->parameters);
  return a->tokens_per_s * pow(b->tokens_per_s / a->tokens_per_s, at);
}

double orr_scaling_best(const OrrScalingLaw *law, const OrrScalingSpeed *speeds, guint n,
                        double seconds, double unique, double *ret_tokens) {
  enum { STEPS = 2000 };
  const double first = speeds[0].parameters, ratio = speeds[n - 1].parameters / first;
  double best = first, least = INFINITY;
  *ret_tokens = speeds[0].tokens_per_s * seconds;
  for (int i = 0; n > 1 && i <= STEPS; i++) {
    const double parameters = first * pow(ratio, (double)i / STEPS);
    const double tokens = speed_at(speeds, n, parameters) * seconds;
    const double loss = orr_scaling_loss(law, parameters, tokens, unique);
    if (loss >= least) continue;
    least = loss;
    best = parameters;
    *ret_tokens = tokens;
  }
  return best;
}

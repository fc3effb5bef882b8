/*
 * lengths.c - draws lengths from a distribution or from the quantiles of published traces.
 *
 * Quantiles of traces at 0, 5, ... 95 %, and of the tail at 96, 97, 98, 99, 99.5, 99.9 and 100 %;
 * between two quantiles the length is linear. Their means are 3 % above (outputs of azure-code) to
 * 0.7 % below the means of all requests.
 *   azure-conversation, azure-code   Azure LLM inference traces 2023 (CC-BY-4.0; Patel et al.,
 *                                    Splitwise, ISCA 2024): 19,366 and 8,819 requests of 2023-11-16
 *   mooncake-conversation            Mooncake FAST'25 conversation trace (Apache-2.0; Qin et al.
 *                                    2025), 12,031 requests
 * `-in` are prompts, `-out` outputs.
 */
#include "workloads/lengths.h"

enum { CONSTANT, UNIFORM, UNIFORM_UP_TO, EXPONENTIAL, NORMAL, LOGNORMAL, PERCENTILES, FIRST_NAMED };
enum { N_BODY = 20, N_QUANTILES = 27 };

static const double tail[] = {0.96, 0.97, 0.98, 0.99, 0.995, 0.999, 1};

static const char *const kind_words[] = {"constant",
                                         "uniform",
                                         "uniform-up-to",
                                         "exponential",
                                         "normal",
                                         "lognormal",
                                         "percentiles",
                                         "azure-code-in",
                                         "azure-code-out",
                                         "azure-conversation-in",
                                         "azure-conversation-out",
                                         "mooncake-conversation-in",
                                         "mooncake-conversation-out",
                                         NULL};

static const char *const kind_aliases[] = {"fixed", "constant", NULL};

static const int named[][N_QUANTILES] = {
    {3,    75,   147,  232,  386,  578,  770,  938,  1075, 1261, 1469, 1690, 1909, 2164,
     2433, 2745, 3192, 3919, 5186, 7302, 7430, 7435, 7436, 7436, 7436, 7437, 7437},
    {6,  6,  7,  7,  8,  9,  9,   10,  11,  12,  13,  14,  16,  18,
     20, 24, 29, 39, 55, 90, 105, 128, 171, 251, 359, 825, 1899},
    {2,    181,  207,  372,  387,  396,  403,  414,  703,  984,  1020, 1045, 1071, 1097,
     1130, 1189, 1315, 1876, 2734, 4083, 4086, 4090, 4098, 4142, 4831, 6179, 14050},
    {7,   41,  54,  67,  77,  85,  91,  96,  103, 113, 129, 151, 177, 217,
     384, 395, 400, 411, 424, 451, 468, 509, 540, 601, 643, 954, 1000},
    {891,   901,   964,   1261,  1662,  2307,  3263,   4250,   4993,
     5871,  6909,  8187,  9570,  11239, 13196, 15366,  17869,  21467,
     27367, 39549, 44613, 52215, 66449, 85400, 100810, 121301, 126195},
    {1,   10,  24,  46,  100, 157, 213, 256, 291, 323,  350,  375,  399, 423,
     447, 472, 504, 543, 597, 698, 738, 800, 892, 1119, 1568, 2000, 2000},
};

static const OrrField fields[] = {
    ORR_FIELD_WORD(OrrLengths, "kind", kind, kind_words, "constant",
                   "The distribution, or the trace from which lengths are drawn.",
                   .aliases = kind_aliases),
    ORR_FIELD_INT(OrrLengths, "tokens", tokens, "0",
                  "Mean, before lengths are limited to least and most and to the context; for "
                  "uniform-up-to the largest, for constant every length. For a trace, 0 keeps the "
                  "mean of its quantiles, which is within 3 % of the trace's.",
                  .min = 0, .max = 1e8),
    ORR_FIELD_REAL(
        OrrLengths, "ratio", ratio, ORR_UNIT_FRACTION, "0",
        "Uniform: half of the range, as a fraction of the mean (vLLM's --random-range-ratio), "
        "below 1; uniform-up-to: the least length, as a share of the largest (SGLang's).",
        .min = 0, .max = 1),
    ORR_FIELD_REAL(
        OrrLengths, "sigma", sigma, ORR_UNIT_NONE, "0.5",
        "Normal: standard deviation as a fraction of the mean; lognormal: of the logarithm.",
        .min = 0, .max = 10),
    ORR_FIELD_INT(OrrLengths, "p10", p10, "0", "Percentiles: one length in ten is below it.",
                  .min = 0, .max = 1e8),
    ORR_FIELD_INT(OrrLengths, "p50", p50, "0", "Percentiles: the median.", .min = 0, .max = 1e8),
    ORR_FIELD_INT(OrrLengths, "p90", p90, "0", "Percentiles: one length in ten is above it.",
                  .min = 0, .max = 1e8),
    ORR_FIELD_REAL(
        OrrLengths, "mean", mean, ORR_UNIT_NONE, "0",
        "Percentiles: the mean to which lengths are scaled; 0: as the percentiles have it.",
        .min = 0, .max = 1e8),
    ORR_FIELD_INT(OrrLengths, "least", least, "1", "Smallest length.", .min = 0, .max = 1e8),
    ORR_FIELD_INT(OrrLengths, "most", most, "0", "Largest length; 0: no limit.", .min = 0,
                  .max = 1e8)};

const OrrFieldTable orr_lengths_table = {.name = "lengths",
                                         .sentence = "Numbers of tokens of prompts or outputs.",
                                         .size = sizeof(OrrLengths),
                                         .fields = fields,
                                         .n_fields = G_N_ELEMENTS(fields),
                                         .number = "tokens"};

/* Where quantile @i lies, 0 to 1. */
static double place_of(int i) { return i < N_BODY ? i / (double)N_BODY : tail[i - N_BODY]; }

/* The mean of straight lines between the quantiles. */
static double mean_of_quantiles(const int *quantiles) {
  double sum = 0;
  for (int i = 0; i + 1 < N_QUANTILES; i++)
    sum += (quantiles[i] + quantiles[i + 1]) / 2.0 * (place_of(i + 1) - place_of(i));
  return sum;
}

static double scale_of(const OrrLengths *lengths) {
  const int *quantiles = named[lengths->kind - FIRST_NAMED];
  return lengths->tokens > 0 ? (double)lengths->tokens / mean_of_quantiles(quantiles) : 1;
}

static double draw_named(const OrrLengths *lengths, OrrRandom *random) {
  const int *quantiles = named[lengths->kind - FIRST_NAMED];
  const double place = orr_random_unit(random);
  int i = MIN((int)(place * N_BODY), N_BODY - 1);
  while (place >= place_of(i + 1)) i++;
  const double part = (place - place_of(i)) / (place_of(i + 1) - place_of(i));
  return (quantiles[i] + (quantiles[i + 1] - quantiles[i]) * part) * scale_of(lengths);
}

/* Of the logarithm, the standard deviation below or above the median: the 90th percentile of a
 * normal distribution is 1.2816 standard deviations from its mean. */
static double half_sigma(double p50, double other) { return fabs(log(other / p50)) / 1.2815515655; }

/* The mean of exp(sigma |z|) over a half of a normal distribution is exp(sigma^2 / 2) Phi(sigma)
 * for the upper one (times 1/2 2), and with -sigma for the lower one. */
static double mean_of_percentiles(const OrrLengths *lengths) {
  const double p50 = (double)lengths->p50;
  const double low = half_sigma(p50, (double)lengths->p10);
  const double high = half_sigma(p50, (double)lengths->p90);
  return p50 * (exp(low * low / 2) * erfc(low / M_SQRT2) / 2 +
                exp(high * high / 2) * erfc(-high / M_SQRT2) / 2);
}

static double draw_percentiles(const OrrLengths *lengths, OrrRandom *random) {
  const double p50 = (double)lengths->p50, z = orr_random_normal(random);
  const double sigma = half_sigma(p50, (double)(z < 0 ? lengths->p10 : lengths->p90));
  const double scale = lengths->mean > 0 ? lengths->mean / mean_of_percentiles(lengths) : 1;
  return scale * p50 * exp(sigma * z);
}

/* The smallest and the largest length of a uniform kind. Like benchmark clients, it never draws
 * 0. */
static void find_range(const OrrLengths *lengths, gint64 *ret_low, gint64 *ret_high) {
  const double tokens = (double)lengths->tokens;
  const gboolean is_around = lengths->kind == UNIFORM;
  const double low =
      is_around ? floor(tokens * (1 - lengths->ratio)) : ceil(tokens * lengths->ratio);
  *ret_low = (gint64)MAX(low, 1);
  *ret_high = is_around ? (gint64)ceil(tokens * (1 + lengths->ratio)) : lengths->tokens;
}

static double draw_uniform(const OrrLengths *lengths, OrrRandom *random) {
  gint64 low, high;
  find_range(lengths, &low, &high);
  return (double)(low + (gint64)orr_random_below(random, (guint64)(high - low + 1)));
}

static double draw(const OrrLengths *lengths, OrrRandom *random) {
  const double tokens = (double)lengths->tokens;
  switch (lengths->kind) {
  case CONSTANT:
    return tokens;
  case UNIFORM:
  case UNIFORM_UP_TO:
    return draw_uniform(lengths, random);
  case EXPONENTIAL:
    return -tokens * log1p(-orr_random_unit(random));
  case NORMAL:
    return tokens * (1 + lengths->sigma * orr_random_normal(random));
  case LOGNORMAL:
    return tokens *
           exp(lengths->sigma * orr_random_normal(random) - lengths->sigma * lengths->sigma / 2);
  case PERCENTILES:
    return draw_percentiles(lengths, random);
  default:
    return draw_named(lengths, random);
  }
}

gint64 orr_lengths_draw(const OrrLengths *lengths, OrrRandom *random) {
  const gint64 tokens = (gint64)round(draw(lengths, random));
  return CLAMP(tokens, MAX(lengths->least, 1), lengths->most > 0 ? lengths->most : G_MAXINT32);
}

double orr_lengths_mean(const OrrLengths *lengths) {
  if (lengths->kind == UNIFORM || lengths->kind == UNIFORM_UP_TO) {
    gint64 low, high;
    find_range(lengths, &low, &high);
    return (double)(low + high) / 2;
  }
  if (lengths->kind == PERCENTILES)
    return lengths->mean > 0 ? lengths->mean : mean_of_percentiles(lengths);
  if (lengths->kind < FIRST_NAMED) return (double)lengths->tokens;
  return mean_of_quantiles(named[lengths->kind - FIRST_NAMED]) * scale_of(lengths);
}

gint64 orr_lengths_largest(const OrrLengths *lengths) {
  const gint64 most = lengths->most > 0 ? lengths->most : G_MAXINT32;
  if (lengths->kind == UNIFORM) {
    gint64 low, high;
    find_range(lengths, &low, &high);
    return MIN(high, most);
  }
  if (lengths->kind == CONSTANT || lengths->kind == UNIFORM_UP_TO)
    return MIN(lengths->tokens, most);
  if (lengths->kind >= FIRST_NAMED)
    return MIN(
        (gint64)ceil(named[lengths->kind - FIRST_NAMED][N_QUANTILES - 1] * scale_of(lengths)),
        most);
  return most;
}

static double above(double z) { return erfc(z / M_SQRT2) / 2; } /* of a normal distribution */

/* The part of lengths above @x > 0. NaN: of a kind whose tail is short. */
static double part_above(const OrrLengths *lengths, double x) {
  const double relative = x / (double)lengths->tokens, sigma = fmax(lengths->sigma, 1e-9);
  if (lengths->kind == EXPONENTIAL) return exp(-relative);
  if (lengths->kind == NORMAL) return above((relative - 1) / sigma);
  if (lengths->kind == LOGNORMAL) return above(log(relative) / sigma + sigma / 2);
  if (lengths->kind != PERCENTILES) return NAN;
  const double p50 = (double)lengths->p50;
  const double scale = orr_lengths_mean(lengths) / mean_of_percentiles(lengths);
  const double own = half_sigma(p50, (double)(x < scale * p50 ? lengths->p10 : lengths->p90));
  return above(log(x / (scale * p50)) / fmax(own, 1e-9));
}

/* Over one row of draws, so that without a cut the two sums are one. */
static double drawn_mean(const OrrLengths *lengths, double low, double high) {
  enum { N_DRAWS = 2000 };
  OrrRandom random = orr_random_stream(1, "cut");
  double sum = 0, cut = 0;
  for (int i = 0; i < N_DRAWS; i++) {
    const double tokens = draw(lengths, &random);
    sum += tokens;
    cut += CLAMP(tokens, low, high);
  }
  return sum > 0 ? orr_lengths_mean(lengths) * cut / sum : 0;
}

/* Of lengths limited to [a, b]: a + the integral of the part above x from a to b. Points are evenly
 * spaced in log(1 + x - a), since b may be 2^31. Draws of a heavy tail would not give the mean. */
static double cut_mean(const OrrLengths *lengths, gint64 room) {
  enum { N_POINTS = 4000 };
  const gint64 least = MAX(lengths->least, 1), own = lengths->most > 0 ? lengths->most : room;
  const double low = (double)least, range = (double)MAX(MIN(own, room), least) - low;
  const double spread = log1p(range);
  double sum = 0;
  if (isnan(part_above(lengths, low))) return drawn_mean(lengths, low, low + range);
  for (int i = 0; i < N_POINTS; i++) {
    const double t = spread * (i + 0.5) / N_POINTS;
    sum += part_above(lengths, low + expm1(t)) * exp(t);
  }
  return low + spread * sum / N_POINTS;
}

/* A mean that somebody gave, and that limits move. */
static void warn_cut(const OrrLengths *lengths, gint64 room, const char *what, OrrPlace place,
                     OrrDiags *diags) {
  static const double that_counts = 0.05;
  const double given = lengths->kind == PERCENTILES ? lengths->mean : (double)lengths->tokens;
  if (given <= 0 || lengths->kind == CONSTANT || lengths->is_derived) return;
  const double mean = orr_lengths_mean(lengths), cut = cut_mean(lengths, room);
  if (fabs(cut / mean - 1) > that_counts)
    orr_diags_warning(diags, place,
                      "%s: lengths of kind %s with a mean of %.4g tokens are limited to [%ld, "
                      "%ld]: the mean of those simulated is about %.4g",
                      what, kind_words[lengths->kind], mean, MAX(lengths->least, 1),
                      lengths->most > 0 ? MIN(lengths->most, room) : room, cut);
}

void orr_lengths_check(const OrrLengths *lengths, gint64 room, const char *what, OrrPlace place,
                       OrrDiags *diags) {
  const guint n_errors = orr_diags_n_errors(diags);
  if (lengths->kind == PERCENTILES &&
      !(0 < lengths->p10 && lengths->p10 <= lengths->p50 && lengths->p50 <= lengths->p90))
    orr_diags_error(diags, place, "%s: percentiles lengths need 0 < p10 <= p50 <= p90", what);
  if (lengths->tokens <= 0 && lengths->kind < PERCENTILES)
    orr_diags_error(diags, place, "%s: %s lengths need tokens above 0", what,
                    kind_words[lengths->kind]);
  if (lengths->kind == UNIFORM && lengths->ratio >= 1)
    orr_diags_error(diags, place,
                    "%s: ratio is 1, and uniform lengths lie in [(1 - ratio) tokens, (1 + ratio) "
                    "tokens] with a ratio "
                    "below 1, as vLLM's range ratio; [ratio tokens, tokens] is kind: uniform-up-to",
                    what);
  if (lengths->ratio > 0 && lengths->kind != UNIFORM && lengths->kind != UNIFORM_UP_TO)
    orr_diags_warning(diags, place, "%s: ratio has no effect: lengths of kind %s have none", what,
                      kind_words[lengths->kind]);
  if (lengths->most > 0 && lengths->most < lengths->least)
    orr_diags_error(diags, place, "%s: most (%ld) is below least (%ld)", what, lengths->most,
                    lengths->least);
  if (orr_diags_n_errors(diags) == n_errors) warn_cut(lengths, MAX(room, 1), what, place, diags);
}

/*
 * uncertain.c - the distribution that {value, low, high} means.
 */
#include "sim/base/uncertain.h"

void orr_uncertain_free(OrrUncertain *uncertain) {
  if (!uncertain) return;
  ORR_FREE(uncertain->path, uncertain);
}

double orr_uncertain_quantile(const OrrUncertain *uncertain, double probability) {
  const double low = uncertain->low, value = uncertain->value, high = uncertain->high;
  const double number = probability < 0.5 ? low + 2 * probability * (value - low)
                                          : high - 2 * (1 - probability) * (high - value);
  return uncertain->is_whole ? round(number) : number;
}

char *orr_uncertain_text(const OrrUncertain *uncertain, double number) {
  return uncertain->is_whole ? g_strdup_printf("%.0f", number)
                             : orr_quantity_exact(number, uncertain->unit);
}

/* "measured runs show 6 % more" where @value is not within @low and @high as printed, else "";
 * @expected: what a measurement would most likely show. Newly allocated. */
static char *note_of(double value, double low, double high, double expected) {
  if (!(value < low || value > high) || !(expected > 0)) return g_strdup("");
  return g_strdup_printf("measured runs show %.0f %% %s", 100 * fabs(expected / value - 1),
                         expected > value ? "more" : "less");
}

char *orr_uncertain_note_after(double value, double low, double high, double expected) {
  g_autofree char *note = note_of(value, low, high, expected);
  return *note ? g_strconcat(", ", note, NULL) : g_strdup("");
}

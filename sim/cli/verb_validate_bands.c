/*
 * verb_validate_bands.c - orrery validate --bands: coverage of the shipped residuals, or of rows
 * that are replayed now.
 */
#include "sim/cli/verb_validate.h"

#include "sim/cli/cli.h"

gboolean orr_verb_validate_bands_check(const char *leave, gboolean has_rows, GError **error) {
  if (leave && !g_strv_contains(orr_validate_bands_leave_words, leave))
    orr_cli_unknown("choice of --leave", leave, orr_validate_bands_leave_words, error);
  else if (leave && has_rows && strcmp(leave, "row") == 0)
    g_set_error(
        error, ORR_FAULT, ORR_FAULT_USAGE,
        "--leave row and --rows do not go together: FILE.csv does not hold the rows of the set");
  else
    return TRUE;
  return FALSE;
}

static OrrValidateBandsLeave leave_of(const OrrVerbValidateBands *order) {
  for (int i = 0; order->leave && orr_validate_bands_leave_words[i]; i++)
    if (strcmp(orr_validate_bands_leave_words[i], order->leave) == 0)
      return (OrrValidateBandsLeave)i;
  return order->rows ? ORR_VALIDATE_BANDS_NOTHING : ORR_VALIDATE_BANDS_SET;
}

int orr_verb_validate_bands(OrrLibrary *library, const OrrVerbValidateBands *order,
                            GError **error) {
  const OrrValidateBandsLeave leave = leave_of(order);
  g_autoptr(OrrValidateBands) bands =
      order->rows ? orr_validate_bands_of_rows(library, order->rows->residuals, leave, error)
                  : orr_validate_bands_new(library, order->sets, leave, error);
  if (!bands) return 2;
  const char *stale = orr_validate_bands_stale(bands);
  g_autoptr(GArray) pairs = orr_validate_pairs_new(bands, order->n_pairs);
  if (order->as_json)
    orr_summary_bands_json(bands, pairs);
  else
    orr_summary_bands_text(bands, pairs);
  if (order->rows && order->rows->refusals->len > 0)
    orr_show_problem("%u row%s refused: orrery validate %s --rows FILE.csv says why",
                     order->rows->refusals->len,
                     order->rows->refusals->len == 1 ? " was" : "s were", order->rows->set_name);
  if (stale) orr_show_problem("%s", stale);
  return 0;
}

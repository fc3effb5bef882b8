/*
 * machine_fault.c - what the kinds of faults share.
 */
#include "topologies/machine_fault.h"

gboolean orr_machine_fault_strike(const OrrChoice *choice, const OrrFaultTarget *target,
                                  GArray *effects, char **ret_what, GError **error) {
  return ((const OrrMachineFaultKind *)choice->entry)
      ->strike(choice->params, target, effects, ret_what, error);
}

gboolean orr_machine_fault_pick(const OrrFaultTarget *target, const char *what, gint64 number,
                                gint64 n, gint64 *ret_number, GError **error) {
  if (number < 0 && target->random) {
    *ret_number = (gint64)orr_random_below(target->random, (guint64)n);
    return TRUE;
  }
  if (number < 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "which %s? Name one, or give the fault an mtbf to draw one", what);
  else if (number >= n)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s %ld does not exist (the machine has 0 to %ld)", what, number, n - 1);
  *ret_number = number;
  return number >= 0 && number < n;
}

void orr_machine_fault_add_links(GArray *effects, GArray *parts, double loss) {
  ORR_EACH(const OrrFabricPart, part, parts)
    ORR_APPEND(effects, OrrFaultEffect, {ORR_FAULT_EFFECT_LINK, part->link, part->fraction * loss});
  g_array_unref(parts);
}

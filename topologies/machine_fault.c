#include "topologies/machine_fault.h"

#include "sim/base/fault.h"

extern const OrrMachineFaultKind orr_fault_link, orr_fault_nic, orr_fault_node_lost,
    orr_fault_slow_gpu, orr_fault_switch;

/* Alphabetical. To add one, see machine_fault.h. */
static const OrrEntry *const entries[] = {&orr_fault_link.entry,      &orr_fault_nic.entry,
                                          &orr_fault_node_lost.entry, &orr_fault_slow_gpu.entry,
                                          &orr_fault_switch.entry,    NULL};
const OrrRegistry orr_machine_fault_registry = {.family = "fault", .entries = entries};

gboolean orr_machine_fault_strike(const OrrChoice *choice, const OrrMachineFaultAsk *ask,
                                  GArray *harms, char **ret_what, GError **error) {
  return ((const OrrMachineFaultKind *)choice->entry)
      ->strike(choice->params, ask, harms, ret_what, error);
}

gboolean orr_machine_fault_pick(const OrrMachineFaultAsk *ask, const char *what, gint64 number,
                                gint64 n, gint64 *ret_number, GError **error) {
  if (number < 0 && ask->random) {
    *ret_number = (gint64)orr_random_below(ask->random, (guint64)n);
    return TRUE;
  }
  if (number < 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "which %s? One is drawn only where the fault has an mtbf", what);
  else if (number >= n)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s %" G_GINT64_FORMAT " does not exist: the machine has 0 to %" G_GINT64_FORMAT,
                what, number, n - 1);
  *ret_number = number;
  return number >= 0 && number < n;
}

void orr_machine_fault_add_links(GArray *harms, GArray *parts, double loss) {
  for (guint i = 0; i < parts->len; i++) {
    const OrrFabricPart *part = &g_array_index(parts, OrrFabricPart, i);
    const OrrHarm harm = {ORR_HARM_LINK, part->link, part->fraction * loss};
    g_array_append_val(harms, harm);
  }
  g_array_unref(parts);
}

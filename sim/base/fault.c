/*
 * fault.c - the error domain, and the exit status of each code.
 */
#include "sim/base/fault.h"

G_DEFINE_QUARK(orr - fault, orr_fault)

int orr_fault_exit_status(const GError *error) {
  if (!error) return 0;
  if (g_error_matches(error, ORR_FAULT, ORR_FAULT_DOCUMENT) ||
      g_error_matches(error, ORR_FAULT, ORR_FAULT_USAGE))
    return 2;
  return 1;
}

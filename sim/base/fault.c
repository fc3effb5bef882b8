/*
 * fault.c - the error domain, and the exit status of each code.
 */
#include "sim/base/fault.h"

G_DEFINE_QUARK(orr - fault, orr_fault)

static void set(GError **error, OrrFaultCode code, const char *format, va_list args) {
  if (!error) return;
  g_autofree char *message = g_strdup_vprintf(format, args);
  g_set_error_literal(error, ORR_FAULT, (int)code, message);
}

gboolean orr_fault_set(GError **error, OrrFaultCode code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  set(error, code, format, args);
  va_end(args);
  return FALSE;
}

void *orr_fault_null(GError **error, OrrFaultCode code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  set(error, code, format, args);
  va_end(args);
  return NULL;
}

int orr_fault_exit_status(const GError *error) {
  if (!error) return 0;
  if (g_error_matches(error, ORR_FAULT, ORR_FAULT_DOCUMENT) ||
      g_error_matches(error, ORR_FAULT, ORR_FAULT_USAGE))
    return 2;
  return 1;
}

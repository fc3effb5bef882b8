/*
 * fault.h - the one GError domain of Orrery.
 *
 * A code says what the caller can do, not where the error occurred. Callers prefix messages
 * (g_prefix_error), so that the final message reads as a path: "scenarios/a.yaml: cluster:
 * topologies/...". Library code never prints and never exits; sim/cli turns a code into the exit
 * status.
 */
#pragma once

#include "sim/base/ground.h"

G_BEGIN_DECLS

#define ORR_FAULT (orr_fault_quark())

typedef enum {
  ORR_FAULT_DOCUMENT, /* the user's document is wrong: correct it          (exit 2) */
  ORR_FAULT_USAGE,    /* the command line is wrong                         (exit 2) */
  ORR_FAULT_STUCK,    /* the simulation cannot finish, e.g. a deadlock     (exit 1) */
  ORR_FAULT_RESOURCE, /* a file, a database or memory is not available     (exit 1) */
  ORR_FAULT_LOCKED,   /* another process holds the database: try again     (exit 1) */
  ORR_FAULT_INTERNAL  /* an invariant of Orrery is broken: a bug           (exit 1) */
} OrrFaultCode;

GQuark orr_fault_quark(void);

/* Sets @error as g_set_error does. Returns FALSE or NULL: `return orr_fault_set(error, ...)`. */
gboolean orr_fault_set(GError **error, OrrFaultCode code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
void *orr_fault_null(GError **error, OrrFaultCode code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* The exit status for @error: 2 for document and usage, else 1; 0 for NULL. */
int orr_fault_exit_status(const GError *error);

G_END_DECLS

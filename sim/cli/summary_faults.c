/*
 * summary_faults.c - writes when each fault began and ended, and the time of a step without it,
 * before, during and after.
 */
#include "sim/cli/summary_faults.h"

#include <math.h>

#include "sim/base/json_write.h"
#include "sim/base/quantity.h"
#include "sim/cli/show.h"

/* The most faults that are written out. */
enum { MOST = 4 };

static void add_step(GString *out, const char *when, double seconds) {
  if (isnan(seconds)) return;
  g_autofree char *text = orr_quantity_format(seconds, ORR_UNIT_SECONDS);
  g_string_append_printf(out, ", %s %s", text, when);
}

static void add_fault(GString *out, const OrrFaultRow *row) {
  g_autofree char *begin = orr_quantity_format(row->begin_s, ORR_UNIT_SECONDS);
  g_autofree char *end =
      isnan(row->end_s) ? NULL : orr_quantity_format(row->end_s, ORR_UNIT_SECONDS);
  g_string_append_printf(out, "%s from %s%s%s", row->what, begin, end ? " to " : " on",
                         end ? end : "");
  if (isnan(row->step_without_s)) return;
  g_autofree char *without = orr_quantity_format(row->step_without_s, ORR_UNIT_SECONDS);
  g_string_append_printf(out, "; a step without %s", without);
  add_step(out, "before", row->step_before_s);
  add_step(out, "during", row->step_during_s);
  add_step(out, "after", row->step_after_s);
}

void orr_summary_faults(GString *out, const OrrOutcome *outcome, const char *name) {
  const OrrJobRow *job = outcome->own_job;
  for (guint i = 0; i < MIN(outcome->faults->len, MOST); i++) {
    g_string_append_printf(out, "  %-13s ", name ? name : i == 0 ? "faults" : "");
    add_fault(out, &g_array_index(outcome->faults, OrrFaultRow, i));
    g_string_append_c(out, '\n');
  }
  if (outcome->faults->len > MOST)
    g_string_append_printf(out, "  %-13s and %u more: the view faults lists all\n", "",
                           outcome->faults->len - MOST);
  if (!job || outcome->faults->len == 0) return;
  g_autofree char *together = orr_quantity_format(job->together_s, ORR_UNIT_SECONDS);
  g_autofree char *alone = orr_quantity_format(job->alone_s, ORR_UNIT_SECONDS);
  g_string_append_printf(out, "  %-13s %s in all, %s without faults: %.4gx\n", "cost", together,
                         alone, job->slowdown);
}

void orr_summary_faults_json(GString *out, const OrrOutcome *outcome) {
  if (outcome->faults->len == 0) return;
  orr_json_write_rows(out, "fault", &orr_fault_table, outcome->faults, "\n  ");
  if (outcome->own_job) orr_json_write_number(out, "slowdown", outcome->own_job->slowdown);
}

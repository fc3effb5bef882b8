/*
 * summary_faults.c - writes when each fault began and ended, and the time of a step without it,
 * before, during and after.
 */
#include "sim/cli/summary.h"

#include "sim/base/json_write.h"

/* The most faults that are written out. */
enum { MOST = 4 };

static void add_step(OrrPage *page, const char *when, double seconds) {
  if (!isnan(seconds)) orr_page_item(page, "%s %s", orr_page_seconds(page, seconds), when);
}

static void add_fault(OrrPage *page, const char *label, const OrrFaultRow *row) {
  orr_page_line(page, label, "%s from %s", row->what, orr_page_seconds(page, row->begin_s));
  if (isnan(row->end_s))
    orr_page_more(page, " on");
  else
    orr_page_more(page, " to %s", orr_page_seconds(page, row->end_s));
  if (isnan(row->step_without_s)) return;
  orr_page_more(page, "; a step without %s", orr_page_seconds(page, row->step_without_s));
  add_step(page, "before", row->step_before_s);
  add_step(page, "during", row->step_during_s);
  add_step(page, "after", row->step_after_s);
}

void orr_summary_faults(OrrPage *page, const OrrOutcome *outcome, const char *name) {
  const OrrJobRow *job = outcome->own_job;
  const guint n = outcome->faults->len;
  for (guint i = 0; i < MIN(n, MOST); i++)
    add_fault(page,
              name     ? name
              : i == 0 ? "faults"
                       : "",
              &g_array_index(outcome->faults, OrrFaultRow, i));
  if (n > MOST) orr_page_line(page, "", "and %u more: the view faults lists all", n - MOST);
  if (job && n > 0)
    orr_page_line(page, "cost",
                  outcome->kind->result == &orr_serving_result_table
                      ? "a request takes %s in the mean, %s without faults: %.4gx"
                      : "%s in all, %s without faults: %.4gx",
                  orr_page_seconds(page, job->together_s), orr_page_seconds(page, job->alone_s),
                  job->slowdown);
}

void orr_summary_faults_json(GString *out, const OrrOutcome *outcome) {
  if (outcome->faults->len == 0) return;
  orr_json_write_rows(out, "fault", &orr_fault_table, outcome->faults, "\n  ");
  if (outcome->own_job) orr_json_write_number(out, "slowdown", outcome->own_job->slowdown);
}

/*
 * summary_traced.c - the lines of a replayed trace.
 */
#include "sim/cli/summary.h"

void orr_summary_traced(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrTraceResult *r = &outcome->result.trace;
  orr_summary_machine(page, scenario, r->n_gpus);
  orr_page_line(page, "trace", "%s, %s, %s of %s in all", orr_page_things(page, r->n_nodes, "node"),
                orr_page_things(page, r->n_collectives, "collective"),
                orr_page_things(page, r->n_sends, "send"), orr_page_bytes(page, r->comm_bytes));
  orr_page_line(page, "time", "%s", orr_page_seconds(page, r->time_s));
  orr_page_line(page, "bound by", "kernels %s, exposed communication %s, waiting %s",
                orr_page_seconds(page, r->compute_s), orr_page_seconds(page, r->exposed_comm_s),
                orr_page_seconds(page, r->wait_s));
  orr_page_more(page, ", mean over the ranks");
  if (r->overlapped_s > 1e-9 * r->time_s)
    orr_page_more(page, "; kernels that run at once count once, in sum they take %s more",
                  orr_page_seconds(page, r->overlapped_s));
}

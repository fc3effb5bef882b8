/*
 * summary_network.c - writes which model of queues a run used, what it cost, and how far draws of
 * ecmp's hash spread.
 */
#include "sim/cli/summary.h"

#include "sim/base/json_write.h"

static void add_queue(OrrPage *page, const OrrQueueRow *row) {
  orr_page_line(page, "queues", "%s, %s of collectives", row->model,
                orr_page_things(page, row->phases, "phase"));
  if (row->slowed > 0)
    orr_page_item(page, "%d slowed, by %s in all, at most %.2f times", (int)row->slowed,
                  orr_page_seconds(page, row->added_s), row->worst);
  else
    orr_page_item(page, "none slower than max-min flows");
  if (row->rough > 0) orr_page_item(page, "%d solved coarsely", (int)row->rough);
  if (row->peak_link)
    orr_page_line(page, "", "longest queue %s before %s", orr_page_bytes(page, row->peak_bytes),
                  row->peak_link);
  if (row->paused_link)
    orr_page_item(page, "%s paused %.0f %% of its phase", row->paused_link, 100 * row->paused);
  if (row->marked > 0) orr_page_item(page, "marks %.2g %%", 100 * row->marked);
}

void orr_summary_network(OrrPage *page, const OrrOutcome *outcome) {
  ORR_EACH(OrrQueueRow, one, outcome->queues) add_queue(page, one);
  const guint n = outcome->hash_spreads->len;
  if (n == 0) return;
  const OrrHashSpreadRow *row = &g_array_index(outcome->hash_spreads, OrrHashSpreadRow, n - 1);
  orr_page_line(page, "hashes", "%s of %s in %s to %s, mean %s, over %d draws", row->collective,
                orr_page_bytes(page, row->size_bytes), orr_page_seconds(page, row->low_s),
                orr_page_seconds(page, row->high_s), orr_page_seconds(page, row->mean_s),
                (int)row->draws);
}

void orr_summary_network_json(GString *out, const OrrOutcome *outcome) {
  if (outcome->queues->len > 0)
    orr_json_write_rows(out, "queue", &orr_queue_table, outcome->queues, "\n  ");
  if (outcome->hash_spreads->len > 0)
    orr_json_write_rows(out, "hash_spread", &orr_hash_spread_table, outcome->hash_spreads, "\n  ");
}

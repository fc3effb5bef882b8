/*
 * network_rows.c - turns what planners noted on the fabric into rows: queues, and draws of hashes.
 */
#include "sim/run/answer/answer_private.h"

static char *link_name(const OrrFabric *fabric, guint32 link) {
  g_autofree char *name = orr_fabric_link_name(fabric, link);
  return (char *)g_intern_string(name);
}

static void add_queue(const OrrFabric *fabric, const OrrQueueUse *use, OrrOutcome *outcome) {
  const OrrChoice *choice = orr_fabric_queues(fabric);
  if (!choice) return;
  ORR_APPEND(outcome->queues, OrrQueueRow,
             {
                 .model = (char *)choice->entry->name,
                 .phases = use->phases,
                 .slowed = use->slowed,
                 .left_out = use->left_out,
                 .rough = use->rough,
                 .stuck = use->stuck,
                 .added_s = use->added_s,
                 .worst = MAX(use->worst, 1),
                 .peak_bytes = use->peak_bytes,
                 .peak_link = use->peak_bytes > 0 ? link_name(fabric, use->peak_link) : NULL,
                 .paused = use->paused,
                 .paused_link = use->paused > 0 ? link_name(fabric, use->paused_link) : NULL,
                 .marked = use->marked,
             });
  if (use->left_out > 0)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf(
            "queues: %ld of %ld phases have too many sends to integrate, and are max-min "
            "flows",
            use->left_out, use->phases));
  if (use->stuck > 0)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("queues: in %ld phases pauses wait for each "
                                    "other in a circle (a deadlock without virtual lanes), so they "
                                    "keep the time of max-min flows",
                                    use->stuck));
}

void orr_network_rows_add(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrFabricNotes *notes = orr_fabric_notes(replayed->fabric);
  add_queue(replayed->fabric, &notes->queues, outcome);
  ORR_EACH(const OrrHashSpread, spread, notes->spreads)
    ORR_APPEND(outcome->hash_spreads, OrrHashSpreadRow,
               {.collective = (char *)spread->name,
                .size_bytes = spread->bytes,
                .ranks = spread->ranks,
                .draws = spread->draws,
                .low_s = spread->low_s,
                .mean_s = spread->mean_s,
                .high_s = spread->high_s,
                .taken_s = spread->taken_s});
}

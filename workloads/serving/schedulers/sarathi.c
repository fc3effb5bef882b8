/*
 * sarathi.c - Sarathi-Serve's stall-free batches (Agrawal et al., OSDI 2024).
 *
 * Each step takes one token of every decode first, then the prompts under way, then new ones, up to
 * `chunk` tokens in all: decodes never wait for a prompt, and a step is never longer than `chunk`
 * tokens take.
 *
 *   workload: {engine: {scheduler: {kind: sarathi, chunk: 512}}}
 */
#include "workloads/serving/schedulers/scheduler.h"

typedef struct {
  gint64 chunk;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "scheduler-sarathi", "Sarathi-Serve: decodes first, prompts fill the chunk.", Params,
    ORR_FIELD_INT(Params, "chunk", chunk, "512", "Most tokens of a step, decodes included.",
                  .flags = ORR_FIELD_POSITIVE));

static void plan(OrrCore *core, const void *data, gpointer state) {
  const Params *params = data;
  const gint64 saved = MAX(core->budget - params->chunk, 0);
  orr_scheduler_decodes(core);
  core->budget -= MIN(saved, core->budget);
  orr_scheduler_running(core, 0);
  orr_scheduler_waiting(core, 0, FALSE, ORR_RESERVE_PROMPT);
}

const OrrScheduler orr_scheduler_sarathi = {
    .entry = {"sarathi", "Sarathi-Serve: decodes first, prompts fill the rest of a small chunk.",
              &table},
    .plan = plan,
};

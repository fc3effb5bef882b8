/*
 * executor_repeat.c - counts what a program says will happen again, without replaying it.
 *
 *   lanes   ...--|==== once ====|--...         a program with orr_program_repeat(from, to, n)
 *              from            to
 *   stands for --|==== once ====|==== once ====| ... |==== once ====|--...        1 + n times
 *
 * The machine is deterministic: what follows a date depends on where each stream stands, and on
 * what is in flight. When the barrier `from` ends, every lane is at one op of its program and no
 * transfer is in flight; when `to` ends, the same holds one period d = to_s - from_s later. So the
 * states are equal, and if the program went on as after `from`, so would the replay, d later. After
 * n more periods follows what follows `to`. Hence all dates after `to` are n d later, and every sum
 * grows by n times what it grew by between the two.
 *
 * That streams stand alike is up to who builds the program. That no transfer is in flight is
 * checked. The sink gets the spans of the ops that the program has, at the dates of the replay: who
 * keeps dates moves those after `to` (sim/run/answer/ledger.c).
 */
#include "sim/engine/executor_private.h"

void orr_repeats_init(OrrExecutor *executor) {
  OrrRepeats *repeats = &executor->repeats;
  *repeats = (OrrRepeats){orr_program_repeated(executor->program), -1, -1, NULL, 0};
  if (repeats->of.times > 0)
    repeats->bytes = g_new0(double, orr_program_n_links(executor->program) + 1);
}

void orr_repeats_clear(OrrRepeats *repeats) { g_free(repeats->bytes); }

/* Bytes of each link by now, less those that are noted. */
static void note_bytes(OrrExecutor *executor) {
  const OrrProgram *program = executor->program;
  for (guint32 i = 0; i < orr_program_n_links(program); i++)
    if (orr_program_link_stands_for(program, i) > 0)
      executor->repeats.bytes[i] =
          orr_engine_link_bytes(executor->engine, executor->links[i]) - executor->repeats.bytes[i];
}

void orr_repeats_note(OrrExecutor *executor, guint32 comm, double end_s) {
  OrrRepeats *repeats = &executor->repeats;
  if (repeats->of.times == 0 || (comm != repeats->of.from && comm != repeats->of.to)) return;
  *(comm == repeats->of.from ? &repeats->from_s : &repeats->to_s) = end_s;
  repeats->n_flying += (guint)(executor->n_transfers - executor->n_transferred);
  note_bytes(executor);
}

gboolean orr_repeats_add(OrrExecutor *executor, double *link_bytes, GError **error) {
  const OrrRepeats *repeats = &executor->repeats;
  if (repeats->of.times == 0) return TRUE;
  if (repeats->n_flying > 0 || repeats->from_s < 0 || repeats->to_s < repeats->from_s)
    return orr_fault_set(
        error, ORR_FAULT_INTERNAL,
        "the repetition between %g s and %g s cannot be skipped: %u transfers are in flight",
        repeats->from_s, repeats->to_s, repeats->n_flying);
  executor->end_s += repeats->of.times * (repeats->to_s - repeats->from_s);
  for (guint32 i = 0; link_bytes && i < orr_program_n_links(executor->program); i++)
    link_bytes[i] += repeats->of.times * repeats->bytes[i];
  return TRUE;
}

/*
 * summary_inputs.h - what uncertain inputs do to a run's results: lines of the summary, and an
 * object of `run --json`.
 */
#ifndef ORR_SUMMARY_INPUTS_H
#define ORR_SUMMARY_INPUTS_H

#include "sim/run/answer/outcome.h"

G_BEGIN_DECLS

/* Appends the lines `inputs` (spread of the main results) and `moved by` (effects of the inputs on
 * the first of them); nothing where no input was uncertain. */
void orr_summary_inputs(GString *out, const OrrOutcome *outcome);

/* Appends `, "inputs": {...}`, or nothing. */
void orr_summary_inputs_json(GString *out, const OrrOutcome *outcome);

G_END_DECLS

#endif

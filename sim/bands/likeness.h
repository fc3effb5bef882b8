/*
 * likeness.h - what an answer is like: the facts that decide which measured rows speak for it.
 *
 * One row (rows_bands.inc describes its columns) is filled from a scenario and its outcome, for
 * validation rows and for questions alike, so that both can be compared member by member.
 */
#pragma once

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

/* Texts are interned; absent numbers are NAN. */
OrrLikenessRow orr_likeness_of(OrrLibrary *library, const OrrScenario *scenario,
                               const OrrOutcome *outcome);

/* The likeness of NCCL's all-reduce of @bytes over the first @gpus GPUs of @scenario's machine;
 * @outcome is of another workload there. */
OrrLikenessRow orr_likeness_of_all_reduce(const OrrScenario *scenario, const OrrOutcome *outcome,
                                          gint64 gpus, double bytes);

/* The likeness of one size of a run of collectives whose last size has @whole. */
OrrLikenessRow orr_likeness_of_size(const OrrLikenessRow *whole, const OrrOutcome *outcome,
                                    const OrrNcclTestRow *test);

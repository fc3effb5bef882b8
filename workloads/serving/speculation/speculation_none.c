/*
 * speculation_none.c - no drafts: every step writes one token per request.
 *
 *   workload: {engine: {speculation: none}}
 */
#include "workloads/serving/speculation/speculation.h"

const OrrSpeculator orr_speculator_none = {
    .entry = {"none", "No drafts: a step writes one token per request.", NULL},
};

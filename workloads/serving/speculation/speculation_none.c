/*
 * speculation_none.c - every step writes one token of each request.
 *
 *   workload: {engine: {speculation: none}}
 */
#include "workloads/serving/speculation/speculation.h"

const OrrSpeculator orr_speculator_none = {
    .entry = {"none", "Nothing is guessed: a step writes one token of each request.", NULL},
};

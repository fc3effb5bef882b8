/*
 * dialect_dynamo_frontend.c - Dynamo's frontend, which shares requests among its workers:
 * `python -m dynamo.frontend --router-mode kv`. The workers are servers of vLLM, SGLang or
 * TensorRT-LLM.
 *
 * Source: ai-dynamo/dynamo, components/frontend, its options (from memory).
 */
#include "sim/import/launch/launch_private.h"

const OrrLaunchDialect orr_dialect_dynamo_frontend = {
    .name = "dynamo-frontend",
    .is_for_all = TRUE,
    .shares_load = TRUE,
    .has_own_options = TRUE,
    .kind = "serving",
};

/*
 * query_values.h - one value of a query: kinds of keys, and the reader of their texts. For query.c
 * alone.
 */
#ifndef ORR_QUERY_VALUES_H
#define ORR_QUERY_VALUES_H

#include "calibration/cost/cost.h"

G_BEGIN_DECLS

typedef enum {
  ORR_QUERY_COUNT,         /* a whole number above 0 */
  ORR_QUERY_KNOWN_COUNT,   /* a COUNT, or "known" */
  ORR_QUERY_SIZE,          /* a number above 0 */
  ORR_QUERY_FORMAT,        /* a number format */
  ORR_QUERY_GEMM_FORMAT,   /* a number format, or fp8_block: ORR_QUERY_BY_BLOCKS more */
  ORR_QUERY_LIBRARY,       /* a library of kernels: any, sglang, trtllm or vllm */
  ORR_QUERY_LAYOUT,        /* of a product: forward, dgrad or wgrad */
  ORR_QUERY_NO_WINDOW,     /* 0 */
  ORR_QUERY_DISTRIBUTION,  /* balanced or power_law_A */
  ORR_QUERY_BALANCED,      /* balanced */
  ORR_QUERY_PROJECTIONS,   /* 2, 3 or "known" */
  ORR_QUERY_YES_NO,        /* yes or no */
  ORR_QUERY_DEEPEP_MODE,   /* normal or low_latency: DeepEP's kernels */
  ORR_QUERY_TRTLLM_SOURCE, /* NVLinkTwoSided or NVLinkOneSided: TensorRT-LLM's kernels */
  ORR_QUERY_TEXT,          /* any text, as a GQuark; empty or "any": 0 */
  ORR_QUERY_WHOLE,         /* a whole number, 0 included; empty: 0 */
} OrrQueryKeyKind;

typedef struct {
  const char *name;
  OrrQueryKeyKind kind;
  const char *fallback; /* NULL: required */
} OrrQueryKey;

enum { MAX_KEYS = 13, DEFAULT_GPUS = 8 }; /* of a node, where the profile has no rows of it */

enum { ORR_QUERY_BY_BLOCKS = ORR_N_DTYPES }; /* to a format: blocks of weights */

/* FALSE with ORR_FAULT_USAGE, which says what @key allows. */
gboolean orr_query_values_read(const OrrQueryKey *key, const char *text, double *ret_value,
                               GError **error);

G_END_DECLS

#endif

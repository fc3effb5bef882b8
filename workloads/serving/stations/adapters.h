/*
 * adapters.h - low-rank adapters of an engine core: which of many are on the GPU.
 *
 *   host memory, all  --host link-->  slots on the GPU (vLLM's max_loras), running requests' held,
 *   others by
 * least recent use
 *
 * A request whose adapter is not there waits for a slot that nobody holds; its first step waits for
 * the adapter's bytes.
 */
#pragma once

#include "sim/base/random.h"

typedef struct OrrAdapters OrrAdapters;

/* Of @n adapters, numbered from 1, with @slots on the GPU; NULL for none. */
OrrAdapters *orr_adapters_new(guint n, guint slots);
void orr_adapters_free(OrrAdapters *adapters);

/* it is there, or a slot is free for it */
gboolean orr_adapters_fit(const OrrAdapters *adapters, guint adapter);
/* TRUE: it has to be loaded. It fits */
gboolean orr_adapters_hold(OrrAdapters *adapters, guint adapter);
void orr_adapters_release(OrrAdapters *adapters, guint adapter);

/* Which one a request has: adapter i of @n is asked for in proportion to i^-skew. The weights up
 * to each, of double; free with g_array_unref. */
GArray *orr_adapters_weights(guint n, double skew);

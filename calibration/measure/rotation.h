/*
 * rotation.h - the number of operand sets over which a kernel rotates, so that each call reads its
 * operands from memory.
 *
 * In a model a layer's weights come from memory, because the layers between two uses have replaced
 * the contents of the L2 cache. A benchmark that calls a kernel repeatedly on the same operands
 * measures the cache instead. So calls rotate over `sets` copies that together exceed twice the L2
 * cache:
 *
 *   sets = ceil(2 L2 / touched) + 1        at most 0.4 memory / held, and at most ORR_ROTATION_MOST
 *
 * `touched` are the bytes that one call reads and writes, `held` the bytes that one set occupies.
 * They differ if a call uses part of its operands: a rank that holds 16 experts and routes one
 * token to one of them touches only that expert. Counting all 16 would leave the one in the cache.
 * (NVIDIA aiconfigurator's collector rotates over 5 copies of a GEMM's weights, regardless of size;
 * DeepEP's benchmark zeroes 256 MB between calls; nccl-tests shifts its buffers, which have the
 * largest requested size.)
 *
 * Operands smaller than 2 L2 / ORR_ROTATION_MOST (98 kB on an H100) stay partly in the cache; the
 * row then says `warm-l2`.
 */
#pragma once

#include "calibration/measure/device_layer.h"

enum { ORR_ROTATION_MOST = 1024 }; /* a CUDA graph has one node per call of a repeat */

guint orr_rotation_sets(double touched_bytes, double held_bytes, const OrrBenchFacts *facts);

/* Whether @n_sets of @touched_bytes are too small to replace the L2 cache. */
gboolean orr_rotation_is_warm(guint n_sets, double touched_bytes, const OrrBenchFacts *facts);

/* The calls of one repeat: 2 ms of calls that take @us each, and each set once, unless a call
 * takes 1 ms or longer. */
guint orr_rotation_calls(double us, guint n_sets);

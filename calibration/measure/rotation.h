/*
 * rotation.h - how many sets of operands a kernel runs on in turn, so that each call finds its
 * operands in memory.
 *
 * In a model a layer's weights come from memory: the layers between two uses of them have replaced
 * the L2 cache. A benchmark that calls a kernel again and again on the same operands measures the
 * cache instead. So calls go round `sets` copies that together are larger than twice the L2 cache:
 *
 *   sets = ceil(2 L2 / touched) + 1        at most 0.4 memory / held, and at most ORR_ROTATION_MOST
 *
 * `touched` are the bytes that one call reads and writes, `held` those that one set occupies. They
 * differ where a call uses a part of its operands: a rank that holds 16 experts and routes one
 * token to one of them touches that expert. Counting all 16 would keep the one in the cache.
 * (NVIDIA aiconfigurator's collector goes round 5 copies of a GEMM's weights, whatever their size;
 * DeepEP's benchmark zeroes 256 MB between calls; nccl-tests shifts its buffers, which are of the
 * largest size asked.)
 *
 * Operands below 2 L2 / ORR_ROTATION_MOST (98 kB on an H100) stay in the cache in part; the row
 * then says `warm-l2`.
 */
#ifndef ORR_ROTATION_H
#define ORR_ROTATION_H

#include "calibration/measure/device_layer.h"

G_BEGIN_DECLS

enum { ORR_ROTATION_MOST = 1024 }; /* a CUDA graph has a node for each call of a repeat */

guint orr_rotation_sets(double touched_bytes, double held_bytes, const OrrBenchFacts *facts);

/* Whether @n_sets of @touched_bytes are too small to replace the L2 cache. */
gboolean orr_rotation_is_warm(guint n_sets, double touched_bytes, const OrrBenchFacts *facts);

/* Calls of one repeat: 2 ms of calls that take @us each, and each set once, unless calls take 1
 * ms or longer. */
guint orr_rotation_calls(double us, guint n_sets);

G_END_DECLS

#endif

/*
 * judge.h - finds measured rows that contradict the other rows of their kind (judge.c has the
 * laws), for tables that are curves: exchanges of tokens, collectives, experts. Tables over three
 * axes have grid_odd.c.
 *
 * Two kinds of tables have no judge, because the laws do not hold for them and each has one source,
 * so that no other can decide:
 *
 *   library-gemm      (cost_library_gemm.c) A benchmark repeats a product, and a cache can hold the
 *                     weights of one and not of a larger one, which then takes more time than its
 *                     work explains: 25 of 352 bf16 rows of L40S (96 MiB) would be excluded, 40 of
 *                     RTX PRO 6000 (128 MiB), none of H100. Of rows of one (n, k) alone, the laws
 *                     would remove one in all 33 tables: 12288 x 2048 at m = 1 on L40S, 57.6 us,
 *                     where m = 2 to 32 take 20 to 26 us. It alone read its 48 MiB from memory.
 *   serving kernels   (cost_serving.c) The same holds for swiglu: 0.018 us per token up to 784
 *                     tokens and 0.046 at 1,936. A decode that runs with a prompt's chunk is
 *                     computed in tiles of the chunk's size, so half of the pairs of such rows
 *                     contradict each other. The laws hold for the embedding: they would remove six
 *                     rows that take 2 us more than rows of more tokens.
 */
#pragma once

#include "calibration/cost/cost.h"

typedef struct {
  guint curve;       /* rows of one curve differ in size alone */
  guint kind;        /* from 0; only rows of one kind are compared, and a curve has one kind */
  double size;       /* of the call: tokens, bytes, rows of a product */
  double volume;     /* what the call moves or computes per unit of size, in any unit of the kind */
  gboolean is_bytes; /* of an engine's own all-reduce: no tiles to fill, no protocol to switch */
  double time_s;
  /* Set by orr_judge_rows. */
  double log_time, log_work;
  gboolean is_aside;
  guint witness; /* of an excluded row: the index of a row that it contradicts */
} OrrJudgedRow;

/* Marks the rows of @rows, an array of OrrJudgedRow, that are to be excluded; returns how many. */
guint orr_judge_rows(GArray *rows);

/* A point of a curve that was excluded: an estimate from other rows stands in its place. */
typedef struct {
  guint at;   /* index in the curve */
  OrrHow how; /* the estimate is known: interpolated in the curve, or outside of its rows */
  char *why;  /* a clause with the row's time: "excluded: the row here says 12.2 ms, but ..." */
} OrrAside;

/* An array of OrrAside, which frees their texts. */
GArray *orr_judge_asides_new(void);
/* @witness: how to name row @at's witness, such as "32 ranks, 4096 tokens". */
OrrAside orr_judge_aside(const GArray *rows, guint at, const char *witness);
/* The excluded row that an answer at @size rests on: of the points at both sides of it, or of the
 * last two beyond the end. @asides may be NULL. NULL: it rests on none. @sizes: of double, rising.
 * */
const OrrAside *orr_judge_near(const GArray *asides, const GArray *sizes, double size);

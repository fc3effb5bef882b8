/*
 * judge.h - finds measured rows that contradict the other rows of their kind (judge.c has
 * the laws), for tables that are curves: exchanges of tokens, collectives, experts, products of
 * one library. Tables over three axes have grid_odd.c.
 */
#ifndef ORR_JUDGE_H
#define ORR_JUDGE_H

#include "calibration/cost/cost.h"

G_BEGIN_DECLS

typedef struct {
  guint curve;   /* rows of one curve differ in size alone */
  guint kind;    /* from 0; only rows of one kind are compared, and a curve has one kind */
  double size;   /* of the call: tokens, bytes, rows of a product */
  double volume; /* what the call moves or computes per unit of size, in any unit of the kind */
  double time_s;
  /* Set by orr_judge_rows. */
  double log_time, log_work;
  gboolean is_aside;
  guint witness; /* of a row set aside: the index of a row that it contradicts */
} OrrJudgedRow;

/* Marks the rows of @rows, an array of OrrJudgedRow, that are to be set aside; returns how many. */
guint orr_judge_rows(GArray *rows);

/* A point of a curve that was set aside: an estimate from other rows stands in its place. */
typedef struct {
  guint at;   /* index in the curve */
  OrrHow how; /* the estimate is known: interpolated in the curve, or outside of its rows */
  char *why;  /* a clause with the row's time: "set aside: the row here says 12.2 ms, but ..." */
} OrrAside;

/* An array of OrrAside, which frees their texts. */
GArray *orr_judge_asides_new(void);
/* @witness: how to name row @at's witness, such as "32 ranks, 4096 tokens". */
OrrAside orr_judge_aside(const GArray *rows, guint at, const char *witness);
/* The aside that an answer at @size rests on: of the points at both sides of it, or of the last two
 * beyond the end. @asides may be NULL. NULL: it rests on none. @sizes: of double, rising. */
const OrrAside *orr_judge_near(const GArray *asides, const GArray *sizes, double size);

G_END_DECLS

#endif

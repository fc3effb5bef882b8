/*
 * fit.h - makes a profile from measured rows: what `orrery calibrate fit` does.
 *
 * The tables come from orr_measured_import. To them it adds the constants that the rows
 * determine, each with how it was found, and the errors of a cross-validation with these constants
 * (crossval.h, profile.h):
 *
 *   kernel-overhead       the shortest GEMM row
 *   gemm-efficiency       the best rate of a GEMM row, as a share of its format's peak
 *   gemm-wave-share       of 0, 0.25 .. 1 the one with the least mean error on products left out
 *   memory-efficiency     the best bandwidth of a GEMM row that moves 256 MB or more
 *   attention-efficiency  the best rate of a prefill row, as a share of the peak
 *   collective-launch, scale-up-step
 *                         the line through the shortest all-reduce of each number of ranks over its
 *                         2 (n - 1) ring steps
 *
 *   overlap-slowdown, overlap-slowdown-by-copy, collective-slowdown, collective-slowdown-by-copy,
 *   copy-slowdown, copy-slowdown-by-collective
 *                         the mean ratio of a product, an all-reduce or a copy during another of
 *                         them to itself alone (interference.csv); where there are no such rows the
 *                         profile says that 1 is assumed
 *
 * A constant that the rows do not determine keeps its default and is not written. No constant is
 * fitted to a single row, except the extremes that are named as such.
 */
#pragma once

#include "calibration/cost/cost.h"

typedef struct {
  const char *folder;          /* gemm.csv, attention_prefill.csv ... */
  const char *collectives_csv; /* NULL: none */
  const char *system;          /* whose rows of @collectives_csv */
  const char *name;            /* the profile's; NULL: the device's */
  guint n_rows;                /* to keep (measured_private.h); 0: all */
} OrrFitOrder;

/* The YAML text of the profile. NULL with ORR_FAULT_DOCUMENT, which names every bad line, or
 * ORR_FAULT_RESOURCE. */
char *orr_fit(const OrrFitOrder *order, const OrrDevice *device, GError **error);

/* What interference.csv watches: products, copies by a copy engine, copies within the device,
 * all-reduces. */
typedef enum {
  ORR_FIT_COMPUTE,
  ORR_FIT_COPY,
  ORR_FIT_MEMORY,
  ORR_FIT_COMM,
  ORR_FIT_N_KINDS
} OrrFitKind;

/* A mean of ratios of times, and the number of ratios; 1 where there are none. */
typedef struct {
  double mean;
  guint n;
} OrrFitRatio;

/* NCCL held to `blocks` thread blocks: a product during an all-reduce to itself alone, the
 * all-reduce likewise, and the all-reduce alone to one that is not held. */
typedef struct {
  double blocks;
  OrrFitRatio compute, comm, alone;
} OrrFitLimited;
enum { ORR_FIT_MOST_LIMITED = 8 };

typedef struct {
  OrrFitRatio by[ORR_FIT_N_KINDS][ORR_FIT_N_KINDS]; /* [watched][companion] */
  OrrFitLimited limited[ORR_FIT_MOST_LIMITED];
  guint n_limited;
} OrrFitOverlap;

/* Reads interference.csv of @folder (calibration/measure/family_interference.c); no rows where
 * there is no such file. FALSE with ORR_FAULT_DOCUMENT naming every bad line: a missing column,
 * a bad number or time, a repeated row. */
gboolean orr_fit_overlap(const char *folder, OrrFitOverlap *ret_overlap, GError **error);

/* Sets the constants that @profile's rows and @overlap determine in @profile, and returns them
 * as the lines of a `constants:` section; "" for none. Newly allocated. */
char *orr_fit_constants(OrrProfile *profile, const OrrDevice *device, const OrrFitOverlap *overlap,
                        GError **error);

/*
 * nccl_diagnosis.h - is a measured curve of nccl-tests what a machine should reach, and if not,
 * which known fault has such a curve?
 *
 *   1. A size is slow (fast) where its measured time lies above (below) the band of the healthy
 *      replay, which is at least 10 % either way. Where fewer than a quarter of the sizes are slow,
 *      the log is as expected: one in ten lies above an 80 % band by chance.
 *   2. Otherwise every suspect is replayed. With r_i = ln(measured / replayed) at size i,
 *
 *        misfit = sqrt(variance of r + (mean of r / 2)^2)
 *
 *      so shape counts more than a constant factor, which errors of the model have, too.
 *   3. A suspect explains the log where four fifths of the sizes lie in the band around its own
 *      curve, and its misfit is at most 0.6 of the healthy curve's.
 *   4. Suspects whose misfit is at most 1.3 times the best one's plus 0.02 fit as well: 2 % is by
 *      how much repeated measurements differ.
 */
#pragma once

#include "sim/run/scenario.h"
#include "topologies/fabric.h"
#include "workloads/collectives/collective.h"

/* nccl_curve.c: what nccl-tests would print on a machine: a collective's times over sizes.
 *
 *   question (machine, collective, ranks, sizes) + settings -> scenario -> replay -> curve
 *
 * Each curve is replayed in a process of its own, several at once. */

/* One run of nccl-tests. */
typedef struct {
  const char *cluster;  /* a name of the library, or a file */
  gint64 nodes;         /* 0: as the cluster's document has it */
  gint64 ranks, stride; /* ranks 0: all GPUs */
  OrrCollectiveOp op;
  double begin_bytes, end_bytes, factor, step_bytes; /* step 0: the factor counts */
  char *const *settings;                             /* --set of the scenario; NULL: none */
} OrrNcclCurveQuestion;

typedef struct {
  double bytes, time_s;
  double low_s, high_s; /* the 80 % band of a measurement; NAN: none */
  double typical_s;     /* its median; NAN: none */
  double algbw_bytes_per_s, busbw_bytes_per_s;
  char algorithm[24], protocol[8], how[40];
} OrrNcclCurvePoint;

typedef struct {
  GError *error;  /* NULL: fine */
  GArray *points; /* of OrrNcclCurvePoint, by size; NULL where there is an error */
} OrrNcclCurve;

void orr_nccl_curve_free(OrrNcclCurve *curve); /* NULL is fine */

/* What to replay: @question, with further settings. */
typedef struct {
  const OrrNcclCurveQuestion *question;
  char **settings;   /* NULL: none */
  gboolean has_band; /* whether to fill the bounds */
} OrrNcclCurveOrder;

/* Returns an OrrNcclCurve * for each of the @n orders, in their order; @jobs at once, 0: one per
 * core. The caller owns the array. */
GPtrArray *orr_nccl_curve_replay(OrrLibrary *library, const OrrNcclCurveOrder *orders, guint n,
                                 guint jobs);

/* Time at @bytes: between two points by a straight line of logarithms, outside them the nearest
 * rate or time. @curve has points. */
double orr_nccl_curve_at(const OrrNcclCurve *curve, double bytes);

/* The scenario of @question, with @settings after the question's own (NULL: none), checked. NULL
 * with @error. */
OrrScenario *orr_nccl_curve_scenario(OrrLibrary *library, const OrrNcclCurveQuestion *question,
                                     char *const *settings, GError **error);

/* --- nccl_diagnosis.c --- */

/* nccl_faults.c: known reasons why nccl-tests prints less than a machine should reach, each as
 * changes of the scenario: a fault's curve is a replay, never a table.
 *
 *   no-gdr      --set cluster.node.gpudirect-rdma=false, traffic over the host bridge
 *   slow-nic    --set faults=[{at: 0 s, fault: {kind: nic, gpu: 8, bandwidth: 50 %}}]
 *
 * To add one: a row of the table in nccl_faults.c with the function that writes its settings.
 */

typedef struct {
  const char *name;     /* "no-gdr" */
  const char *sentence; /* "NICs do not read and write GPU memory (no GPUDirect RDMA)" */
  const char *check;    /* how a person confirms it */
} OrrNcclFault;

/* A fault in one strength. */
typedef struct {
  const OrrNcclFault *fault;
  char *strength;  /* "at 50 %"; "": it has one only */
  char **settings; /* of the scenario */
} OrrNcclSuspect;

/* The machine that was measured. */
typedef struct {
  const OrrCluster *cluster;
  const OrrFabric *fabric;
  const OrrNcclCurveQuestion *question;
} OrrNcclSite;

/* All faults that such a machine and run can have: array of OrrNcclSuspect, owned. */
GArray *orr_nccl_faults_suspects(const OrrNcclSite *site);

typedef struct {
  double bytes, time_s;
} OrrNcclMeasured;

typedef enum {
  ORR_NCCL_AS_EXPECTED,
  ORR_NCCL_FASTER,      /* half of the sizes are fast, fewer than a quarter slow */
  ORR_NCCL_EXPLAINED,   /* by one fault */
  ORR_NCCL_AMBIGUOUS,   /* by several, whose curves are alike */
  ORR_NCCL_UNEXPLAINED, /* slow, and no known fault has such a curve, or fewer than 3 sizes */
} OrrNcclVerdict;

extern const char *const orr_nccl_verdict_words[]; /* "as-expected", "faster", ..., NULL */

/* A fault in the strength that fits best. */
typedef struct {
  const OrrNcclFault *fault;
  char *strength;
  double misfit;
  gboolean explains, is_likely; /* is_likely: explains, and as well as the best one */
  guint n_within;               /* sizes in the band around its curve */
} OrrNcclFit;

typedef struct {
  OrrNcclVerdict verdict;
  guint n, n_slow, n_fast;
  double misfit;      /* of the healthy curve */
  gboolean has_band;  /* FALSE: nothing measured is like it, so 25 % either way are taken */
  GArray *fits;       /* of OrrNcclFit, best first; one per fault that is visible in this run */
  GPtrArray *hidden;  /* names of faults that would change no size by 3 % */
  GPtrArray *refused; /* "name: why" of faults that cannot be replayed on the machine */
} OrrNcclDiagnosis;

/* Judges @measured (of OrrNcclMeasured, at least one) by @healthy, and, where it is slow, by
 * replays of all suspects of @site, @jobs at once. */
OrrNcclDiagnosis *orr_nccl_diagnosis_new(OrrLibrary *library, const OrrNcclSite *site,
                                         const OrrNcclCurve *healthy, const GArray *measured,
                                         guint jobs);
/* The same with curves that are known: of @suspects (orr_nccl_faults_suspects), in their order. */
OrrNcclDiagnosis *orr_nccl_diagnosis_of(const OrrNcclCurve *healthy, const GArray *suspects,
                                        const GPtrArray *curves, const GArray *measured);
/* The curves of @suspects of @question: as orr_nccl_curve_replay. */
GPtrArray *orr_nccl_diagnosis_replay(OrrLibrary *library, const OrrNcclCurveQuestion *question,
                                     const GArray *suspects, guint jobs);
void orr_nccl_diagnosis_free(OrrNcclDiagnosis *diagnosis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNcclDiagnosis, orr_nccl_diagnosis_free)

/* Bounds of @healthy's time at @bytes, at least 10 % either way; FALSE: there is no band, and 25 %
 * are taken. */
gboolean orr_nccl_diagnosis_band(const OrrNcclCurve *healthy, double bytes, double *ret_low_s,
                                 double *ret_high_s);

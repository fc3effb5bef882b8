/*
 * crossval_private.h - what the crossval*.c files share. Nobody else includes it.
 *
 * To add a family: a file crossval_NAME.c with one `const OrrCrossvalFamily`, and its place in the
 * array of crossval.c.
 */
#ifndef ORR_CROSSVAL_PRIVATE_H
#define ORR_CROSSVAL_PRIVATE_H

#include "calibration/cost/cost_private.h"
#include "calibration/crossval/crossval.h"

G_BEGIN_DECLS

/* One fold of one table: what the rest is made into, and what is asked of it. */
typedef struct {
  /* the profile with that table alone, less what is left out; its arrays are borrowed or owned
   * by */
  OrrProfile rest;
  GPtrArray *owned; /* what must live as long (GPtrArray*, by orr_crossval_own) */
  GArray *left_out; /* OrrCrossvalPoint: keys and measured_s */
} OrrCrossvalFold;

typedef struct OrrCrossvalFamily {
  const char *name;
  const char *const *keys;    /* of a point, NULL-terminated */
  const char *const *regions; /* NULL-terminated, "outside" last */
  guint (*n_tables)(const OrrProfile *profile);
  char *(*label)(const OrrProfile *profile, guint table);
  /* Fills @fold, whose `rest` has no tables yet. FALSE with @error on text that is no list of
   * numbers. */
  gboolean (*leave_out)(const OrrProfile *profile, guint table, guint fold,
                        OrrCrossvalFold *ret_fold, GError **error);
  OrrCost (*ask)(const OrrCostModel *model, const OrrProfile *profile, guint table,
                 const OrrCrossvalPoint *point);
  guint (*region)(const OrrCostModel *model, const OrrProfile *profile, guint table,
                  const OrrCrossvalPoint *point);
} OrrCrossvalFamily;

extern const OrrCrossvalFamily orr_crossval_attention, orr_crossval_collectives,
    orr_crossval_dispatch, orr_crossval_gemm, orr_crossval_moe;

/* The fold of the @shape-th shape: shapes that stand beside each other in a table land in
 * different ones, by chance. */
guint orr_crossval_fold_of(guint shape);

/* A copy of a list of rows without those of @fold; the rows stay the profile's. */
GPtrArray *orr_crossval_rest(const GPtrArray *rows, guint fold, OrrCrossvalFold *into);

/* A struct of @size, copied, that lives as long as the fold. */
gpointer orr_crossval_own(OrrCrossvalFold *fold, gconstpointer data, gsize size);
char *orr_crossval_own_text(OrrCrossvalFold *fold, char *text);
/* An array of the one pointer, or none; lives as long as the fold. */
GPtrArray *orr_crossval_own_list(OrrCrossvalFold *fold, gpointer only);

/* Latency, memory or compute: which part of the roofline is the largest. Region names to go with
 * it. */
guint orr_crossval_bound(const OrrCostModel *model, double compute_s, double memory_s);
extern const char *const orr_crossval_bounds[];

G_END_DECLS

#endif

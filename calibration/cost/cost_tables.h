/*
 * cost_tables.h - one table of a profile at a time: made into a grid or curves, and looked up.
 *
 * Each cost_FAMILY.c gives these functions. cost.c, query.c and cross-validation call them;
 * everyone else calls orr_cost_operator and the functions of cost.h.
 */
#pragma once

#include "calibration/cost/cost.h"
#include "calibration/cost/grid.h"
#include "calibration/profile/profile_moe.h"
#include "calibration/profile/profile_private.h"

typedef struct OrrCostAttention OrrCostAttention;     /* cost_attention.c */
typedef struct OrrCostCollective OrrCostCollective;   /* cost_collective.c */
typedef struct OrrCostLibraryGemm OrrCostLibraryGemm; /* cost_library_gemm.c */
typedef struct OrrCostMoe OrrCostMoe;                 /* cost_moe.c */

/* cost_build.c: the tables of @model that are built at their first use. NULL: the profile has no
 * such rows. The model of measured rates builds them, so the answer is the same whichever of a
 * model's own views asks. The last one is never NULL. */
const OrrGrid *orr_cost_build_gemm(const OrrCostModel *model, OrrDtype dtype);
/* The grid of a table of the profile's `gemm`, by its index. */
const OrrGrid *orr_cost_build_gemm_at(const OrrCostModel *model, guint table);
const GPtrArray *orr_cost_build_attention(const OrrCostModel *model, OrrProfilePhase phase,
                                          OrrDtype kv_dtype);
const GPtrArray *orr_cost_build_moe(const OrrCostModel *model);
/* Which table of `gemm` answers for products of @dtype, best first: of the layout, or forward; of
 * the @release (as far as it says: "cublas-12" is any 12.x; NULL: any), or of none that is stated;
 * with rows of @shape's n and k (NULL: any); of the newest release. -1: no table has rows of @dtype
 * with @batch products a call. */
int orr_cost_build_gemm_find(const OrrCostModel *model, OrrDtype dtype, OrrGemmLayout layout,
                             const OrrGemmShape *shape, gint64 batch, const char *release);
gboolean orr_cost_build_gemm_is_of(const OrrProfileGemm *table, const char *release);
/* Whether the profile has rows of products in @dtype; builds nothing. */
gboolean orr_cost_build_has_gemm(const OrrCostModel *model, OrrDtype dtype);
/* Refuses a profile whose tables cannot be built: two of one format, or a table without a
 * number. */
gboolean orr_cost_build_check(const OrrProfile *profile, GError **error);

/* The grid of a table with rows; @model: with the rates of the rows. */
OrrGrid *orr_cost_gemm_build(const OrrCostModel *model, const OrrProfileGemm *table,
                             GError **error);
OrrCost orr_cost_gemm(const OrrCostModel *model, const OrrOperator *op);
/* The same by the profile's own table or the roofline, without tables of libraries. */
OrrCost orr_cost_gemm_own(const OrrCostModel *model, const OrrOperator *op);
gboolean orr_cost_gemm_holds(const OrrCostModel *model, OrrDtype dtype);
double orr_cost_gemm_roofline_s(const OrrCostModel *model, OrrDtype dtype, double m, double n,
                                double k);

/* Adds the table to the model; its rows are read at the first query, by the rates of @rates, a
 * view of @model. @is_here: @table was measured on the model's device, whose profile borrows its
 * other rows. */
void orr_cost_library_gemm_add(OrrCostModel *model, const OrrCostModel *rates,
                               const OrrProfileLibraryGemm *table, gboolean is_here);
void orr_cost_library_gemm_free(OrrCostLibraryGemm *gemm);
gboolean orr_cost_library_gemm_holds(const OrrCostModel *model, OrrDtype dtype);
/* @own: the profile's own answer; @has_own: from a table of the product's format. */
OrrCost orr_cost_library_gemm(const OrrCostModel *model, const OrrOperator *op, gboolean has_own,
                              OrrCost own);

/* Adds the grids of @table to @built, of OrrCostAttention* of its phase and format. */
gboolean orr_cost_attention_build(const OrrCostModel *model, const OrrProfileAttention *table,
                                  GPtrArray *built, GError **error);
void orr_cost_attention_free(OrrCostAttention *attention);
/* Fills all of its grids, which are else filled as they are asked for. */
void orr_cost_attention_fill(const OrrCostAttention *attention);
/* The grid whose axes (key heads, batch, length) have a row of exactly this shape, if one was
 * measured; NULL: none. @ret_point: where. */
const OrrGrid *orr_cost_attention_grid(const OrrCostModel *model, const OrrOperator *op,
                                       OrrDtype kv_dtype, double *ret_point);
void orr_cost_attention_count(const OrrCostAttention *attention, guint *ret_asides,
                              guint *ret_rows);
gboolean orr_cost_attention_holds(const OrrCostModel *model, OrrProfilePhase phase, OrrDtype dtype);
/* A decode step may read keys and values in another format than it computes in. */
OrrCost orr_cost_attention(const OrrCostModel *model, const OrrOperator *op, OrrDtype kv_dtype);

OrrCostMoe *orr_cost_moe_build(const OrrCostModel *model, const OrrProfileMoe *table,
                               GError **error);
void orr_cost_moe_free(OrrCostMoe *moe);
OrrDtype orr_cost_moe_dtype(const OrrCostMoe *moe);
/* Here and below: the numbers of rows of the table and of rows excluded. */
void orr_cost_moe_count(const OrrCostMoe *moe, guint *ret_asides, guint *ret_rows);
OrrCost orr_cost_moe(const OrrCostModel *model, const OrrOperator *op);
gboolean orr_cost_moe_holds(const OrrCostModel *model, OrrDtype dtype);

OrrCost orr_cost_memory(const OrrCostModel *model, const OrrOperator *op);

/* Time at @size on the curve through the rows (@axis rises): a power law between two rows, relative
 * to the line from the first row to the last one's time per byte. */
OrrCost orr_cost_collective_between(const GArray *axis, const GArray *us, double size);

gboolean orr_cost_library_build(OrrCostModel *model, const GPtrArray *rows, GError **error);
/* Of the @at-th row of the profile. */
void orr_cost_library_count(const OrrCostModel *model, guint at, guint *ret_asides,
                            guint *ret_rows);

void orr_cost_serving_init(OrrCostModel *model);
void orr_cost_serving_clear(OrrCostModel *model);
gboolean orr_cost_serving_build(OrrCostModel *model, const OrrProfile *profile, GError **error);

gboolean orr_cost_collective_build(OrrCostModel *model, const OrrProfileCollective *row,
                                   GError **error);
void orr_cost_collective_free(OrrCostCollective *collective);
/* Once all collectives are built: excludes rows that contradict others. */
void orr_cost_collective_judge(OrrCostModel *model);
void orr_cost_collective_count(const OrrCostCollective *collective, guint *ret_asides,
                               guint *ret_rows);

/* A ring over @n_ranks of one domain, by the profile's constants, over PCIe where the device has
 * no scale-up link; infinite on a device that states neither. */
OrrCost orr_cost_collective_ring(const OrrCostModel *model, const char *op, gint64 n_ranks,
                                 double bytes);

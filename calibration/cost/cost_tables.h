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

/* judge.c: finds measured rows that contradict the other rows of their kind (judge.c has the
 * laws), for tables that are curves: exchanges of tokens, collectives, experts. Tables over
 * three axes have grid_odd.c.
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
 *                     rows that take 2 us more than rows of more tokens. */

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
 * last two beyond the end. @asides may be NULL. NULL: it rests on none. @sizes: of double,
 * rising. */
const OrrAside *orr_judge_near(const GArray *asides, const GArray *sizes, double size);

/* cost_narrow.c: products in 8 and 4 bits of programs that are not serving engines.
 *
 * A profile's fp8 and fp4 rows are a serving engine's linear layer, whose slow cast of the
 * activations is in them (fp8-row-launch, fp8-row-cast). A library that casts by a streaming kernel
 * takes
 *
 *   t = min(t_rows, t_16 R_d / R_16 + t_cast)
 *
 *   t_rows       the rows, with their cast
 *   t_16, R_16   the product in 16 bits, and its roofline; R_d the format's roofline: both are as
 *                far from theirs
 *   t_cast       reads m k elements of 16 bits and writes them in the format
 *
 * Nobody has measured such products in the profiles: the second is modelled. */

/* As orr_cost_sustained, for @op of any kind. */
OrrCost orr_cost_narrow(const OrrCostModel *model, const OrrOperator *op);

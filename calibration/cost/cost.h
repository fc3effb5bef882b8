/*
 * cost.h - how long one operator takes on one device, and how that is known.
 *
 * Measured points first; between them interpolation; outside them a roofline with efficiencies that
 * the profile states. Every answer says which it was. One cost model is read-only after it is made,
 * and cheap to ask.
 */
#ifndef ORR_COST_H
#define ORR_COST_H

#include "calibration/profile/nccl_costs.h"
#include "calibration/profile/profile.h"
#include "models/operator.h"
#include "topologies/device.h"

G_BEGIN_DECLS

typedef enum {
  ORR_HOW_MEASURED,     /* a row of the profile */
  ORR_HOW_INTERPOLATED, /* between rows, inside the measured range */
  ORR_HOW_CARRIED,      /* rows of another device, carried to this one's rates */
  ORR_HOW_MODELLED,     /* by formula, with constants of the profile or the datasheet */
  ORR_HOW_OUTSIDE       /* outside the measured range: extrapolated, flagged in results */
} OrrHow;

extern const char *const
    orr_how_words[]; /* "measured", "interpolated", "carried-over", "modelled", "outside", NULL */

typedef struct {
  double time_s; /* on the GPU, the profile's kernel overhead included */
  OrrHow how;
  /* the device of a row that the profile itself says another one measured; NULL: the profile's */
  const char *from;
} OrrCost;

typedef struct OrrCostModel OrrCostModel;

/* @profile may be NULL: then everything is modelled from the datasheet. Both must outlive the
 * model. */
OrrCostModel *orr_cost_model_new(const OrrProfile *profile, const OrrDevice *device,
                                 GError **error);
/* The same for a @device that differs from the one that the rows were @measured_on (a what-if:
 * more bandwidth, another clock): what a table holds is how far a kernel is from its device's
 * roofline, and that is kept. */
OrrCostModel *orr_cost_model_new_scaled(const OrrProfile *profile, const OrrDevice *measured_on,
                                        const OrrDevice *device, GError **error);
void orr_cost_model_free(OrrCostModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCostModel, orr_cost_model_free)

/* The device that the rows are of where it is another one, or the same one with other rates (a
 * what-if); NULL: the model's own. And @how with that name, for people and results: "carried
 * over from gb200". Interned; a NULL @carried_from names no device. */
const char *orr_cost_carried_from(const OrrCostModel *model);
const char *orr_cost_how_text(const char *carried_from, OrrHow how);

/* Why the row of a product was set aside, as a clause with the row's time; NULL where there is
 * no such row or it stands. And how many rows were, table by table: "gemm fp8 1972 of 25389", ""
 * for none. Newly allocated. */
char *orr_cost_gemm_aside(const OrrCostModel *model, OrrDtype dtype, double m, double n, double k);
char *orr_cost_asides(const OrrCostModel *model);

/* GEMM, ATTENTION, MEMORY, MOE. A COMM operator is not its business (0 s). */
OrrCost orr_cost_operator(const OrrCostModel *model, const OrrOperator *op);

/* The same amid others of its kind, under the board's power limit (cost_power.c): what steps of
 * training and serving ask. Never shorter; known as the row is. */
OrrCost orr_cost_sustained(const OrrCostModel *model, const OrrOperator *op);
/* of @op, found otherwise */
OrrCost orr_cost_limited(const OrrCostModel *model, const OrrOperator *op, OrrCost burst);

/* Of a MOE operator's fullest rank: pairs of a token and an expert, and experts that have any. */
void orr_cost_moe_load(const OrrMoeShape *shape, double *ret_pairs, double *ret_active);

/* The clock that a kernel of @flops_per_s in @dtype holds under the limit, in that at which it
 * reaches them; 1 where the profile does not know the device's power. Of @fleet boards, the
 * slowest one's (0, 1: a board as measured). */
double orr_cost_clock(const OrrCostModel *model, OrrDtype dtype, double flops_per_s, gint64 fleet);

/* on-missing: error. What the profile does not hold is then to be refused by whoever asks:
 * operators by orr_cost_missing, collectives by orr_collective_plan. To be said before the model
 * is used. */
void orr_cost_refuse_gaps(OrrCostModel *model);
gboolean orr_cost_refuses_gaps(const OrrCostModel *model);

/* "gemm fp8" where the profile holds no table for that operator in that format, so that another
 * one or the datasheet stands in; "memory-bound kernels" where it gives no shares of the
 * bandwidth at all (where it does, what it names no share for takes its memory-efficiency); NULL
 * where it does hold one. Newly allocated. */
char *orr_cost_missing(const OrrCostModel *model, const OrrOperator *op);

/* Time of one isolated NCCL collective inside a scale-up domain of this device, as measured: @op
 * as nccl-tests names it ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast",
 * "reduce", "sendrecv"), @bytes as nccl-tests counts them. FALSE where the profile has no such
 * rows for @n_ranks, or own ones alone that do not measure such sizes; the caller then models
 * it. */
gboolean orr_cost_collective(const OrrCostModel *model, const char *op, gint64 n_ranks,
                             double bytes, OrrCost *ret_cost);

/* Own rows of a profile that lie over a base without rows of that collective and number of
 * ranks, where @bytes is outside their range: orr_cost_collective leaves such a call to the
 * caller's model, and this says how own rows hand over to it (cost_collective.c). FALSE: nothing
 * to hand over. */
typedef struct {
  double edge_bytes, edge_s; /* the own row next to @bytes */
  double share; /* of its ratio to the base, that counts at @bytes: 1 at the edge, 0 far from it */
  gboolean is_below; /* @bytes is below the own range */
} OrrHandOver;
gboolean orr_cost_collective_hand_over(const OrrCostModel *model, const char *op, gint64 n_ranks,
                                       double bytes, OrrHandOver *ret_hand);

/* The model's time @base at @bytes, scaled by own rows; the model takes @base_edge_s at
 * edge_bytes. */
OrrCost orr_cost_hand_over(const OrrHandOver *hand, double base_edge_s, OrrCost base);

/* The profile's row of @algorithm (as the collectives' registry names it) and @protocol; FALSE:
 * there is none. */
gboolean orr_cost_nccl(const OrrCostModel *model, const char *algorithm, OrrProtocol protocol,
                       OrrNcclCosts *ret_costs);
gboolean orr_cost_has_nccl(const OrrCostModel *model); /* whether the profile has any such row */

/* A kernel of a library beside NCCL, as measured. */
typedef struct {
  /* "vllm", "trtllm": custom all-reduce; "deepep", "deepep-low-latency", "trtllm-two-sided",
   * "trtllm-one-sided": experts' tokens */
  const char *library;
  const char *op; /* "all_reduce", "dispatch", "combine", "prepare", "combine_low_precision" */
  gint64 n_ranks;
  double size;                  /* bytes; of experts: tokens of a rank */
  gint64 hidden, topk, experts; /* 0: not of experts */
  const char *dtype;            /* of the profile's rows, as orr_dtype_names; NULL: any */
} OrrLibraryCall;

/* FALSE where the profile has no rows of that library and operation, or, of an all-reduce, of
 * that number of ranks. Experts' tokens of a shape without rows: told from the shapes like it
 * (cost_library.c), ORR_HOW_INTERPOLATED; where no row has as many ranks, ORR_HOW_OUTSIDE. */
gboolean orr_cost_library(const OrrCostModel *model, const OrrLibraryCall *call, OrrCost *ret_cost);

/* Without rows: a launch, a step a peer, and the bytes of the token's copies over the device's
 * link to its peers (a ring's terms, cost_collective.c). */
OrrCost orr_cost_library_modelled(const OrrCostModel *model, const OrrLibraryCall *call);

/* The number of ranks that the kernel has rows of: the call's where there are any, else the
 * fewest; 0: no rows. */
gint64 orr_cost_library_ranks(const OrrCostModel *model, const OrrLibraryCall *call);

/* How many copies of a token leave its rank, its own among them: one for each expert
 * (low-latency kernels), or for each rank that holds one of its experts, the experts drawn
 * without preference. */
double orr_cost_library_copies(const char *library, gint64 n_ranks, gint64 topk, gint64 experts);

/* What collectives without such rows are modelled by: the profile's constants, as one protocol. */
OrrNcclCosts orr_cost_collective_constants(const OrrCostModel *model);

/* How many times longer compute takes while a collective runs beside it (1 where the profile
 * does not say). */
double orr_cost_overlap_slowdown(const OrrCostModel *model);

/* Host time between two kernels that a stream of small kernels cannot go below (launch bound),
 * seconds. Eager software dispatches several operators (views, random-number states, autograd's
 * nodes) for each kernel. */
double orr_cost_host_launch_s(const OrrCostModel *model, OrrKernels kernels);

/* Host time of one operator in training, seconds: the profile's operator-dispatch, or
 * host-launch as above. */
double orr_cost_operator_dispatch_s(const OrrCostModel *model, OrrKernels kernels);

G_END_DECLS

#endif

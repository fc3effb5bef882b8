/*
 * cost.h - predicts how long one operator takes on one device, and says how that is known.
 *
 * A cost model looks up measured points first, interpolates between them, and uses a roofline with
 * the profile's efficiencies outside them. Every answer says which of these it is. The first query
 * of a kind (products in bf16, say) builds its table; after that, queries are cheap.
 */
#pragma once

#include "calibration/profile/nccl_costs.h"
#include "calibration/profile/profile.h"
#include "models/operator.h"
#include "sim/base/interference.h"
#include "topologies/device.h"

typedef enum {
  ORR_HOW_MEASURED,     /* a row of the profile */
  ORR_HOW_INTERPOLATED, /* between rows, inside the measured range */
  ORR_HOW_CARRIED,      /* from rows of another device, scaled to this one's rates */
  ORR_HOW_MODELLED,     /* by formula, with constants of the profile or the datasheet */
  ORR_HOW_OUTSIDE       /* extrapolated beyond the measured range; flagged in results */
} OrrHow;

extern const char *const
    orr_how_words[]; /* "measured", "interpolated", "carried-over", "modelled", "outside", NULL */

typedef struct {
  double time_s; /* on the GPU, including the profile's kernel overhead */
  OrrHow how;
  /* The device on which the row was measured, where the profile says that it was another one;
   * NULL: the profile's device. */
  const char *from; /* or the library of kernels, where another one was asked for */
  /* Measured on the device itself, although the profile's other rows are of another one. */
  gboolean from_here;
  /* Why a measured row that it would rest on is not used (judge.c); NULL: none. The model's. */
  const char *aside;
} OrrCost;

typedef struct OrrCostModel OrrCostModel;
typedef struct OrrCostTables OrrCostTables; /* what models build of a profile */

/* @profile may be NULL: then the datasheet models everything. Both must outlive the model. */
OrrCostModel *orr_cost_model_new(const OrrProfile *profile, const OrrDevice *device,
                                 GError **error);
/* The same for a @device that differs from the one @measured_on which the rows were taken (a
 * what-if: more bandwidth, another clock). A table holds each kernel's distance from the
 * roofline of its device; that distance is kept. @named is the unchanged device of @device's name,
 * on which some of the rows may have been measured; NULL: @device. */
OrrCostModel *orr_cost_model_new_scaled(const OrrProfile *profile, const OrrDevice *measured_on,
                                        const OrrDevice *named, const OrrDevice *device,
                                        GError **error);
void orr_cost_model_free(OrrCostModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCostModel, orr_cost_model_free)

/* Makes @model use @tables, which must outlive it, instead of its own. Call before the first query.
 * Models of one profile may share tables if their devices @measured_on and @named have equal
 * rates; what one of them builds, the others find built. */
void orr_cost_model_share(OrrCostModel *model, OrrCostTables *tables);
/* Builds all tables now: processes forked afterwards find them built. */
void orr_cost_build_all(const OrrCostModel *model);
/* For models of @profile; NULL: none. */
OrrCostTables *orr_cost_tables_new(const OrrProfile *profile);
void orr_cost_tables_free(OrrCostTables *tables);

/* How many times as long a byte takes over the links of the model's device as over those with which
 * its rows were measured; at least 1. A device without a scale-up link has its host link. */
double orr_cost_links_slower(const OrrCostModel *model);

/* The device of the rows, where it is another one or the same one with other rates (a what-if);
 * NULL: the model's own. The second function returns @how with that name, for people and
 * results: "carried over from gb200". Interned; a NULL @carried_from names no device. */
const char *orr_cost_carried_from(const OrrCostModel *model);
const char *orr_cost_how_text(const char *carried_from, OrrHow how);

/* Rows that are excluded because they contradict the other rows of their table (grid_odd.c,
 * judge.c). orr_cost_asides: how many of which table, "gemm fp8 1972 of 25389, deepep combine 12 of
 * 322"; "" for none. The others: why the row of a product or of attention was excluded, as a
 * clause with the row's time; NULL where there is no row or it is used. Newly allocated. */
char *orr_cost_asides(const OrrCostModel *model);
char *orr_cost_gemm_aside(const OrrCostModel *model, OrrDtype dtype, double m, double n, double k);
char *orr_cost_attention_aside(const OrrCostModel *model, const OrrOperator *op, OrrDtype kv_dtype);

/* The 16-bit peak rate of a multiprocessor, as a fraction of one of the device whose rows these
 * are: 0.25 for an H20, which has the H100's multiprocessors with slower tensor cores. 1 where
 * either is not known. */
double orr_cost_tensor_share(const OrrCostModel *model);

/* For GEMM, ATTENTION, MEMORY and MOE. 0 s for a COMM operator: collectives cost that. */
OrrCost orr_cost_operator(const OrrCostModel *model, const OrrOperator *op);

/* The same in a long run of such operators, under the board's power limit (cost_power.c).
 * Training uses it. Never less than the burst cost; `how` is unchanged. */
OrrCost orr_cost_sustained(const OrrCostModel *model, const OrrOperator *op);
/* The same among others, whose joules are added up and stretched together
 * (orr_cost_energy_stretch): at the clock that the limit leaves. Serving steps use it: their
 * kernels take less than the milliseconds over which a board averages its power. */
OrrCost orr_cost_among(const OrrCostModel *model, const OrrOperator *op);
/* Applies that clock to @burst, a cost of @op found another way. */
OrrCost orr_cost_limited(const OrrCostModel *model, const OrrOperator *op, OrrCost burst);

/* The load of the fullest rank: pairs of a token and an expert, and experts with at least one
 * token. */
/* The memory's time for the weights and activations of the experts @op, seconds. */
double orr_cost_moe_bytes_s(const OrrCostModel *model, const OrrOperator *op);
/* The profile's moe-overhead, seconds. */
double orr_cost_moe_overhead_s(const OrrCostModel *model);
/* The profile's kernel-overhead: the GPU time of the smallest kernel, seconds. */
double orr_cost_kernel_overhead_s(const OrrCostModel *model);
void orr_cost_moe_load(const OrrMoeShape *shape, double *ret_pairs, double *ret_active);

/* The clock that the power limit leaves a kernel of @flops_per_s in @dtype, as a fraction of the
 * clock at which it reaches that rate; 1 where the profile does not state the board's power. Of
 * @fleet boards, the slowest one's (0, 1: a board as measured). */
double orr_cost_clock(const OrrCostModel *model, OrrDtype dtype, double flops_per_s, gint64 fleet);

/* Implements `on-missing: error`. Call before the first query. Queries that the profile cannot
 * answer then fail: orr_cost_missing reports operators, orr_collective_plan refuses collectives. */
void orr_cost_refuse_gaps(OrrCostModel *model);
gboolean orr_cost_refuses_gaps(const OrrCostModel *model);

/* Returns the table that @op needs and the profile does not have; its cost then comes from another
 * table or the datasheet: "gemm fp8"; "memory-bound kernels" where the profile states no fraction
 * of the bandwidth for any kernel (where it states some, memory-efficiency covers the rest). NULL
 * where nothing is missing. Newly allocated. */
char *orr_cost_missing(const OrrCostModel *model, const OrrOperator *op);

/* Whether the profile has products of that release of a library (OrrOperator.release). */
gboolean orr_cost_has_release(const OrrCostModel *model, const char *release);

/* Measured time of one isolated NCCL collective inside a scale-up domain of this device. @op is
 * the name in nccl-tests ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast",
 * "reduce", "sendrecv"); @bytes counts as nccl-tests counts. FALSE where the profile has no such
 * rows for @n_ranks, or only rows of its own whose range does not include @bytes; the caller
 * then models it. */
gboolean orr_cost_collective(const OrrCostModel *model, const char *op, gint64 n_ranks,
                             double bytes, OrrCost *ret_cost);

/* How a profile's own rows hand over to a model outside their range (cost_collective.c). It
 * applies where the profile has rows of its own for that collective and number of ranks, its
 * base has none, and @bytes is outside their range: orr_cost_collective then leaves the call to
 * the caller's model. FALSE where it does not apply. */
typedef struct {
  double edge_bytes, edge_s; /* the row next to @bytes */
  /* exponent of the row's ratio to the model at @bytes: 1 at the edge, 0 far from it */
  double weight;
  gboolean is_below; /* @bytes is below the rows' range */
} OrrHandOver;
gboolean orr_cost_collective_hand_over(const OrrCostModel *model, const char *op, gint64 n_ranks,
                                       double bytes, OrrHandOver *ret_hand);

/* The model's time @base at @bytes, scaled by the rows; @base_edge_s is the model's time at
 * edge_bytes. */
OrrCost orr_cost_hand_over(const OrrHandOver *hand, double base_edge_s, OrrCost base);

/* The profile's row of @algorithm (a name of the collectives' registry) and @protocol; FALSE:
 * there is none. */
gboolean orr_cost_nccl(const OrrCostModel *model, const char *algorithm, OrrProtocol protocol,
                       OrrNcclCosts *ret_costs);
/* Whether the profile has rows of the ring, which every release of NCCL has. */
gboolean orr_cost_has_nccl(const OrrCostModel *model);

gboolean orr_cost_has_choices(const OrrCostModel *model);

/* A call, as rows of the profile's section `choices` see it. */
typedef struct {
  const char *op; /* as nccl-tests names it */
  double bytes;   /* of a rank's part in all-gathers and reduce-scatters, else of the buffer */
  gint64 n_nodes, n_ranks;
  gboolean with_optional; /* rows that are taken on request count, too */
} OrrChoiceCall;

/* The algorithm (a name of the collectives' registry) that the device's library takes for @call by
 * the profile's row *@at or a later one, and its protocol; *@at is then the row after it. NULL: no
 * such row. */
const char *orr_cost_choice(const OrrCostModel *model, const OrrChoiceCall *call, guint *at,
                            OrrProtocol *ret_protocol);

/* A call of a kernel of a library other than NCCL. */
typedef struct {
  /* "vllm", "trtllm": custom all-reduce; "deepep", "deepep-low-latency", "trtllm-two-sided",
   * "trtllm-one-sided": exchange of experts' tokens. */
  const char *library;
  const char *op; /* "all_reduce", "dispatch", "combine", "prepare", "combine_low_precision" */
  gint64 n_ranks;
  double size;                  /* bytes, or tokens of a rank in an exchange */
  gint64 hidden, topk, experts; /* 0: not an exchange of experts' tokens */
  const char *dtype;            /* a name of orr_dtype_names; NULL: any */
} OrrLibraryCall;

/* FALSE where the profile has no rows of that library and operation or, for an all-reduce, of
 * that number of ranks. An exchange whose shape has no rows is interpolated from similar shapes
 * (cost_library.c), ORR_HOW_INTERPOLATED; where no row has the same number of ranks,
 * ORR_HOW_OUTSIDE. */
gboolean orr_cost_library(const OrrCostModel *model, const OrrLibraryCall *call, OrrCost *ret_cost);

/* The model without rows: a launch, a step per peer, and the bytes of the token's copies over
 * the device's link to its peers (the terms of a ring, cost_collective.c). */
OrrCost orr_cost_library_modelled(const OrrCostModel *model, const OrrLibraryCall *call);

/* A number of ranks for which the kernel has rows: the call's own if there are any, else the
 * fewest; 0: no rows. */
gint64 orr_cost_library_ranks(const OrrCostModel *model, const OrrLibraryCall *call);

/* What the NICs of a GPU reached where the kernel's rows over several nodes were measured, bytes
 * per second; 0: not stated. */
double orr_cost_library_nic(const OrrCostModel *model, const OrrLibraryCall *call);

/* How many copies of a token leave its rank, its own included: one per expert (low-latency
 * kernels), or one per rank that holds one of its experts, where the experts are drawn
 * uniformly. */
double orr_cost_library_copies(const char *library, gint64 n_ranks, gint64 topk, gint64 experts);

/* The terms for collectives without `nccl` rows: the profile's constants, as one protocol. */
OrrNcclCosts orr_cost_collective_constants(const OrrCostModel *model);

/* How many times as long compute, communication and copies take while another of them runs at the
 * same time (1 where the profile does not state it). The model's. */
const OrrInterference *orr_cost_interference(const OrrCostModel *model);

/* Host time between two kernels, seconds: the lower limit for a stream of small kernels (launch
 * bound). Eager software dispatches several operators (views, random-number states, autograd's
 * nodes) per kernel. */
double orr_cost_host_launch_s(const OrrCostModel *model, OrrKernels kernels);

/* Host time of one operator in training, seconds: the profile's operator-dispatch, else
 * host-launch as above. */
double orr_cost_operator_dispatch_s(const OrrCostModel *model, OrrKernels kernels);

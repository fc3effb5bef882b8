/*
 * profile_nccl.h - the sections `nccl` and `libraries` of a profile: what NCCL's algorithms cost
 * under each protocol, and what kernels of other libraries took.
 *
 * `nccl` has one row per algorithm and protocol; nccl_costs.h gives its terms and the formula.
 */
#pragma once

#include "calibration/profile/nccl_costs.h"
#include "sim/base/field.h"

typedef struct {
  int algorithm; /* index into orr_nccl_algorithm_words */
  int protocol;  /* index into orr_protocol_words + 1: a row has one protocol, never auto */
  OrrNcclCosts costs;
  char *source;
} OrrProfileNccl;

extern const OrrFieldTable orr_profile_nccl_table;

/* What the device's library takes for a call, whatever the times are: a row of its tuning table
 * (RCCL's cutoff points, HCCL's rules by servers). The first row that fits a call answers. */
typedef struct {
  int op;                       /* index into orr_profile_choice_ops; 0: any */
  int algorithm;                /* index into orr_nccl_algorithm_words */
  int protocol;                 /* OrrProtocol; auto: the fastest of the algorithm's */
  double above_bytes, to_bytes; /* above < size <= to; of a rank's part in all-gathers and
                                 * reduce-scatters, else of the buffer; to 0: any */
  gint64 nodes_from, nodes_to;  /* that the group spans; to 0: any number */
  gint64 ranks;                 /* 0: any number */
  gboolean is_optional;         /* only where the workload asks for it (nccl.mscclpp) */
  char *source;
} OrrProfileChoice;

extern const OrrFieldTable orr_profile_choice_table;
extern const char *const orr_profile_choice_ops[]; /* "any", "all_gather", ..., NULL */

/* Measured latencies of a library's own kernels: custom all-reduces by bytes, exchanges of
 * experts' tokens by the tokens of a rank. */
typedef struct {
  char *library, *op, *dtype; /* as OrrLibraryCall names them */
  gint64 ranks;
  gint64 gpus_per_node;         /* of the measured machine; 0: all ranks shared a scale-up domain */
  double nic_bytes_per_s;       /* of a GPU, that large messages reached there; 0: not stated */
  gint64 hidden, topk, experts; /* 0: does not move experts' tokens */
  char *size, *us;
  char *measured_on; /* another device; NULL: the profile's */
  char *source;
} OrrProfileLibrary;

extern const OrrFieldTable orr_profile_library_table;

extern const char *const
    orr_nccl_algorithm_words[]; /* "ring", "tree", "nvls", ... as the collectives' registry */

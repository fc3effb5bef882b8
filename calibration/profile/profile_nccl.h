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

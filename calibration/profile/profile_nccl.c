/*
 * profile_nccl.c - the field tables of the sections `nccl` and `libraries`.
 */
#include "calibration/profile/profile_nccl.h"

const char *const orr_protocol_words[] = {"auto", "ll", "ll128", "simple", NULL};

const char *const orr_nccl_algorithm_words[] = {
    "collnet", "direct",    "halving-doubling", "hierarchical", "mesh", "nb",          "nhr",
    "nvls",    "nvls-tree", "pairwise",         "pat",          "ring", "torus-cycle", "tree",
    NULL};

static const OrrField fields[] = {
    ORR_FIELD_WORD(OrrProfileNccl, "algorithm", algorithm, orr_nccl_algorithm_words, NULL,
                   "Algorithm, see `orrery list collectives`."),
    ORR_FIELD_WORD(OrrProfileNccl, "protocol", protocol, orr_protocol_words + 1, NULL,
                   "NCCL's protocol: ll and ll128 carry flags in the data; simple copies chunks "
                   "and then signals."),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "base", costs.base_s, ORR_UNIT_SECONDS, "0 s",
                      "Once per call: launch and the first synchronisation."),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "scale-up-step", costs.scale_up_step_s, ORR_UNIT_SECONDS,
                      "0 s", "One step between neighbours in a scale-up domain."),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "host-step", costs.host_step_s, ORR_UNIT_SECONDS, "1 us",
                      "One step between neighbours of a node over PCIe."),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "scale-out-step", costs.scale_out_step_s, ORR_UNIT_SECONDS,
                      "0 s", "One step over the network, on top of the route's own latency."),
    ORR_FIELD_REAL(OrrProfileNccl, "scale-up-efficiency", costs.scale_up_efficiency,
                   ORR_UNIT_FRACTION, "100 %",
                   "Fraction of a scale-up or PCIe link's bandwidth that the protocol reaches.",
                   .min = 1e-4, .max = 1),
    ORR_FIELD_REAL(OrrProfileNccl, "scale-out-efficiency", costs.scale_out_efficiency,
                   ORR_UNIT_FRACTION, "100 %",
                   "Fraction of a NIC's or network link's bandwidth that it reaches.", .min = 1e-4,
                   .max = 1),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "scale-up-chunk", costs.scale_up_chunk_bytes, ORR_UNIT_BYTES,
                      "0 B",
                      "Largest number of bytes of a step that fill the pipeline inside a domain."),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "scale-out-chunk", costs.scale_out_chunk_bytes,
                      ORR_UNIT_BYTES, "0 B", "The same over the network, per NIC."),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "chunk-ramp", costs.chunk_ramp, ORR_UNIT_NONE, "1",
                      "Number of chunks of a step at which half a chunk is full."),
    ORR_UNSIGNED_REAL(OrrProfileNccl, "network-step", costs.network_step_s, ORR_UNIT_SECONDS, "0 s",
                      "Shortest step inside a domain of a call that crosses the network."),
    ORR_FIELD_REAL(OrrProfileNccl, "plateau", costs.plateau, ORR_UNIT_NONE, "1",
                   "Factor on the latency of an all-reduce that crosses the network.", .min = 1,
                   .max = 4),
    ORR_FIELD_REAL(
        OrrProfileNccl, "tuning-efficiency", costs.tuning_efficiency, ORR_UNIT_FRACTION, "0 %",
        "Fraction of the links' bandwidth that NCCL's tuning counts on when it chooses how to "
        "cross the network; 0: what the row reaches.",
        .min = 0, .max = 1),
    ORR_COLUMN_TEXT(OrrProfileNccl, "source", source,
                    "Where the row comes from, and what was left out of a fit."),
};
const OrrFieldTable orr_profile_nccl_table = ORR_FIELD_TABLE(
    "profile-nccl", "What one algorithm of NCCL costs under one protocol.", OrrProfileNccl, fields);

const char *const orr_profile_choice_ops[] = {
    "any", "all_gather", "all_reduce", "alltoall", "broadcast", "reduce", "reduce_scatter", NULL};

static const OrrField choice_fields[] = {
    ORR_FIELD_WORD(OrrProfileChoice, "op", op, orr_profile_choice_ops, "any",
                   "The collective as nccl-tests names it; any: all that the algorithm supports."),
    ORR_FIELD_WORD(OrrProfileChoice, "algorithm", algorithm, orr_nccl_algorithm_words, NULL,
                   "The algorithm that the library takes, see `orrery list collectives`."),
    ORR_FIELD_WORD(OrrProfileChoice, "protocol", protocol, orr_protocol_words, "auto",
                   "The protocol that it takes; auto: the fastest."),
    ORR_UNSIGNED_REAL(OrrProfileChoice, "above", above_bytes, ORR_UNIT_BYTES, "0 B",
                      "Calls of more bytes than this: of a rank's part in all-gathers and "
                      "reduce-scatters, else of the buffer."),
    ORR_UNSIGNED_REAL(OrrProfileChoice, "to", to_bytes, ORR_UNIT_BYTES, "0 B",
                      "Calls of at most as many bytes; 0: any number."),
    ORR_POSITIVE_INT(OrrProfileChoice, "nodes-from", nodes_from, "1",
                     "Groups that span at least as many nodes."),
    ORR_UNSIGNED_INT(OrrProfileChoice, "nodes-to", nodes_to, "0",
                     "Groups that span at most as many nodes; 0: any number."),
    ORR_UNSIGNED_INT(OrrProfileChoice, "ranks", ranks, "0", "Groups of this size; 0: of any."),
    ORR_FIELD_BOOL(OrrProfileChoice, "optional", is_optional, "false",
                   "Whether the library takes it only on request (nccl.mscclpp)."),
    ORR_COLUMN_TEXT(OrrProfileChoice, "source", source, "Where the library's code says so."),
};
const OrrFieldTable orr_profile_choice_table = ORR_FIELD_TABLE(
    "profile-choice", "What a library of collectives takes for a call, whatever the times are.",
    OrrProfileChoice, choice_fields);

static const OrrField library_fields[] = {
    ORR_FIELD_TEXT(OrrProfileLibrary, "library", library, NULL,
                   "Library of the kernel: vllm, trtllm, deepep, deepep-low-latency, "
                   "mori, pplx-garden, trtllm-two-sided, trtllm-one-sided."),
    ORR_FIELD_TEXT(OrrProfileLibrary, "op", op, NULL,
                   "Operation: all_reduce, dispatch, combine, prepare, combine_low_precision."),
    ORR_FIELD_TEXT(
        OrrProfileLibrary, "dtype", dtype, "bf16",
        "Number format of the experts or of the reduction, where the kernel has several."),
    ORR_UNSIGNED_INT(OrrProfileLibrary, "ranks", ranks, NULL, "Number of GPUs that take part."),
    ORR_UNSIGNED_INT(
        OrrProfileLibrary, "gpus-per-node", gpus_per_node, "0",
        "GPUs of a node of the measured machine, where more take part, so that the call "
        "crosses NICs; 0: all share a scale-up domain."),
    ORR_UNSIGNED_REAL(OrrProfileLibrary, "nic-rate", nic_bytes_per_s, ORR_UNIT_BYTES_PER_S,
                      "0 GB/s",
                      "What large messages reach over the NICs of a GPU there, so that slower ones "
                      "take longer; 0: not stated."),
    ORR_UNSIGNED_INT(OrrProfileLibrary, "hidden", hidden, "0",
                     "Elements per token; 0: it does not move tokens."),
    ORR_UNSIGNED_INT(OrrProfileLibrary, "topk", topk, "0", "Experts to which a token goes."),
    ORR_UNSIGNED_INT(OrrProfileLibrary, "experts", experts, "0", "Total number of experts."),
    ORR_FIELD_TEXT(OrrProfileLibrary, "size", size, NULL,
                   "The axis, rising: bytes of an all-reduce, tokens of a rank."),
    ORR_FIELD_TEXT(OrrProfileLibrary, "us", us, NULL, "Microseconds, one per size."),
    ORR_COLUMN_TEXT(OrrProfileLibrary, "measured-on", measured_on,
                    "Another device on which it was measured, so that answers count as carried "
                    "over. Absent: the profile's own."),
    ORR_COLUMN_TEXT(OrrProfileLibrary, "source", source, "Who measured it, with what."),
};
const OrrFieldTable orr_profile_library_table =
    ORR_FIELD_TABLE("profile-library", "Measured kernels of a library other than NCCL.",
                    OrrProfileLibrary, library_fields);

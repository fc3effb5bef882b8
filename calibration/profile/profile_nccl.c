/*
 * profile_nccl.c - the field tables of the sections `nccl` and `libraries`.
 */
#include "calibration/profile/profile_nccl.h"

const char *const orr_protocol_words[] = {"auto", "ll", "ll128", "simple", NULL};

const char *const orr_nccl_algorithm_words[] = {
    "collnet", "direct", "nvls", "nvls-tree", "pairwise", "pat", "ring", "tree", NULL};

#define AT(member_) .offset = offsetof(OrrProfileNccl, member_)
#define SECONDS(name_, member_, fallback_, sentence_)                                              \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, AT(costs.member_), .sentence = (sentence_),           \
    .fallback = (fallback_), .flags = ORR_FIELD_UNSIGNED, .unit = ORR_UNIT_SECONDS                 \
  }
#define EFFICIENCY(name_, member_, sentence_)                                                      \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, AT(costs.member_), .sentence = (sentence_),           \
    .fallback = "100 %", .unit = ORR_UNIT_FRACTION, .min = 1e-4, .max = 1                          \
  }
#define CHUNK(name_, member_, sentence_)                                                           \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, AT(costs.member_), .sentence = (sentence_),           \
    .fallback = "0 B", .flags = ORR_FIELD_UNSIGNED, .unit = ORR_UNIT_BYTES                         \
  }

static const OrrField fields[] = {
    {.name = "algorithm",
     .kind = ORR_FIELD_WORD,
     AT(algorithm),
     .sentence = "Algorithm, see `orrery list collectives`.",
     .words = orr_nccl_algorithm_words},
    {.name = "protocol",
     .kind = ORR_FIELD_WORD,
     AT(protocol),
     .sentence = "NCCL's protocol: ll and ll128 carry flags in the data, simple copies chunks and "
                 "then tells.",
     .words = orr_protocol_words + 1},
    SECONDS("base", base_s, "0 s", "Once a call: launch and the first synchronisation."),
    SECONDS("scale-up-step", scale_up_step_s, "0 s",
            "One step between neighbours in a scale-up domain."),
    SECONDS("host-step", host_step_s, "1 us", "One step between neighbours of a node over PCIe."),
    SECONDS("scale-out-step", scale_out_step_s, "0 s",
            "One step over the network, on top of the route's own latency."),
    EFFICIENCY("scale-up-efficiency", scale_up_efficiency,
               "Share of a scale-up or PCIe link that the protocol uses."),
    EFFICIENCY("scale-out-efficiency", scale_out_efficiency,
               "Share of a NIC or network link that it uses."),
    CHUNK("scale-up-chunk", scale_up_chunk_bytes,
          "Most bytes of a step that fill the pipeline inside a domain."),
    CHUNK("scale-out-chunk", scale_out_chunk_bytes, "The same over the network, for each NIC."),
    {.name = "chunk-ramp",
     .kind = ORR_FIELD_REAL,
     AT(costs.chunk_ramp),
     .sentence = "How many chunks a step must have for half of one to be full.",
     .fallback = "1",
     .flags = ORR_FIELD_UNSIGNED},
    SECONDS("network-step", network_step_s, "0 s",
            "Least step inside a domain of a call that crosses the network."),
    {.name = "plateau",
     .kind = ORR_FIELD_REAL,
     AT(costs.plateau),
     .sentence = "Factor on the latency of an all-reduce that crosses the network.",
     .fallback = "1",
     .min = 1,
     .max = 4},
    {.name = "source",
     .kind = ORR_FIELD_TEXT,
     AT(source),
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "Where the row comes from, and what was left out of a fit."},
};
const OrrFieldTable orr_profile_nccl_table = ORR_FIELD_TABLE(
    "profile-nccl", "What one algorithm of NCCL costs under one protocol.", OrrProfileNccl, fields);

#define TEXT(name_, member_, flags_, sentence_)                                                    \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_TEXT, .offset = offsetof(OrrProfileLibrary, member_),       \
    .sentence = (sentence_), .flags = (flags_)                                                     \
  }
#define COUNT(name_, member_, fallback_, sentence_)                                                \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_INT, .offset = offsetof(OrrProfileLibrary, member_),        \
    .sentence = (sentence_), .fallback = (fallback_), .flags = ORR_FIELD_UNSIGNED                  \
  }

static const OrrField library_fields[] = {
    TEXT("library", library, 0,
         "Whose kernel: vllm, trtllm, deepep, deepep-low-latency, trtllm-two-sided, "
         "trtllm-one-sided."),
    TEXT("op", op, 0,
         "What it does: all_reduce, dispatch, combine, prepare, combine_low_precision."),
    {.name = "dtype",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrProfileLibrary, dtype),
     .fallback = "bf16",
     .sentence =
         "Number format of the experts or of what is reduced, where the kernel comes in several."},
    COUNT("ranks", ranks, NULL, "How many GPUs take part."),
    COUNT("hidden", hidden, "0", "Elements of a token; 0: it does not move tokens."),
    COUNT("topk", topk, "0", "Experts that a token goes to."),
    COUNT("experts", experts, "0", "Experts in all."),
    TEXT("size", size, 0, "The axis, rising: bytes of an all-reduce, tokens of a rank."),
    TEXT("us", us, 0, "Microseconds, one for each size."),
    TEXT("measured-on", measured_on, ORR_FIELD_OPTIONAL,
         "Another device on which it was measured: answers count as carried over. Absent: the "
         "profile's own."),
    TEXT("source", source, ORR_FIELD_OPTIONAL, "Who measured it, with what."),
};
const OrrFieldTable orr_profile_library_table =
    ORR_FIELD_TABLE("profile-library", "Measured kernels of a library beside NCCL.",
                    OrrProfileLibrary, library_fields);

/*
 * profile.c - the field tables of a profile, and the checks that a table cannot say.
 *
 * Invariants of a profile that was read:
 * 1. Every axis rises strictly, and every row has as many latencies as its axes ask for.
 * 2. Every latency is finite and above 0, or (GEMM, attention) a hole, '-'.
 * 3. No row is there twice.
 */
#include "calibration/profile/profile.h"

#include <math.h>
#include <string.h>

#include "calibration/profile/profile_moe.h"
#include "calibration/profile/profile_nccl.h"
#include "calibration/profile/profile_errors.h"
#include "calibration/profile/profile_private.h"
#include "calibration/profile/profile_serving.h"
#include "sim/base/fault.h"

/* --- field tables --- */

#define SECONDS(name_, member_, fallback_, sentence_)                                              \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrProfileConstants, member_),     \
    .sentence = (sentence_), .fallback = (fallback_), .flags = ORR_FIELD_UNSIGNED,                 \
    .unit = ORR_UNIT_SECONDS                                                                       \
  }
#define SHARE(name_, member_, fallback_, min_, sentence_)                                          \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrProfileConstants, member_),     \
    .sentence = (sentence_), .fallback = (fallback_), .unit = ORR_UNIT_FRACTION, .min = (min_),    \
    .max = 1                                                                                       \
  }

/* Of another kernel, which may be the faster one. */
#define RELATIVE_RATE(name_, member_, fallback_, sentence_)                                        \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrProfileConstants, member_),     \
    .sentence = (sentence_), .fallback = (fallback_), .unit = ORR_UNIT_FRACTION, .min = 0.01,      \
    .max = 4                                                                                       \
  }

#define WATTS(name_, member_, sentence_)                                                           \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrProfileConstants, member_),     \
    .sentence = (sentence_), .fallback = "0 W", .flags = ORR_FIELD_UNSIGNED,                       \
    .unit = ORR_UNIT_WATTS                                                                         \
  }

#define ROW_CAST(name_, member_, format_)                                                          \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrProfileConstants, member_),     \
    .fallback = "0 B/s", .flags = ORR_FIELD_UNSIGNED, .unit = ORR_UNIT_BYTES_PER_S,                \
    .sentence = "Bytes a second of their 16-bit input that the cast inside the " format_           \
                " rows of `gemm` goes through; 0: the rows hold none."                             \
  }

static const OrrField constants_fields[] = {
    SECONDS("kernel-overhead", kernel_overhead_s, "2.5 us",
            "What a kernel that is modelled takes beside its work: the shortest measured kernel."),
    SECONDS("host-launch", host_launch_s, "5 us",
            "CPU time between two kernels that a framework launches one by one."),
    SECONDS("operator-dispatch", operator_dispatch_s, "0 us",
            "CPU time of one operator that a training framework of today dispatches, autograd's "
            "part in it; 0: "
            "host-launch."),
    SECONDS("eager-operator", eager_operator_s, "10 us",
            "CPU time of one operator that PyTorch of 2021-22 dispatches eagerly, autograd's part "
            "in it."),
    {.name = "eager-operators",
     .kind = ORR_FIELD_REAL,
     .min = 1,
     .max = 100,
     .fallback = "5.5",
     .offset = offsetof(OrrProfileConstants, eager_operators),
     .sentence = "Operators that eager software dispatches for each kernel, those without a kernel "
                 "counted."},
    SHARE("gemm-efficiency", gemm_efficiency, "85 %", 0.01,
          "Share of the peak rate that the best matrix product reaches."),
    SHARE(
        "gemm-wave-share", gemm_wave_share, "50 %", 0,
        "Weight of the tile and wave quantisation between rows: 0 plain roofline, 1 whole waves."),
    SHARE("memory-efficiency", memory_efficiency, "85 %", 0.01,
          "Share of the memory bandwidth that a long kernel reaches where `kernels` does not name "
          "it."),
    SHARE("gemm-eager-rate", gemm_eager_rate, "100 %", 0.5,
          "Rate of the matrix products of 2021-22 (kernels: eager), in that of the rows."),
    SECONDS("fp8-row-launch", fp8_row_launch_s, "0 us",
            "What that cast takes beside its bytes, in fp8."),
    ROW_CAST("fp8-row-cast", fp8_row_cast, "fp8"),
    SECONDS("fp4-row-launch", fp4_row_launch_s, "0 us",
            "What that cast takes beside its bytes, in fp4."),
    ROW_CAST("fp4-row-cast", fp4_row_cast, "fp4"),
    {.name = "overlap-slowdown",
     .kind = ORR_FIELD_REAL,
     .min = 1,
     .max = 4,
     .fallback = "1",
     .offset = offsetof(OrrProfileConstants, overlap_slowdown),
     .sentence = "How many times longer compute takes while a collective runs beside it."},
    WATTS("static-power", static_power_w,
          "What the board draws beside its tensor cores while they work: leakage, memory, clocks."),
    WATTS("tensor-power", tensor_power_w,
          "What tensor cores at their peak rate would draw, at the clock of the rows; 0: not "
          "known, no limit is "
          "applied."),
    SHARE("speed-spread", speed_spread, "1.5 %", 0,
          "Standard deviation of the speeds of equal boards under their power limit; a job goes at "
          "its slowest one's."),
    SHARE("attention-efficiency", attention_efficiency, "50 %", 0.01,
          "Share of the peak rate that fused attention reaches on long sequences."),
    {.name = "attention-backward-flops",
     .kind = ORR_FIELD_REAL,
     .flags = ORR_FIELD_POSITIVE,
     .fallback = "2.5",
     .offset = offsetof(OrrProfileConstants, attention_backward_flops),
     .sentence = "FLOPs of the fused attention's backward pass, in those of its forward pass."},
    SHARE("attention-backward-efficiency", attention_backward_efficiency, "86 %", 0.01,
          "Rate of the fused attention's backward pass, in that of its forward pass."),
    RELATIVE_RATE(
        "flash-2-forward", flash_2_forward, "100 %",
        "Rate of FlashAttention-2's forward pass (attention: flash-2), in that of the rows."),
    RELATIVE_RATE("flash-2-backward", flash_2_backward, "100 %",
                  "Rate of FlashAttention-2's backward pass, in that of the backward pass told "
                  "from the rows."),
    RELATIVE_RATE("flash-triton-forward", flash_triton_forward, "71 %",
                  "Rate of FlashAttention in Triton (attention: flash-triton), forward, in that of "
                  "FlashAttention-2: "
                  "it is 1.3 to 1.5 times slower (Dao 2023, section 4.1)."),
    RELATIVE_RATE("flash-triton-backward", flash_triton_backward, "50 %",
                  "Rate of FlashAttention in Triton, backward, in that of FlashAttention-2: around "
                  "half (Dao 2023, "
                  "section 4.1)."),
    SHARE("moe-efficiency", moe_efficiency, "60 %", 0.01,
          "Share of the peak rate that the grouped products of routed experts reach."),
    SECONDS("moe-overhead", moe_overhead_s, "10 us",
            "What routed experts take beside their work: sorting tokens, several kernels, the sum "
            "over experts."),
    SECONDS("collective-launch", collective_launch_s, "8 us",
            "A collective's launch and first synchronisation."),
    SECONDS("scale-up-step", scale_up_step_s, "1 us",
            "One step between neighbours of a collective in a domain."),
    SECONDS("scale-out-step", scale_out_step_s, "4 us",
            "One step of a collective over the network, on top of the route's own latency."),
    {.name = "source",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrProfileConstants, source),
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "Where the constants come from."},
};
const OrrFieldTable orr_profile_constants_table =
    ORR_FIELD_TABLE("profile-constants", "What stands in for rows that nobody measured.",
                    OrrProfileConstants, constants_fields);

#define COUNT(type_, name_, member_, sentence_)                                                    \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_INT, .offset = offsetof(type_, member_),                    \
    .sentence = (sentence_), .flags = ORR_FIELD_POSITIVE                                           \
  }
#define TEXT(type_, name_, member_, sentence_)                                                     \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_TEXT, .offset = offsetof(type_, member_),                   \
    .sentence = (sentence_)                                                                        \
  }
#define WORD(type_, name_, member_, words_, fallback_, sentence_)                                  \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_WORD, .offset = offsetof(type_, member_),                   \
    .sentence = (sentence_), .words = (words_), .fallback = (fallback_)                            \
  }
#define LIST(type_, name_, member_, table_, flags_, sentence_)                                     \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_SECTIONS, .offset = offsetof(type_, member_),               \
    .sentence = (sentence_), .table = (table_), .flags = (flags_)                                  \
  }

static const OrrField gemm_row_fields[] = {
    COUNT(OrrProfileGemmRow, "n", n, "Columns of the result."),
    COUNT(OrrProfileGemmRow, "k", k, "Length of the inner product."),
    TEXT(OrrProfileGemmRow, "us", us, "Microseconds, one for each m; '-': not measured."),
};
static const OrrFieldTable gemm_row_table = ORR_FIELD_TABLE(
    "profile-gemm-row", "One (n, k) of a GEMM table.", OrrProfileGemmRow, gemm_row_fields);

static const OrrField gemm_fields[] = {
    WORD(OrrProfileGemm, "dtype", dtype, orr_dtype_names, NULL, "Number format of both operands."),
    TEXT(OrrProfileGemm, "source", source, "Who measured it, with what."),
    TEXT(OrrProfileGemm, "m", m, "The m axis that all rows share, rising."),
    LIST(OrrProfileGemm, "rows", rows, &gemm_row_table, 0, "The measured (n, k)."),
};
static const OrrFieldTable gemm_table = ORR_FIELD_TABLE(
    "profile-gemm", "Measured y[m,n] = x[m,k] w[n,k]^T.", OrrProfileGemm, gemm_fields);

static const char *const phase_words[] = {"prefill", "decode", NULL};

static const OrrField attention_row_fields[] = {
    COUNT(OrrProfileAttentionRow, "head-dim", head_dim, "Size of a head."),
    COUNT(OrrProfileAttentionRow, "heads", heads, "Query heads."),
    COUNT(OrrProfileAttentionRow, "kv-heads", kv_heads, "Key and value heads."),
    TEXT(OrrProfileAttentionRow, "us", us,
         "Microseconds, batch by batch one for each length; '-': not measured."),
};
static const OrrFieldTable attention_row_table =
    ORR_FIELD_TABLE("profile-attention-row", "One kind of heads in an attention table.",
                    OrrProfileAttentionRow, attention_row_fields);

static const OrrField attention_fields[] = {
    WORD(OrrProfileAttention, "phase", phase, phase_words, NULL,
         "Prefill: causal, all queries; decode: one query."),
    WORD(OrrProfileAttention, "dtype", dtype, orr_dtype_names, NULL,
         "Number format of the queries."),
    WORD(OrrProfileAttention, "kv-dtype", kv_dtype, orr_dtype_names, NULL,
         "Number format of the keys and values."),
    TEXT(OrrProfileAttention, "source", source, "Who measured it, with what."),
    TEXT(OrrProfileAttention, "batch", batch, "The axis of sequences, rising."),
    TEXT(OrrProfileAttention, "length", length, "The axis of keys, rising."),
    LIST(OrrProfileAttention, "rows", rows, &attention_row_table, 0,
         "The measured kinds of heads."),
};
static const OrrFieldTable attention_table = ORR_FIELD_TABLE(
    "profile-attention", "Measured fused attention.", OrrProfileAttention, attention_fields);

enum { MOST_LAID = 16 };

static const OrrField collective_fields[] = {
    TEXT(OrrProfileCollective, "op", op, "The collective as nccl-tests names it."),
    COUNT(OrrProfileCollective, "ranks", ranks, "How many devices of one scale-up domain."),
    TEXT(OrrProfileCollective, "bytes", bytes, "Sizes as nccl-tests counts them, rising."),
    TEXT(OrrProfileCollective, "us", us, "Microseconds, one for each size."),
    {.name = "laid-over",
     .kind = ORR_FIELD_INT,
     .min = 0,
     .max = MOST_LAID,
     .fallback = "0",
     .offset = offsetof(OrrProfileCollective, laid_over),
     .sentence = "Counted, not written: lists of collectives in the profile's bases, under this "
                 "one. Above 0 the row answers "
                 "in the range of its sizes, and the bases outside it."},
};
static const OrrFieldTable collective_table =
    ORR_FIELD_TABLE("profile-collective", "Measured collective of one domain.",
                    OrrProfileCollective, collective_fields);

static const char *const kernel_pass_words[] = {"any", "forward", "backward", NULL};

#define RATE(name_, member_, sentence_)                                                            \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrProfileKernel, member_),        \
    .sentence = (sentence_), .unit = ORR_UNIT_FRACTION, .min = 0.01, .max = 1                      \
  }
static const OrrField kernel_fields[] = {
    {.name = "operators",
     .kind = ORR_FIELD_TEXTS,
     .offset = offsetof(OrrProfileKernel, operators),
     .sentence = "Operators that it holds for."},
    WORD(OrrProfileKernel, "pass", pass, kernel_pass_words, "any", "The pass that it holds for."),
    RATE("eager", eager,
         "Share of the memory bandwidth, PyTorch eager, TorchScript and apex of 2021-22."),
    RATE("modern", modern, "Share of the memory bandwidth, later kernels."),
    TEXT(OrrProfileKernel, "source", source, "Where the shares come from."),
};
static const OrrFieldTable kernel_table = ORR_FIELD_TABLE(
    "profile-kernel", "Kernels that memory bandwidth bounds.", OrrProfileKernel, kernel_fields);

static const OrrField profile_fields[] = {
    TEXT(OrrProfile, "name", name, "The profile's name in the library."),
    TEXT(OrrProfile, "device", device, "The device that was measured."),
    {.name = "source",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrProfile, source),
     .flags = ORR_FIELD_OPTIONAL,
     .sentence = "Where the rows come from and under which licence."},
    {.name = "constants",
     .kind = ORR_FIELD_SECTION,
     .offset = offsetof(OrrProfile, constants),
     .fallback = "{}",
     .table = &orr_profile_constants_table,
     .sentence = "What stands in for rows that nobody measured."},
    LIST(OrrProfile, "kernels", kernels, &kernel_table, ORR_FIELD_OPTIONAL,
         "Kernels that memory bandwidth bounds; the first that names an operator holds."),
    LIST(OrrProfile, "gemm", gemm, &gemm_table, ORR_FIELD_OPTIONAL,
         "Matrix products, a table for each number format."),
    LIST(OrrProfile, "attention", attention, &attention_table, ORR_FIELD_OPTIONAL,
         "Fused attention."),
    LIST(OrrProfile, "collectives", collectives, &collective_table, ORR_FIELD_OPTIONAL,
         "Collectives inside a scale-up domain."),
    LIST(OrrProfile, "moe", moe, &orr_profile_moe_table, ORR_FIELD_OPTIONAL,
         "Grouped products of a rank's routed experts, a table for each number format and "
         "distribution of tokens."),
    LIST(OrrProfile, "nccl", nccl, &orr_profile_nccl_table, ORR_FIELD_OPTIONAL,
         "NCCL's algorithms and protocols, for calls that nobody measured."),
    LIST(OrrProfile, "libraries", libraries, &orr_profile_library_table, ORR_FIELD_OPTIONAL,
         "Collectives of other libraries: custom all-reduces, DeepEP."),
    LIST(OrrProfile, "token-kernels", token_kernels, &orr_profile_token_kernel_table,
         ORR_FIELD_OPTIONAL, "Small kernels of a serving engine over the tokens of a step."),
    LIST(OrrProfile, "batch-attention", batch_attention, &orr_profile_batch_attention_table,
         ORR_FIELD_OPTIONAL,
         "Attention of a serving engine's steps, prompt chunks and decodes together."),
    LIST(OrrProfile, "errors", errors, &orr_profile_errors_table, ORR_FIELD_OPTIONAL,
         "How far answers are from rows that were left out, table by table and region by region."),
};
const OrrFieldTable orr_profile_table = ORR_FIELD_TABLE(
    "profile", "What was measured on one kind of device.", OrrProfile, profile_fields);

/* --- checks --- */

static void check_gemm(const OrrProfileGemm *gemm, const OrrNode *map, GHashTable *seen,
                       OrrDiags *diags) {
  guint n_m = orr_profile_check_axis(map, "m", gemm->m, diags);
  const char *dtype = orr_dtype_names[gemm->dtype];
  for (guint i = 0; i < gemm->rows->len; i++) {
    const OrrProfileGemmRow *row = gemm->rows->pdata[i];
    const OrrNode *row_map = orr_node_get(map, "rows")->items->pdata[i];
    orr_profile_check_row(row_map, row->us, n_m, TRUE, diags);
    orr_profile_check_unique(seen,
                             g_strdup_printf("gemm %s n %" G_GINT64_FORMAT " k %" G_GINT64_FORMAT,
                                             dtype, row->n, row->k),
                             row_map, diags);
  }
}

static void check_attention(const OrrProfileAttention *attention, const OrrNode *map,
                            GHashTable *seen, OrrDiags *diags) {
  guint n_batches = orr_profile_check_axis(map, "batch", attention->batch, diags);
  guint n_lengths = orr_profile_check_axis(map, "length", attention->length, diags);
  for (guint i = 0; i < attention->rows->len; i++) {
    const OrrProfileAttentionRow *row = attention->rows->pdata[i];
    const OrrNode *row_map = orr_node_get(map, "rows")->items->pdata[i];
    orr_profile_check_row(row_map, row->us, n_batches * n_lengths, TRUE, diags);
    if (row->kv_heads > row->heads || row->heads % row->kv_heads != 0)
      orr_diags_error(diags, orr_profile_check_place(row_map, "kv-heads"),
                      "kv-heads must divide heads");
    orr_profile_check_unique(
        seen,
        g_strdup_printf("attention %s %s/%s head-dim %" G_GINT64_FORMAT " heads %" G_GINT64_FORMAT
                        " kv-heads %" G_GINT64_FORMAT,
                        phase_words[attention->phase], orr_dtype_names[attention->dtype],
                        orr_dtype_names[attention->kv_dtype], row->head_dim, row->heads,
                        row->kv_heads),
        row_map, diags);
  }
}

static void check_profile(const OrrProfile *profile, const OrrNode *node, OrrDiags *diags) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < orr_profile_length(profile->gemm); i++)
    check_gemm(profile->gemm->pdata[i], orr_node_get(node, "gemm")->items->pdata[i], seen, diags);
  for (guint i = 0; i < orr_profile_length(profile->attention); i++)
    check_attention(profile->attention->pdata[i], orr_node_get(node, "attention")->items->pdata[i],
                    seen, diags);
  for (guint i = 0; i < orr_profile_length(profile->collectives); i++)
    orr_profile_check_collective(profile->collectives->pdata[i],
                                 orr_node_get(node, "collectives")->items->pdata[i], seen, diags);
  for (guint i = 0; i < orr_profile_length(profile->moe); i++)
    orr_profile_moe_check(profile->moe->pdata[i], orr_node_get(node, "moe")->items->pdata[i], seen,
                          diags);
  for (guint i = 0; i < orr_profile_length(profile->token_kernels); i++)
    orr_profile_token_kernel_check(profile->token_kernels->pdata[i],
                                   orr_node_get(node, "token-kernels")->items->pdata[i], seen,
                                   diags);
  for (guint i = 0; i < orr_profile_length(profile->batch_attention); i++)
    orr_profile_batch_attention_check(profile->batch_attention->pdata[i],
                                      orr_node_get(node, "batch-attention")->items->pdata[i], seen,
                                      diags);
}

/* --- life --- */

OrrProfile *orr_profile_read(const OrrNode *document, OrrLibrary *library, OrrDiags *diags) {
  g_autoptr(OrrProfile) profile = g_new0(OrrProfile, 1);
  g_autoptr(OrrNode) laid = orr_profile_lay_collectives(document);
  const OrrNode *node = laid ? laid : document;
  if (!orr_field_read(&orr_profile_table, node, library, diags, profile)) return NULL;
  guint errors = orr_diags_n_errors(diags);
  check_profile(profile, node, diags);
  return orr_diags_n_errors(diags) == errors ? g_steal_pointer(&profile) : NULL;
}

void orr_profile_free(OrrProfile *profile) {
  if (!profile) return;
  orr_field_clear(&orr_profile_table, profile);
  g_free(profile);
}

const char *orr_profile_name(const OrrProfile *profile) { return profile->name; }

const char *orr_profile_device(const OrrProfile *profile) { return profile->device; }

gboolean orr_profile_has_kernels(const OrrProfile *profile) {
  return orr_profile_length(profile->gemm) + orr_profile_length(profile->attention) +
             orr_profile_length(profile->moe) >
         0;
}

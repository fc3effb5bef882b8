/*
 * profile.c - the field tables of a profile, and the checks that a table cannot express.
 *
 * Invariants of a profile that was read:
 * 1. Every axis rises strictly, and every row has as many latencies as its axes demand.
 * 2. Every latency is finite and above 0, or (GEMM, attention) a hole, '-'.
 * 3. No row is repeated.
 */
#include "calibration/profile/profile.h"

#include "calibration/profile/profile_moe.h"
#include "calibration/profile/profile_nccl.h"
#include "calibration/profile/profile_private.h"
#include "calibration/profile/profile_serving.h"
#include "models/operator.h"

/* --- field tables --- */

/* Of another kernel, which may be the faster one. */

static const OrrField constants_fields[] = {
    ORR_UNSIGNED_REAL(OrrProfileConstants, "kernel-overhead", kernel_overhead_s, ORR_UNIT_SECONDS,
                      "2.5 us",
                      "Time of a modelled kernel beyond its work: the shortest measured kernel's."),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "host-launch", host_launch_s, ORR_UNIT_SECONDS, "5 us",
                      "CPU time between two kernels that a framework launches one by one."),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "operator-dispatch", operator_dispatch_s,
                      ORR_UNIT_SECONDS, "0 us",
                      "CPU time of one operator that a current training framework dispatches, "
                      "including autograd's part; 0: host-launch."),
    ORR_UNSIGNED_REAL(
        OrrProfileConstants, "eager-operator", eager_operator_s, ORR_UNIT_SECONDS, "10 us",
        "CPU time of one operator that PyTorch of 2021-22 dispatches eagerly, including "
        "autograd's part."),
    ORR_FIELD_REAL(OrrProfileConstants, "eager-operators", eager_operators, ORR_UNIT_NONE, "5.5",
                   "Operators that eager software dispatches per kernel, including operators "
                   "without a kernel.",
                   .min = 1, .max = 100),
    ORR_FIELD_REAL(OrrProfileConstants, "gemm-efficiency", gemm_efficiency, ORR_UNIT_FRACTION,
                   "85 %", "Fraction of the peak rate that the best matrix product reaches.",
                   .min = 0.01, .max = 1),
    ORR_FIELD_REAL(
        OrrProfileConstants, "gemm-wave-share", gemm_wave_share, ORR_UNIT_FRACTION, "50 %",
        "Weight of the tile and wave quantisation between rows: 0 plain roofline, 1 whole waves.",
        .min = 0, .max = 1),
    ORR_FIELD_REAL(OrrProfileConstants, "memory-efficiency", memory_efficiency, ORR_UNIT_FRACTION,
                   "85 %",
                   "Fraction of the memory bandwidth that a long kernel reaches, where `kernels` "
                   "does not name it.",
                   .min = 0.01, .max = 1),
    ORR_FIELD_REAL(OrrProfileConstants, "trainer-efficiency", trainer_efficiency, ORR_UNIT_FRACTION,
                   "100 %",
                   "Most of the memory bandwidth that a kernel of a training framework reaches, "
                   "whatever memory-efficiency and `kernels` say.",
                   .min = 0.01, .max = 1),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "fp8-row-launch", fp8_row_launch_s, ORR_UNIT_SECONDS,
                      "0 us", "Launch time of that cast, in fp8."),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "fp8-row-cast", fp8_row_cast, ORR_UNIT_BYTES_PER_S,
                      "0 B/s",
                      "Rate at which the cast inside the "
                      "fp8"
                      " rows of `gemm` reads its 16-bit input; 0: the rows have no cast."),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "fp4-row-launch", fp4_row_launch_s, ORR_UNIT_SECONDS,
                      "0 us", "Launch time of that cast, in fp4."),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "fp4-row-cast", fp4_row_cast, ORR_UNIT_BYTES_PER_S,
                      "0 B/s",
                      "Rate at which the cast inside the "
                      "fp4"
                      " rows of `gemm` reads its 16-bit input; 0: the rows have no cast."),
    ORR_FIELD_REAL(OrrProfileConstants, "fp8-exact-sums", fp8_exact_sums, ORR_UNIT_NONE, "1",
                   "How many times as long products in fp8 take without fast accumulation, as "
                   "gradients are computed: partial sums are promoted to fp32 all along.",
                   .min = 1, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "overlap-slowdown", interference.compute_by_comm,
                   ORR_UNIT_NONE, "1",
                   "How many times as long compute takes while a collective runs at the same time.",
                   .min = 1, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "overlap-slowdown-by-copy", interference.compute_by_copy,
                   ORR_UNIT_NONE, "1",
                   "How many times as long compute takes while a copy engine copies to or from the "
                   "host.",
                   .min = 1, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "collective-slowdown", interference.comm_by_compute,
                   ORR_UNIT_NONE, "1",
                   "How many times as long a collective's bytes take while a member computes.",
                   .min = 1, .max = 4),
    ORR_FIELD_REAL(
        OrrProfileConstants, "collective-slowdown-by-copy", interference.comm_by_copy,
        ORR_UNIT_NONE, "1",
        "How many times as long a collective's bytes take while a copy engine of a member "
        "copies to or from the host.",
        .min = 1, .max = 4),
    ORR_FIELD_REAL(
        OrrProfileConstants, "copy-slowdown", interference.copy_by_compute, ORR_UNIT_NONE, "1",
        "How many times as long a copy to or from the host takes while the GPU computes.", .min = 1,
        .max = 4),
    ORR_FIELD_REAL(
        OrrProfileConstants, "copy-slowdown-by-collective", interference.copy_by_comm,
        ORR_UNIT_NONE, "1",
        "How many times as long a copy to or from the host takes while a collective runs "
        "at the same time.",
        .min = 1, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "speed-spread", speed_spread, ORR_UNIT_FRACTION, "1.5 %",
                   "Standard deviation of the speeds of equal boards under their power limit; a "
                   "job runs at the speed of its slowest board.",
                   .min = 0, .max = 1),
    ORR_FIELD_REAL(OrrProfileConstants, "attention-efficiency", attention_efficiency,
                   ORR_UNIT_FRACTION, "50 %",
                   "Fraction of the peak rate that fused attention reaches on long sequences.",
                   .min = 0.01, .max = 1),
    ORR_POSITIVE_REAL(
        OrrProfileConstants, "attention-backward-flops", attention_backward_flops, ORR_UNIT_NONE,
        "2.5", "FLOPs of the backward pass of fused attention, as a multiple of the forward pass."),
    ORR_FIELD_REAL(
        OrrProfileConstants, "attention-backward-efficiency", attention_backward_efficiency,
        ORR_UNIT_FRACTION, "86 %",
        "Rate of the backward pass of fused attention, as a fraction of the forward pass.",
        .min = 0.01, .max = 1),
    ORR_FIELD_REAL(OrrProfileConstants, "flash-2-forward", flash_2_forward, ORR_UNIT_FRACTION,
                   "100 %",
                   "Rate of FlashAttention-2's forward pass (attention: flash-2), as a fraction of "
                   "the rows' rate.",
                   .min = 0.01, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "flash-2-forward-64", flash_2_forward_64, ORR_UNIT_FRACTION,
                   "0",
                   "The same for heads of 64 and less, where it differs; between 64 and 128 the "
                   "fraction is interpolated; 0: flash-2-forward.",
                   .min = 0, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "flash-2-backward", flash_2_backward, ORR_UNIT_FRACTION,
                   "100 %",
                   "Rate of FlashAttention-2's backward pass, as a fraction of the backward pass "
                   "modelled from the rows.",
                   .min = 0.01, .max = 4),
    ORR_FIELD_REAL(
        OrrProfileConstants, "flash-triton-forward", flash_triton_forward, ORR_UNIT_FRACTION,
        "71 %",
        "Rate of FlashAttention in Triton (attention: flash-triton), forward, as a fraction of "
        "FlashAttention-2: it is 1.3 to 1.5 times slower (Dao 2023, section 4.1).",
        .min = 0.01, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "flash-triton-backward", flash_triton_backward,
                   ORR_UNIT_FRACTION, "50 %",
                   "Rate of FlashAttention in Triton, backward, as a fraction of FlashAttention-2: "
                   "about half (Dao 2023, section 4.1).",
                   .min = 0.01, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "flash-1", flash_1, ORR_UNIT_FRACTION, "50 %",
                   "Rate of the first FlashAttention (attention: flash-1, 2022), as a fraction of "
                   "FlashAttention-2, which is about twice as fast (Dao 2023, abstract; 1.7 to 3.0 "
                   "times, section 4.1).",
                   .min = 0.01, .max = 4),
    ORR_FIELD_REAL(OrrProfileConstants, "moe-efficiency", moe_efficiency, ORR_UNIT_FRACTION, "60 %",
                   "Fraction of the peak rate that the grouped products of routed experts reach.",
                   .min = 0.01, .max = 1),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "moe-overhead", moe_overhead_s, ORR_UNIT_SECONDS,
                      "10 us",
                      "Time of routed experts beyond their products: sorting tokens, launching "
                      "several kernels, summing over experts."),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "collective-launch", collective_launch_s,
                      ORR_UNIT_SECONDS, "8 us", "A collective's launch and first synchronisation."),
    ORR_UNSIGNED_REAL(OrrProfileConstants, "scale-up-step", scale_up_step_s, ORR_UNIT_SECONDS,
                      "1 us", "One step of a collective between neighbours in a domain."),
    ORR_UNSIGNED_REAL(
        OrrProfileConstants, "scale-out-step", scale_out_step_s, ORR_UNIT_SECONDS, "4 us",
        "One step of a collective over the network, on top of the route's own latency."),
    ORR_COLUMN_TEXT(OrrProfileConstants, "source", source, "Where the constants come from."),
};
static const OrrMovedKey constants_moved[] = {{"gemm-eager-rate", "products.rate of the stack"},
                                              {"static-power", "power.static of the device"},
                                              {"tensor-power", "power.tensor of the device"},
                                              {NULL, NULL}};

const OrrFieldTable orr_profile_constants_table = {
    .name = "profile-constants",
    .sentence = "What stands in for rows that nobody measured.",
    .size = sizeof(OrrProfileConstants),
    .fields = constants_fields,
    .n_fields = G_N_ELEMENTS(constants_fields),
    .moved = constants_moved};

static const OrrFieldTable gemm_row_table =
    ORR_FIELDS("profile-gemm-row", "One (n, k) of a GEMM table.", OrrProfileGemmRow,
               ORR_POSITIVE_INT(OrrProfileGemmRow, "n", n, NULL, "Columns of the result."),
               ORR_POSITIVE_INT(OrrProfileGemmRow, "k", k, NULL, "Length of the inner product."),
               ORR_FIELD_TEXT(OrrProfileGemmRow, "us", us, NULL,
                              "Microseconds, one per m; '-': not measured."));

const char *const orr_gemm_layout_words[] = {"forward", "dgrad", "wgrad", NULL};

static const OrrFieldTable gemm_table = ORR_FIELDS(
    "profile-gemm", "Measured y[m,n] = x[m,k] w[n,k]^T.", OrrProfileGemm,
    ORR_FIELD_WORD(OrrProfileGemm, "dtype", dtype, orr_dtype_names, NULL,
                   "Number format of both operands."),
    ORR_FIELD_WORD(OrrProfileGemm, "library", library, orr_kernel_library_words, "any",
                   "Library of the kernels; any: not stated."),
    ORR_FIELD_WORD(OrrProfileGemm, "layout", layout, orr_gemm_layout_words, "forward",
                   "The product of a linear layer: forward y[m,n] = x w^T over k inputs; dgrad "
                   "dx[m,n] = dy w over k outputs; wgrad dw[m,n] = dy^T x over k tokens. Layouts "
                   "without rows take forward's."),
    ORR_POSITIVE_INT(OrrProfileGemm, "batch", batch, "1", "Products of one call."),
    ORR_COLUMN_TEXT(OrrProfileGemm, "release", release,
                    "Release of the library of products, such as cublas-12.8.4; a workload that "
                    "names it (products.release) takes these rows first. Absent: not stated."),
    ORR_FIELD_TEXT(OrrProfileGemm, "source", source, NULL, "Who measured it, with what."),
    ORR_FIELD_TEXT(OrrProfileGemm, "m", m, NULL, "The common m axis of all rows, rising."),
    ORR_FIELD_SECTIONS(OrrProfileGemm, "rows", rows, &gemm_row_table, NULL,
                       "The measured (n, k)."));

static const OrrFieldTable library_gemm_table = ORR_FIELDS(
    "profile-library-gemm", "Measured products of one library's kernels (cost_library_gemm.c).",
    OrrProfileLibraryGemm,
    ORR_FIELD_WORD(OrrProfileLibraryGemm, "library", table.library, orr_kernel_library_words, NULL,
                   "Library of the kernels."),
    ORR_FIELD_WORD(OrrProfileLibraryGemm, "dtype", table.dtype, orr_dtype_names, NULL,
                   "Number format of both operands."),
    ORR_FIELD_BOOL(
        OrrProfileLibraryGemm, "blocks", blocks, "false",
        "Whether each block of weights has a scale (fp8 by blocks of 128 x 128), instead "
        "of the whole tensor."),
    ORR_FIELD_BOOL(OrrProfileLibraryGemm, "tuned", tuned, "false",
                   "Whether each row is the fastest of the kernels that a tuner tried. A shape for "
                   "which it tried few is slow, and counts less for others."),
    ORR_FIELD_REAL(OrrProfileLibraryGemm, "weight-bytes", weight_bytes, ORR_UNIT_NONE, "0",
                   "Bytes per weight, where weights are stored narrower than they are multiplied "
                   "(int4: 0.5); 0: as dtype.",
                   .min = 0, .max = 2),
    ORR_COLUMN_TEXT(OrrProfileLibraryGemm, "measured-on", measured_on,
                    "The device of the rows, where it is not the profile's. Absent: the profile's "
                    "own."),
    ORR_FIELD_TEXT(OrrProfileLibraryGemm, "source", table.source, NULL,
                   "Who measured it, with what."),
    ORR_FIELD_TEXT(OrrProfileLibraryGemm, "m", table.m, NULL,
                   "The common m axis of all rows, rising."),
    ORR_FIELD_SECTIONS(OrrProfileLibraryGemm, "rows", table.rows, &gemm_row_table, NULL,
                       "The measured (n, k)."));

static const char *const phase_words[] = {"prefill", "decode", NULL};

static const OrrFieldTable attention_row_table = ORR_FIELDS(
    "profile-attention-row", "One head size and number of heads in an attention table.",
    OrrProfileAttentionRow,
    ORR_POSITIVE_INT(OrrProfileAttentionRow, "head-dim", head_dim, NULL, "Size of a head."),
    ORR_POSITIVE_INT(OrrProfileAttentionRow, "heads", heads, NULL, "Query heads."),
    ORR_POSITIVE_INT(OrrProfileAttentionRow, "kv-heads", kv_heads, NULL, "Key and value heads."),
    ORR_FIELD_TEXT(OrrProfileAttentionRow, "us", us, NULL,
                   "Microseconds, batch by batch, one per length; '-': not measured."));

static const OrrFieldTable attention_table = ORR_FIELDS(
    "profile-attention", "Measured fused attention.", OrrProfileAttention,
    ORR_FIELD_WORD(OrrProfileAttention, "phase", phase, phase_words, NULL,
                   "Prefill: causal, all queries; decode: one query."),
    ORR_FIELD_WORD(OrrProfileAttention, "dtype", dtype, orr_dtype_names, NULL,
                   "Number format of the queries."),
    ORR_FIELD_WORD(OrrProfileAttention, "kv-dtype", kv_dtype, orr_dtype_names, NULL,
                   "Number format of the keys and values."),
    ORR_FIELD_TEXT(OrrProfileAttention, "source", source, NULL, "Who measured it, with what."),
    ORR_FIELD_TEXT(OrrProfileAttention, "batch", batch, NULL, "The axis of sequences, rising."),
    ORR_FIELD_TEXT(OrrProfileAttention, "length", length, NULL, "The axis of keys, rising."),
    ORR_FIELD_SECTIONS(OrrProfileAttention, "rows", rows, &attention_row_table, NULL,
                       "The measured head sizes and numbers of heads."));

enum { MOST_LAID = 16 };

static const OrrFieldTable collective_table = ORR_FIELDS(
    "profile-collective", "A measured collective in one domain.", OrrProfileCollective,
    ORR_FIELD_TEXT(OrrProfileCollective, "op", op, NULL, "The collective as nccl-tests names it."),
    ORR_POSITIVE_INT(OrrProfileCollective, "ranks", ranks, NULL,
                     "Number of devices, in one scale-up domain."),
    ORR_FIELD_TEXT(OrrProfileCollective, "bytes", bytes, NULL,
                   "Sizes as nccl-tests counts them, rising."),
    ORR_FIELD_TEXT(OrrProfileCollective, "us", us, NULL, "Microseconds, one per size."),
    ORR_FIELD_INT(OrrProfileCollective, "laid-over", laid_over, "0",
                  "Set by the program: the number of lists of collectives in the profile's bases, "
                  "beneath this one. Above 0 the row answers within the range of its sizes, and "
                  "the bases answer outside it.",
                  .min = 0, .max = MOST_LAID));

static const char *const kernel_pass_words[] = {"any", "forward", "backward", NULL};

static const OrrFieldTable kernel_table = ORR_FIELDS(
    "profile-kernel", "Kernels bound by memory bandwidth.", OrrProfileKernel,
    ORR_FIELD_TEXTS(OrrProfileKernel, "operators", operators, NULL,
                    "Operators to which it applies."),
    ORR_FIELD_WORD(OrrProfileKernel, "pass", pass, kernel_pass_words, "any",
                   "Pass to which it applies."),
    ORR_FIELD_REAL(OrrProfileKernel, "eager", eager, ORR_UNIT_FRACTION, NULL,
                   "Fraction of the memory bandwidth that kernels of 2021-22 reach (PyTorch eager, "
                   "TorchScript, apex).",
                   .min = 0.01, .max = 1),
    ORR_FIELD_REAL(OrrProfileKernel, "modern", modern, ORR_UNIT_FRACTION, NULL,
                   "Fraction of the memory bandwidth that later kernels reach.", .min = 0.01,
                   .max = 1),
    ORR_FIELD_REAL(OrrProfileKernel, "flops", flops, ORR_UNIT_FRACTION, "100 %",
                   "Rate of their FLOPs, as a multiple of the device's fp32 rate: kernels that "
                   "are bound by instructions and not by memory.",
                   .min = 0.01, .max = 100),
    ORR_FIELD_TEXT(OrrProfileKernel, "source", source, NULL, "Where the fractions come from."));

const OrrFieldTable orr_profile_table = ORR_FIELDS(
    "profile", "What was measured on one kind of device.", OrrProfile,
    ORR_FIELD_TEXT(OrrProfile, "name", name, NULL, "The profile's name in the library."),
    ORR_FIELD_TEXT(OrrProfile, "device", device, NULL, "The device that was measured."),
    ORR_COLUMN_TEXT(OrrProfile, "source", source,
                    "Where the rows come from and under which licence."),
    ORR_FIELD_SECTION(OrrProfile, "constants", constants, &orr_profile_constants_table, "{}",
                      "What stands in for rows that nobody measured."),
    ORR_OPTIONAL_SECTIONS(
        OrrProfile, "kernels", kernels, &kernel_table,
        "Kernels bound by memory bandwidth; the first entry that names an operator applies."),
    ORR_OPTIONAL_SECTIONS(OrrProfile, "gemm", gemm, &gemm_table,
                          "Matrix products, one table per number format."),
    ORR_OPTIONAL_SECTIONS(
        OrrProfile, "library-gemm", library_gemm, &library_gemm_table,
        "Matrix products by the kernels of one library, in addition to `gemm`; a base's "
        "tables stay."),
    ORR_OPTIONAL_SECTIONS(OrrProfile, "attention", attention, &attention_table, "Fused attention."),
    ORR_OPTIONAL_SECTIONS(OrrProfile, "collectives", collectives, &collective_table,
                          "Collectives inside a scale-up domain."),
    ORR_OPTIONAL_SECTIONS(
        OrrProfile, "moe", moe, &orr_profile_moe_table,
        "Grouped products of a rank's routed experts, one table per number format "
        "and distribution of tokens."),
    ORR_OPTIONAL_SECTIONS(OrrProfile, "nccl", nccl, &orr_profile_nccl_table,
                          "NCCL's algorithms and protocols, for calls that nobody measured."),
    ORR_OPTIONAL_SECTIONS(OrrProfile, "choices", choices, &orr_profile_choice_table,
                          "What the device's library takes for a call, whatever the times are: the "
                          "first row that fits; where none does, the least expected time."),
    ORR_OPTIONAL_SECTIONS(OrrProfile, "libraries", libraries, &orr_profile_library_table,
                          "Collectives of other libraries: custom all-reduces, DeepEP."),
    ORR_OPTIONAL_SECTIONS(OrrProfile, "token-kernels", token_kernels,
                          &orr_profile_token_kernel_table,
                          "Small kernels of a serving engine over the tokens of a step."),
    ORR_OPTIONAL_SECTIONS(
        OrrProfile, "batch-attention", batch_attention, &orr_profile_batch_attention_table,
        "Attention in the steps of a serving engine, prompt chunks and decodes together."),
    ORR_OPTIONAL_SECTION(OrrProfile, "modules", modules, &orr_profile_modules_table,
                         "Sparse and linear attention, as scattered rows of several devices."),
    ORR_COLUMN_TEXT(OrrProfile, "modules-of", modules_of,
                    "The profile whose `modules` these are, where it has none of its own. Only a "
                    "model with such layers reads it. Absent: none."),
    ORR_OPTIONAL_SECTIONS(
        OrrProfile, "errors", errors, &orr_profile_errors_table,
        "Errors of the answers for rows that were left out, by table and region."));

/* --- checks --- */

char *orr_profile_gemm_label(const OrrProfileGemm *gemm) {
  GString *text = g_string_new(orr_dtype_names[gemm->dtype]);
  if (gemm->layout != ORR_GEMM_FORWARD)
    g_string_append_printf(text, " %s", orr_gemm_layout_words[gemm->layout]);
  if (gemm->batch > 1) g_string_append_printf(text, " batch %ld", gemm->batch);
  if (gemm->release) g_string_append_printf(text, " %s", gemm->release);
  return g_string_free(text, FALSE);
}

/* @what: which of the profile's tables. */
static void check_gemm(const OrrProfileGemm *gemm, const char *what, const OrrNode *map,
                       GHashTable *seen, OrrDiags *diags) {
  guint n_m = orr_profile_check_axis(map, "m", gemm->m, diags);
  ORR_EACH_POINTER_AT(i, const OrrProfileGemmRow, row, gemm->rows) {
    const OrrNode *row_map = orr_node_get(map, "rows")->items->pdata[i];
    orr_profile_check_row(row_map, row->us, n_m, TRUE, diags);
    orr_profile_check_unique(seen, g_strdup_printf("gemm %s n %ld k %ld", what, row->n, row->k),
                             row_map, diags);
  }
}

static void check_library_gemm(const OrrProfileLibraryGemm *gemm, const OrrNode *map,
                               GHashTable *seen, OrrDiags *diags) {
  g_autofree char *what = g_strdup_printf(
      "%s %s%s, weights of %.3g bytes, on %s", orr_kernel_library_words[gemm->table.library],
      orr_dtype_names[gemm->table.dtype], gemm->blocks ? " by blocks" : "", gemm->weight_bytes,
      gemm->measured_on ? gemm->measured_on : "its device");
  check_gemm(&gemm->table, what, map, seen, diags);
}

static void check_attention(const OrrProfileAttention *attention, const OrrNode *map,
                            GHashTable *seen, OrrDiags *diags) {
  guint n_batches = orr_profile_check_axis(map, "batch", attention->batch, diags);
  guint n_lengths = orr_profile_check_axis(map, "length", attention->length, diags);
  ORR_EACH_POINTER_AT(i, const OrrProfileAttentionRow, row, attention->rows) {
    const OrrNode *row_map = orr_node_get(map, "rows")->items->pdata[i];
    orr_profile_check_row(row_map, row->us, n_batches * n_lengths, TRUE, diags);
    if (row->kv_heads > row->heads || row->heads % row->kv_heads != 0)
      orr_diags_error(diags, orr_profile_check_place(row_map, "kv-heads"),
                      "kv-heads must divide heads");
    orr_profile_check_unique(
        seen,
        g_strdup_printf("attention %s %s/%s head-dim %ld heads %ld kv-heads %ld",
                        phase_words[attention->phase], orr_dtype_names[attention->dtype],
                        orr_dtype_names[attention->kv_dtype], row->head_dim, row->heads,
                        row->kv_heads),
        row_map, diags);
  }
}

static void check_profile(const OrrProfile *profile, const OrrNode *node, OrrDiags *diags) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < orr_profile_length(profile->gemm); i++) {
    g_autofree char *what = orr_profile_gemm_label(profile->gemm->pdata[i]);
    check_gemm(profile->gemm->pdata[i], what, orr_node_get(node, "gemm")->items->pdata[i], seen,
               diags);
  }
  for (guint i = 0; i < orr_profile_length(profile->library_gemm); i++)
    check_library_gemm(profile->library_gemm->pdata[i],
                       orr_node_get(node, "library-gemm")->items->pdata[i], seen, diags);
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
  orr_profile_modules_check(&profile->modules, orr_node_get(node, "modules"), diags);
}

/* --- life --- */

OrrProfile *orr_profile_read(const OrrNode *document, OrrLibrary *library, OrrDiags *diags) {
  g_autoptr(OrrProfile) profile = g_new0(OrrProfile, 1);
  g_autoptr(OrrNode) collectives = orr_profile_lay_collectives(document);
  g_autoptr(OrrNode) products = orr_profile_lay_gemm(collectives ? collectives : document);
  const OrrNode *node = products ? products : collectives ? collectives : document;
  if (!orr_field_read(&orr_profile_table, node, library, diags, profile)) return NULL;
  guint errors = orr_diags_n_errors(diags);
  profile->library = library;
  check_profile(profile, node, diags);
  orr_profile_modules_find(profile, orr_profile_check_place(node, "modules-of"), diags);
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

gboolean orr_profile_has_library_products(const OrrProfile *profile) {
  return orr_profile_length(profile->library_gemm) > 0;
}

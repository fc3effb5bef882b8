/*
 * profile_serving.c - the field tables of the sections `token-kernels` and `batch-attention`, and
 * their checks.
 */
#include "calibration/profile/profile_serving.h"

#include "calibration/profile/profile_private.h"

const OrrFieldTable orr_profile_token_kernel_table = ORR_FIELDS(
    "profile-token-kernel", "A small kernel over the tokens of a step.", OrrProfileTokenKernel,
    ORR_FIELD_TEXT(OrrProfileTokenKernel, "operator", operator_name, NULL, "Name of the operator."),
    ORR_POSITIVE_INT(OrrProfileTokenKernel, "width", width, NULL,
                     "Elements per token: hidden size, inner size or vocabulary."),
    ORR_FIELD_TEXT(OrrProfileTokenKernel, "tokens", tokens, NULL, "The axis of tokens, rising."),
    ORR_FIELD_TEXT(OrrProfileTokenKernel, "us", us, NULL,
                   "Microseconds, one per number of tokens."));

static const OrrFieldTable chunk_table = ORR_FIELDS(
    "profile-batch-chunk", "Attention of steps with one size of chunk.", OrrProfileBatchChunk,
    ORR_UNSIGNED_INT(OrrProfileBatchChunk, "chunk", chunk, NULL,
                     "Prompt tokens of the step; 0: decodes only."),
    ORR_COLUMN_TEXT(OrrProfileBatchChunk, "prefill-keys", prefill_keys,
                    "Mean keys that a prompt token sees, history + chunk / 2, rising; only where "
                    "there is a chunk."),
    ORR_COLUMN_TEXT(
        OrrProfileBatchChunk, "alone", alone,
        "Microseconds without decodes, one per value of prefill-keys; '-': not measured."),
    ORR_FIELD_TEXT(OrrProfileBatchChunk, "decodes", decodes, NULL,
                   "The axis of sequences that decode, rising."),
    ORR_FIELD_TEXT(OrrProfileBatchChunk, "keys", keys, NULL,
                   "The axis of their context lengths, rising."),
    ORR_FIELD_TEXT(
        OrrProfileBatchChunk, "us", us, NULL,
        "Microseconds, prefill-keys by decodes by keys, the last fastest; '-': not measured."));

static const OrrFieldTable skew_table = ORR_FIELDS(
    "profile-batch-skew", "Cost of decodes of unequal contexts.", OrrProfileBatchSkew,
    ORR_FIELD_BOOL(OrrProfileBatchSkew, "with-prefill", with_prefill, NULL,
                   "Whether the step has a chunk."),
    ORR_FIELD_TEXT(OrrProfileBatchSkew, "decodes", decodes, NULL,
                   "Upper limits of the number of sequences that decode, rising."),
    ORR_FIELD_TEXT(OrrProfileBatchSkew, "rates", rates, NULL,
                   "Upper limits of (mean - least) / (most - least) of their contexts, rising."),
    ORR_FIELD_TEXT(OrrProfileBatchSkew, "longest", longest, NULL,
                   "Upper limits of the longest of their contexts, rising."),
    ORR_FIELD_TEXT(OrrProfileBatchSkew, "shares", shares, NULL,
                   "Fraction of the difference between the times of the longest context and "
                   "the mean one, decodes by rates by longest; '-': none."));

const OrrFieldTable orr_profile_batch_attention_table = ORR_FIELDS(
    "profile-batch-attention",
    "Measured attention of whole steps: prompt chunks and decodes together.",
    OrrProfileBatchAttention,
    ORR_FIELD_WORD(OrrProfileBatchAttention, "dtype", dtype, orr_dtype_names, NULL,
                   "Number format of the queries."),
    ORR_FIELD_WORD(OrrProfileBatchAttention, "kv-dtype", kv_dtype, orr_dtype_names, NULL,
                   "Number format of the keys and values."),
    ORR_POSITIVE_INT(OrrProfileBatchAttention, "head-dim", head_dim, NULL, "Size of a head."),
    ORR_POSITIVE_INT(OrrProfileBatchAttention, "heads", heads, NULL, "Query heads of a rank."),
    ORR_POSITIVE_INT(OrrProfileBatchAttention, "kv-heads", kv_heads, NULL,
                     "Key and value heads of a rank."),
    ORR_FIELD_TEXT(OrrProfileBatchAttention, "source", source, NULL, "Who measured it, with what."),
    ORR_FIELD_SECTIONS(OrrProfileBatchAttention, "chunks", chunks, &chunk_table, NULL,
                       "The measured chunks, rising, 0 first."),
    ORR_OPTIONAL_SECTIONS(OrrProfileBatchAttention, "skew", skew, &skew_table,
                          "Cost of decodes of unequal contexts."));

void orr_profile_token_kernel_check(const OrrProfileTokenKernel *kernel, const OrrNode *map,
                                    GHashTable *seen, OrrDiags *diags) {
  orr_profile_check_row(map, kernel->us,
                        orr_profile_check_axis(map, "tokens", kernel->tokens, diags), FALSE, diags);
  orr_profile_check_unique(
      seen, g_strdup_printf("%s of width %ld", kernel->operator_name, kernel->width), map, diags);
}

/* Checks a row whose key is not "us". */
static void check_named_row(const OrrNode *map, const char *key, const char *text, guint wanted,
                            OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) numbers = orr_profile_numbers(text, TRUE, &error);
  const OrrPlace place = orr_profile_check_place(map, key);
  if (!numbers)
    orr_diags_error(diags, place, "%s: %s", key, error->message);
  else if (wanted > 0 && numbers->len != wanted)
    orr_diags_error(diags, place, "%s has %u values, but its axes need %u", key, numbers->len,
                    wanted);
}

static void check_chunk(const OrrProfileBatchChunk *chunk, const OrrNode *map, OrrDiags *diags) {
  guint n_decodes = orr_profile_check_axis(map, "decodes", chunk->decodes, diags);
  guint n_keys = orr_profile_check_axis(map, "keys", chunk->keys, diags);
  guint n_prefill = 1;
  if (chunk->chunk > 0 && (!chunk->prefill_keys || !chunk->alone))
    return orr_diags_error(diags, map->place, "a chunk above 0 needs prefill-keys and alone");
  if (chunk->chunk > 0) {
    n_prefill = orr_profile_check_axis(map, "prefill-keys", chunk->prefill_keys, diags);
    check_named_row(map, "alone", chunk->alone, n_prefill, diags);
  }
  orr_profile_check_row(map, chunk->us, n_prefill * n_decodes * n_keys, TRUE, diags);
}

void orr_profile_batch_attention_check(const OrrProfileBatchAttention *attention,
                                       const OrrNode *map, GHashTable *seen, OrrDiags *diags) {
  gint64 last = -1;
  ORR_EACH_POINTER_AT(i, const OrrProfileBatchChunk, chunk, attention->chunks) {
    const OrrNode *node = orr_node_get(map, "chunks")->items->pdata[i];
    if (chunk->chunk <= last || (i == 0) != (chunk->chunk == 0))
      orr_diags_error(diags, node->place, "chunks must rise, and the first must be 0");
    last = chunk->chunk;
    check_chunk(chunk, node, diags);
  }
  if (attention->chunks->len == 0) orr_diags_error(diags, map->place, "there are no chunks");
  for (guint i = 0; i < orr_profile_length(attention->skew); i++) {
    const OrrProfileBatchSkew *skew = attention->skew->pdata[i];
    const OrrNode *node = orr_node_get(map, "skew")->items->pdata[i];
    guint n_decodes = orr_profile_check_axis(node, "decodes", skew->decodes, diags);
    guint n_rates = orr_profile_check_axis(node, "rates", skew->rates, diags);
    guint n_longest = orr_profile_check_axis(node, "longest", skew->longest, diags);
    check_named_row(node, "shares", skew->shares, n_decodes * n_rates * n_longest, diags);
  }
  orr_profile_check_unique(seen,
                           g_strdup_printf("batch-attention %s %s of %ld and %ld heads of %ld",
                                           orr_dtype_names[attention->dtype],
                                           orr_dtype_names[attention->kv_dtype], attention->heads,
                                           attention->kv_heads, attention->head_dim),
                           map, diags);
}

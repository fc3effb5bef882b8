/*
 * profile_serving.c - see profile_serving.h.
 */
#include "calibration/profile/profile_serving.h"

#include "calibration/profile/profile_private.h"

#define COUNT(type_, name_, member_, sentence_)                                                    \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_INT, .offset = offsetof(type_, member_),                    \
    .sentence = (sentence_), .flags = ORR_FIELD_POSITIVE                                           \
  }
#define TEXT(type_, name_, member_, flags_, sentence_)                                             \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_TEXT, .offset = offsetof(type_, member_),                   \
    .flags = (flags_), .sentence = (sentence_)                                                     \
  }
#define LIST(type_, name_, member_, table_, flags_, sentence_)                                     \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_SECTIONS, .offset = offsetof(type_, member_),               \
    .sentence = (sentence_), .table = (table_), .flags = (flags_)                                  \
  }

static const OrrField kernel_fields[] = {
    TEXT(OrrProfileTokenKernel, "operator", operator_name, 0, "The operator that it is."),
    COUNT(OrrProfileTokenKernel, "width", width,
          "Elements of a token: hidden size, inner size, or vocabulary."),
    TEXT(OrrProfileTokenKernel, "tokens", tokens, 0, "The axis of tokens, rising."),
    TEXT(OrrProfileTokenKernel, "us", us, 0, "Microseconds, one for each number of tokens."),
};
const OrrFieldTable orr_profile_token_kernel_table =
    ORR_FIELD_TABLE("profile-token-kernel", "A small kernel over the tokens of a step.",
                    OrrProfileTokenKernel, kernel_fields);

static const OrrField chunk_fields[] = {
    {.name = "chunk",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrProfileBatchChunk, chunk),
     .flags = ORR_FIELD_UNSIGNED,
     .sentence = "Prompt tokens of the step; 0: decodes alone."},
    TEXT(OrrProfileBatchChunk, "prefill-keys", prefill_keys, ORR_FIELD_OPTIONAL,
         "Mean keys that a prompt token sees, history + chunk / 2, rising; only where there is a "
         "chunk."),
    TEXT(OrrProfileBatchChunk, "alone", alone, ORR_FIELD_OPTIONAL,
         "Microseconds without decodes, one for each of prefill-keys; '-': not measured."),
    TEXT(OrrProfileBatchChunk, "decodes", decodes, 0, "The axis of sequences that decode, rising."),
    TEXT(OrrProfileBatchChunk, "keys", keys, 0, "The axis of their context lengths, rising."),
    TEXT(OrrProfileBatchChunk, "us", us, 0,
         "Microseconds, prefill-keys by decodes by keys, the last fastest; '-': not measured."),
};
static const OrrFieldTable chunk_table =
    ORR_FIELD_TABLE("profile-batch-chunk", "Attention of steps with one size of chunk.",
                    OrrProfileBatchChunk, chunk_fields);

static const OrrField skew_fields[] = {
    {.name = "with-prefill",
     .kind = ORR_FIELD_BOOL,
     .offset = offsetof(OrrProfileBatchSkew, with_prefill),
     .sentence = "Whether the step has a chunk."},
    TEXT(OrrProfileBatchSkew, "decodes", decodes, 0, "Sequences that decode, at most; rising."),
    TEXT(OrrProfileBatchSkew, "rates", rates, 0,
         "(mean - least) / (most - least) of their contexts, at most; rising."),
    TEXT(OrrProfileBatchSkew, "longest", longest, 0,
         "The longest of their contexts, at most; rising."),
    TEXT(OrrProfileBatchSkew, "shares", shares, 0,
         "Share of the way from the mean context's time to the longest's, decodes by rates by "
         "longest; '-': none."),
};
static const OrrFieldTable skew_table =
    ORR_FIELD_TABLE("profile-batch-skew", "What decodes of unequal contexts cost.",
                    OrrProfileBatchSkew, skew_fields);

#define DTYPE(name_, member_, sentence_)                                                           \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_WORD,                                                       \
    .offset = offsetof(OrrProfileBatchAttention, member_), .sentence = (sentence_),                \
    .words = orr_dtype_names                                                                       \
  }
static const OrrField attention_fields[] = {
    DTYPE("dtype", dtype, "Number format of the queries."),
    DTYPE("kv-dtype", kv_dtype, "Number format of the keys and values."),
    COUNT(OrrProfileBatchAttention, "head-dim", head_dim, "Size of a head."),
    COUNT(OrrProfileBatchAttention, "heads", heads, "Query heads of a rank."),
    COUNT(OrrProfileBatchAttention, "kv-heads", kv_heads, "Key and value heads of a rank."),
    TEXT(OrrProfileBatchAttention, "source", source, 0, "Who measured it, with what."),
    LIST(OrrProfileBatchAttention, "chunks", chunks, &chunk_table, 0,
         "The measured chunks, rising, 0 first."),
    LIST(OrrProfileBatchAttention, "skew", skew, &skew_table, ORR_FIELD_OPTIONAL,
         "What decodes of unequal contexts cost."),
};
const OrrFieldTable orr_profile_batch_attention_table =
    ORR_FIELD_TABLE("profile-batch-attention",
                    "Measured attention of whole steps: prompt chunks and decodes together.",
                    OrrProfileBatchAttention, attention_fields);

void orr_profile_token_kernel_check(const OrrProfileTokenKernel *kernel, const OrrNode *map,
                                    GHashTable *seen, OrrDiags *diags) {
  orr_profile_check_row(map, kernel->us,
                        orr_profile_check_axis(map, "tokens", kernel->tokens, diags), FALSE, diags);
  orr_profile_check_unique(
      seen, g_strdup_printf("%s of width %" G_GINT64_FORMAT, kernel->operator_name, kernel->width),
      map, diags);
}

/* A row of another name than "us". */
static void check_named_row(const OrrNode *map, const char *key, const char *text, guint wanted,
                            OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) numbers = orr_profile_numbers(text, TRUE, &error);
  const OrrPlace place = orr_profile_check_place(map, key);
  if (!numbers)
    orr_diags_error(diags, place, "%s: %s", key, error->message);
  else if (wanted > 0 && numbers->len != wanted)
    orr_diags_error(diags, place, "%s has %u values, its axes ask for %u", key, numbers->len,
                    wanted);
}

static void check_chunk(const OrrProfileBatchChunk *chunk, const OrrNode *map, OrrDiags *diags) {
  guint n_decodes = orr_profile_check_axis(map, "decodes", chunk->decodes, diags);
  guint n_keys = orr_profile_check_axis(map, "keys", chunk->keys, diags);
  guint n_prefill = 1;
  if (chunk->chunk > 0 && (!chunk->prefill_keys || !chunk->alone)) {
    orr_diags_error(diags, map->place, "a chunk above 0 needs prefill-keys and alone");
    return;
  }
  if (chunk->chunk > 0) {
    n_prefill = orr_profile_check_axis(map, "prefill-keys", chunk->prefill_keys, diags);
    check_named_row(map, "alone", chunk->alone, n_prefill, diags);
  }
  orr_profile_check_row(map, chunk->us, n_prefill * n_decodes * n_keys, TRUE, diags);
}

void orr_profile_batch_attention_check(const OrrProfileBatchAttention *attention,
                                       const OrrNode *map, GHashTable *seen, OrrDiags *diags) {
  gint64 last = -1;
  for (guint i = 0; i < attention->chunks->len; i++) {
    const OrrProfileBatchChunk *chunk = attention->chunks->pdata[i];
    const OrrNode *node = orr_node_get(map, "chunks")->items->pdata[i];
    if (chunk->chunk <= last || (i == 0) != (chunk->chunk == 0))
      orr_diags_error(diags, node->place, "chunks must rise, and the first be 0");
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
                           g_strdup_printf("batch-attention %s %s of %" G_GINT64_FORMAT
                                           " and %" G_GINT64_FORMAT " heads of %" G_GINT64_FORMAT,
                                           orr_dtype_names[attention->dtype],
                                           orr_dtype_names[attention->kv_dtype], attention->heads,
                                           attention->kv_heads, attention->head_dim),
                           map, diags);
}

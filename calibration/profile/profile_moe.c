/*
 * profile_moe.c - see profile_moe.h.
 */
#include "calibration/profile/profile_moe.h"

#include <string.h>

#include "calibration/profile/profile_private.h"

#define COUNT(name_, member_, sentence_)                                                           \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_INT, .offset = offsetof(OrrProfileMoeRow, member_),         \
    .sentence = (sentence_), .flags = ORR_FIELD_POSITIVE                                           \
  }
#define TEXT(type_, name_, member_, sentence_)                                                     \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_TEXT, .offset = offsetof(type_, member_),                   \
    .sentence = (sentence_)                                                                        \
  }

static const OrrField row_fields[] = {
    COUNT("hidden", hidden, "Size of a token."),
    COUNT("inter", inter, "Inner size of a whole expert."),
    COUNT("topk", topk, "Experts that each token goes to."),
    COUNT("experts", experts, "Experts of the layer."),
    COUNT("tp", tp, "Ranks that each expert is split over."),
    COUNT("ep", ep, "Ranks that the experts are split over."),
    {.name = "projections",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrProfileMoeRow, projections),
     .min = 2,
     .max = 3,
     .fallback = "3",
     .sentence = "Products of an expert: 3 with a gate (SwiGLU), 2 without (squared ReLU)."},
    TEXT(OrrProfileMoeRow, "us", us,
         "Microseconds, one for each number of tokens; '-': not measured."),
};
static const OrrFieldTable row_table =
    ORR_FIELD_TABLE("profile-moe-row", "One layer and its split in a table of experts.",
                    OrrProfileMoeRow, row_fields);

static const OrrField moe_fields[] = {
    {.name = "dtype",
     .kind = ORR_FIELD_WORD,
     .offset = offsetof(OrrProfileMoe, dtype),
     .words = orr_dtype_names,
     .sentence = "Number format of the weights."},
    TEXT(OrrProfileMoe, "distribution", distribution,
         "How tokens fall on experts: balanced, or power_law_A with the law's exponent A."),
    TEXT(OrrProfileMoe, "source", source, "Who measured it, with what."),
    TEXT(OrrProfileMoe, "tokens", tokens,
         "The axis of tokens of the expert-parallel group that all rows share, rising."),
    {.name = "rows",
     .kind = ORR_FIELD_SECTIONS,
     .offset = offsetof(OrrProfileMoe, rows),
     .table = &row_table,
     .sentence = "The measured layers."},
};
const OrrFieldTable orr_profile_moe_table = ORR_FIELD_TABLE(
    "profile-moe", "Measured routed experts of one rank.", OrrProfileMoe, moe_fields);

gboolean orr_profile_moe_imbalance(const char *distribution, double *ret_imbalance) {
  static const char law[] = "power_law_";
  if (strcmp(distribution, "balanced") == 0) {
    *ret_imbalance = 0;
    return TRUE;
  }
  if (!g_str_has_prefix(distribution, law) || !g_ascii_isdigit(distribution[strlen(law)]))
    return FALSE;
  char *end;
  double exponent = g_ascii_strtod(distribution + strlen(law), &end);
  if (*end || !(exponent > 0 && exponent < 2) || exponent == 1) return FALSE;
  *ret_imbalance = exponent;
  return TRUE;
}

static void check_moe_row(const OrrProfileMoe *moe, const OrrProfileMoeRow *row, const OrrNode *map,
                          guint n_tokens, GHashTable *seen, OrrDiags *diags) {
  orr_profile_check_row(map, row->us, n_tokens, TRUE, diags);
  if (row->experts % row->ep != 0) orr_diags_error(diags, map->place, "ep must divide experts");
  if (row->inter % row->tp != 0) orr_diags_error(diags, map->place, "tp must divide inter");
  if (row->topk > row->experts)
    orr_diags_error(diags, map->place, "topk must not be above experts");
  orr_profile_check_unique(
      seen,
      g_strdup_printf("moe %s %s hidden %" G_GINT64_FORMAT " inter %" G_GINT64_FORMAT
                      " topk %" G_GINT64_FORMAT " experts %" G_GINT64_FORMAT " tp %" G_GINT64_FORMAT
                      " ep %" G_GINT64_FORMAT,
                      orr_dtype_names[moe->dtype], moe->distribution, row->hidden, row->inter,
                      row->topk, row->experts, row->tp, row->ep),
      map, diags);
}

void orr_profile_moe_check(const OrrProfileMoe *moe, const OrrNode *map, GHashTable *seen,
                           OrrDiags *diags) {
  double imbalance;
  if (!orr_profile_moe_imbalance(moe->distribution, &imbalance))
    orr_diags_error(diags, orr_node_get(map, "distribution")->place,
                    "distribution is '%s': want balanced or power_law_A, 0 < A < 2, not 1",
                    moe->distribution);
  guint n_tokens = orr_profile_check_axis(map, "tokens", moe->tokens, diags);
  for (guint i = 0; i < moe->rows->len; i++)
    check_moe_row(moe, moe->rows->pdata[i], orr_node_get(map, "rows")->items->pdata[i], n_tokens,
                  seen, diags);
}

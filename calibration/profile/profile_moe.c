/*
 * profile_moe.c - the field table of the section `moe`, and its checks.
 */
#include "calibration/profile/profile_moe.h"

#include "calibration/profile/profile_private.h"

static const OrrFieldTable row_table = ORR_FIELDS(
    "profile-moe-row", "One layer and its split in a table of experts.", OrrProfileMoeRow,
    ORR_POSITIVE_INT(OrrProfileMoeRow, "hidden", hidden, NULL, "Size of a token."),
    ORR_POSITIVE_INT(OrrProfileMoeRow, "inter", inter, NULL, "Inner size of a whole expert."),
    ORR_POSITIVE_INT(OrrProfileMoeRow, "topk", topk, NULL, "Experts that each token goes to."),
    ORR_POSITIVE_INT(OrrProfileMoeRow, "experts", experts, NULL, "Experts of the layer."),
    ORR_POSITIVE_INT(OrrProfileMoeRow, "tp", tp, NULL, "Ranks that each expert is split over."),
    ORR_POSITIVE_INT(OrrProfileMoeRow, "ep", ep, NULL, "Ranks that the experts are split over."),
    ORR_FIELD_INT(OrrProfileMoeRow, "projections", projections, "3",
                  "Products of an expert: 3 with a gate (SwiGLU), 2 without (squared ReLU).",
                  .min = 2, .max = 3),
    ORR_FIELD_TEXT(OrrProfileMoeRow, "us", us, NULL,
                   "Microseconds, one per number of tokens; '-': not measured."));

const OrrFieldTable orr_profile_moe_table = ORR_FIELDS(
    "profile-moe", "Measured routed experts of one rank.", OrrProfileMoe,
    ORR_FIELD_WORD(OrrProfileMoe, "dtype", dtype, orr_dtype_names, NULL,
                   "Number format of the weights."),
    ORR_FIELD_TEXT(
        OrrProfileMoe, "distribution", distribution, NULL,
        "Distribution of tokens over experts: balanced, or power_law_A with the exponent A."),
    ORR_FIELD_TEXT(OrrProfileMoe, "source", source, NULL, "Who measured it, with what."),
    ORR_OPTIONAL_SECTION(
        OrrProfileMoe, "measured-on", measured_on, &orr_device_table,
        "The device of the rows, where it is not the profile's: they tell of layers for which the "
        "profile's own device has few. Absent: the profile's own.",
        .document = "device"),
    ORR_FIELD_TEXT(OrrProfileMoe, "tokens", tokens, NULL,
                   "The common axis of all rows: tokens of the expert-parallel group, rising."),
    ORR_FIELD_SECTIONS(OrrProfileMoe, "rows", rows, &row_table, NULL, "The measured layers."));

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
  if (*end || !(exponent > 0 && exponent < 2)) return FALSE;
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
      g_strdup_printf("moe %s %s %s hidden %ld inter %ld topk %ld experts %ld tp %ld ep %ld",
                      moe->measured_on.name ? moe->measured_on.name : "",
                      orr_dtype_names[moe->dtype], moe->distribution, row->hidden, row->inter,
                      row->topk, row->experts, row->tp, row->ep),
      map, diags);
}

void orr_profile_moe_check(const OrrProfileMoe *moe, const OrrNode *map, GHashTable *seen,
                           OrrDiags *diags) {
  double imbalance;
  if (!orr_profile_moe_imbalance(moe->distribution, &imbalance))
    orr_diags_error(diags, orr_node_get(map, "distribution")->place,
                    "distribution is '%s': want balanced or power_law_A, 0 < A < 2",
                    moe->distribution);
  guint n_tokens = orr_profile_check_axis(map, "tokens", moe->tokens, diags);
  for (guint i = 0; i < moe->rows->len; i++)
    check_moe_row(moe, moe->rows->pdata[i], orr_node_get(map, "rows")->items->pdata[i], n_tokens,
                  seen, diags);
}

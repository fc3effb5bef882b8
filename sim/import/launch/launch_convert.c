/*
 * launch_convert.c - converts values of settings by the rows of a dialect's table.
 */
#include "sim/import/launch/launch_serving.h"

static void convert_copy(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  orr_launch_draft_set(draft, rule->path, setting->value ? setting->value : "true", setting, NULL);
}

static void convert_bool(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  static const char *const yes[] = {"1", "true", "yes", "on", NULL};
  static const char *const no[] = {"0", "false", "no", "off", NULL};
  g_autofree char *lower = g_ascii_strdown(setting->value ? setting->value : "true", -1);
  if (g_strv_contains(yes, lower))
    orr_launch_draft_set(draft, rule->path, "true", setting, NULL);
  else if (g_strv_contains(no, lower))
    orr_launch_draft_set(draft, rule->path, "false", setting, NULL);
  else
    orr_launch_draft_bad(draft, setting, "'%s' is neither true nor false", setting->value);
}

static void set_int(OrrLaunchDraft *draft, const OrrLaunchSetting *setting,
                    const OrrLaunchRule *rule, gint64 least) {
  const guint n_errors = orr_diags_n_errors(draft->diags);
  const gint64 number = orr_launch_draft_int(draft, setting->dialect, setting->key, 0);
  if (orr_diags_n_errors(draft->diags) > n_errors) return;
  if (number >= least)
    orr_launch_draft_set_number(draft, rule->path, number, setting, NULL);
  else if (number < 0)
    orr_launch_draft_bad(draft, setting, "'%s' is below 0", setting->value);
}

static void convert_int(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                        const OrrLaunchRule *rule) {
  set_int(draft, setting, rule, G_MININT64);
}

static void convert_positive(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                             const OrrLaunchRule *rule) {
  const gboolean is_open = orr_launch_config_is_null(draft, setting->dialect, setting->key) ||
                           orr_launch_config_says(draft, setting->dialect, setting->key, "auto");
  if (setting->written[0] == '-' || !is_open) /* a config's null and auto are defaults */
    set_int(draft, setting, rule, 1);
}

/* "Cp_Comm" -> "cp-comm" */
static char *plain(const char *text) { return g_strdelimit(g_ascii_strdown(text, -1), "_", '-'); }

static gboolean is_null(const char *value) {
  static const char *const nulls[] = {"", "null", "~", "none", NULL};
  return g_strv_contains(nulls, value);
}

/* A number of the rule's unit. */
static void convert_unit(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                         const OrrLaunchRule *rule) {
  double number = 0;
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (!orr_launch_serving_number(setting->value, &number) || number < 0)
    return orr_launch_draft_bad(draft, setting, "'%s' is not a number of %s",
                                setting->value ? setting->value : "", rule->why);
  g_autofree char *value =
      g_strconcat(g_ascii_formatd(text, sizeof text, "%.15g", number), " ", rule->why, NULL);
  orr_launch_draft_set(draft, rule->path, value, setting, NULL);
}

/* Sizes, "[1, 2, 4]" or "1 2 4": the largest. */
static void convert_largest(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            const OrrLaunchRule *rule) {
  double largest = 0, size = 0;
  g_autofree char *lower = plain(setting->value ? setting->value : "");
  if (is_null(lower))
    return orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the engine chooses");
  g_auto(GStrv) words = g_strsplit_set(setting->value ? setting->value : "", "[], ", -1);
  for (char **word = words; *word; word++) {
    if (**word && !orr_launch_serving_number(*word, &size))
      return orr_launch_draft_bad(draft, setting, "'%s' is not a size", *word);
    largest = MAX(largest, size);
  }
  orr_launch_draft_set_number(draft, rule->path, (gint64)largest, setting, NULL);
}

static gboolean is_case(const OrrLaunchCase *one, const char *value, gboolean is_on) {
  if (strcmp(one->word, "on") == 0) return is_on;
  if (strcmp(one->word, "off") == 0) return !is_on;
  if (strcmp(one->word, "null") == 0) return is_null(value);
  return g_pattern_match_simple(one->word, value);
}

static gboolean has_word(const OrrLaunchCase *cases, const char *word) {
  for (; cases->word; cases++)
    if (strcmp(cases->word, word) == 0) return TRUE;
  return FALSE;
}

/* A word that the map does not have may change the answer. A value that is not set, or not switched
 * on, is the program's default. */
static void judge_stranger(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                           const OrrLaunchRule *rule, const char *value) {
  if (!setting->value) return; /* an error already, or a switch that is on */
  const gboolean is_switch = has_word(rule->cases, "on") || has_word(rule->cases, "off");
  const gboolean is_default = is_null(value) || strcmp(value, "auto") == 0;
  if (!is_switch && !is_default)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "'%s' is a value that the table does not have", setting->value);
}

static void convert_words(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                          const OrrLaunchRule *rule) {
  const gboolean is_on = orr_launch_draft_is_on(draft, setting->dialect, setting->key);
  g_autofree char *value = plain(setting->value ? setting->value : "true");
  const OrrLaunchCase *one = rule->cases;
  while (one->word && !is_case(one, value, is_on)) one++;
  if (!one->word) return judge_stranger(draft, setting, rule, value);
  g_autofree char *path = g_strndup(rule->path, strcspn(rule->path, " "));
  if (*one->ours) orr_launch_draft_set(draft, path, one->ours, setting, one->remark);
  if (one->is_refused)
    orr_launch_draft_bad(draft, setting, "'%s' %s", setting->value ? setting->value : "",
                         one->reason);
  else if (one->reason)
    orr_launch_draft_judge(draft, setting, one->verdict, "%s", one->reason);
}

/* Those that all dialects have. Names with a blank or a sign are chosen by
 * launch_table.c and never stand in a cell. */
const OrrLaunchConverter orr_launch_converters[] = {
    {"=", convert_words},
    {"all-to-all", orr_launch_serving_all_to_all},
    {"bool", convert_bool},
    {"client-model", orr_launch_serving_client_model},
    {"copy", convert_copy},
    {"count", orr_launch_serving_count},
    {"dtype", orr_launch_serving_dtype},
    {"fraction", orr_launch_serving_fraction},
    {"int", convert_int},
    {"json", orr_launch_serving_json},
    {"kv-dtype", orr_launch_serving_kv_dtype},
    {"largest", convert_largest},
    {"lora-mlp", orr_launch_config_mlp_targets},
    {"lora-targets", orr_launch_config_targets},
    {"megatron ", orr_launch_translate_convert},
    {"model", orr_launch_serving_model},
    {"positive", convert_positive},
    {"quantization", orr_launch_serving_quantization},
    {"static", orr_launch_serving_static},
    {"unit ", convert_unit},
    {NULL, NULL},
};

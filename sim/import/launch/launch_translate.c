/*
 * launch_translate.c - settings of other trainers become settings of Megatron-LM.
 */
#include "sim/import/launch/launch_private.h"

void orr_launch_translate_convert(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                  const OrrLaunchRule *rule) {
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "null: the default");
}

static gboolean is_null(const OrrLaunchSetting *setting) {
  static const char *const nulls[] = {"", "null", "~", "none", NULL};
  g_autofree char *lower = g_ascii_strdown(setting->value ? setting->value : "true", -1);
  return g_strv_contains(nulls, lower);
}

static void invert(OrrLaunchSetting *setting) {
  const gboolean is_off =
      g_ascii_strcasecmp(setting->value ? setting->value : "true", "false") == 0;
  g_free(setting->value);
  setting->value = g_strdup(is_off ? "true" : "false");
}

static gboolean translate(OrrLaunchSetting *setting, const OrrLaunchDialect *dialect) {
  const OrrLaunchRule *rule = orr_launch_rule_find(dialect, setting->key);
  if (!rule || rule->convert != orr_launch_translate_convert || is_null(setting)) return FALSE;
  g_free(setting->key);
  if (*rule->why == '!') invert(setting);
  setting->key = g_strdup(rule->why + (*rule->why == '!'));
  setting->dialect = &orr_dialect_megatron;
  return TRUE;
}

void orr_launch_translate(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, guint first) {
  g_autoptr(GPtrArray) translated = g_ptr_array_new();
  guint n_own = first;
  for (guint i = first; i < draft->settings->len; i++) {
    OrrLaunchSetting *setting = draft->settings->pdata[i];
    if (setting->dialect == dialect && translate(setting, dialect))
      g_ptr_array_add(translated, setting);
    else
      draft->settings->pdata[n_own++] = setting;
  }
  for (guint i = 0; i < translated->len; i++)
    draft->settings->pdata[n_own++] = translated->pdata[i];
}

void orr_launch_translate_add(OrrLaunchDraft *draft, const char *key, const char *value,
                              const OrrLaunchSetting *source) {
  OrrLaunchSetting *setting =
      orr_launch_draft_add(draft, &orr_dialect_megatron, key, value, source->place);
  g_free(setting->written);
  setting->written = g_strdup(source->written);
  setting->rule = orr_launch_rule_find(setting->dialect, setting->key);
  setting->verdict = ORR_LAUNCH_MAPPED;
}

void orr_launch_translate_value(OrrLaunchDraft *draft, const char *key,
                                const OrrLaunchWordPair *pairs) {
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_megatron, key);
  const char *ours = setting ? orr_launch_config_word(pairs, setting->value) : NULL;
  if (!ours) return;
  g_free(setting->value);
  setting->value = g_strdup(ours);
}

/* --- Keys that are options of the trainer --- */

static gboolean is_off(const char *value) {
  static const char *const offs[] = {"", "null", "~", "none", "false", "0", NULL};
  g_autofree char *lower = g_ascii_strdown(value ? value : "true", -1);
  return g_strv_contains(offs, lower);
}

static gboolean is_nothing(const char *value) {
  return value && is_off(value) && strcmp(value, "0") != 0 &&
         g_ascii_strcasecmp(value, "false") != 0;
}

static void rename_key(OrrLaunchSetting *setting, const char *prefix) {
  char *key = g_strconcat(prefix, setting->key, NULL);
  g_free(setting->key);
  setting->key = key;
}

void orr_launch_translate_adopt(OrrLaunchSetting *setting, const OrrLaunchDialect *own,
                                const OrrLaunchDialect *trainer) {
  g_autofree char *negated = g_strconcat("no-", setting->key, NULL);
  const OrrLaunchRule *rule = orr_launch_rule_find(trainer, setting->key);
  const gboolean is_flag =
      rule && rule->arity == ORR_LAUNCH_FLAG && rule->verdict != ORR_LAUNCH_MAPPED;
  if (orr_launch_rule_find(own, setting->key)) return;
  if (!rule && orr_launch_rule_find(trainer, negated)) {
    rename_key(setting, is_off(setting->value) && !is_nothing(setting->value) ? "no-" : "unset.");
    if (*setting->key == 'u') return;
    g_free(setting->value);
    setting->value = g_strdup("true");
    setting->dialect = trainer;
  } else if (rule && (is_nothing(setting->value) || (is_flag && is_off(setting->value)))) {
    rename_key(setting, "unset.");
  } else if (rule) {
    setting->dialect = trainer;
  }
}

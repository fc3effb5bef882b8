/*
 * launch_rules.c - the dialects, and how their rules judge the settings of a draft.
 */
#include "sim/import/launch/launch_private.h"

const OrrLaunchDialect *const orr_launch_dialects[] = {
#define DIALECT(name_) &orr_dialect_##name_,
#include "sim/import/launch/dialects.inc"
#undef DIALECT
    NULL,
};

const OrrLaunchDialect *orr_launch_dialect(const char *name) {
  for (guint i = 0; orr_launch_dialects[i]; i++)
    if (strcmp(orr_launch_dialects[i]->name, name) == 0) return orr_launch_dialects[i];
  return NULL;
}

const char *orr_launch_dialect_sentence(const OrrLaunchDialect *dialect) {
  return dialect->sentence ? dialect->sentence : orr_launch_table_of(dialect).sentence;
}

/* --- Finding a rule --- */

/* The rules of a dialect, and their spellings: single keys, and patterns ("trainer.*",
 * "model.*-dropout"). */
typedef struct {
  GArray *rules;    /* of OrrLaunchRule */
  GHashTable *keys; /* spelling -> OrrLaunchRule *, the first that has it */
  GArray *patterns; /* of Pattern, in the order of the rules */
} Spellings;

typedef struct {
  const OrrLaunchRule *rule;
  char *text;
  gsize length, before; /* before the star */
} Pattern;

static void add_spellings(Spellings *all, const OrrLaunchRule *rule) {
  g_auto(GStrv) spellings = g_strsplit(rule->keys, " ", -1);
  for (char **one = spellings; *one; one++) {
    const gboolean is_pattern = strchr(*one, '*') != NULL; /* "*": any key */
    if (!is_pattern && !g_hash_table_contains(all->keys, *one))
      g_hash_table_insert(all->keys, g_strdup(*one), (gpointer)rule);
    if (!is_pattern) continue;
    ORR_APPEND(all->patterns, Pattern, {rule, g_strdup(*one), strlen(*one), strcspn(*one, "*")});
  }
}

static Spellings *spellings_new(const OrrLaunchDialect *dialect) {
  Spellings *all = g_new0(Spellings, 1);
  all->keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  all->patterns = g_array_new(FALSE, FALSE, sizeof(Pattern));
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  all->rules = orr_launch_table_rules(dialect, ignored);
  ORR_EACH(OrrLaunchRule, rule, all->rules) add_spellings(all, rule);
  return all;
}

/* Made when a dialect is first asked for, and kept: rules never change. */
static const Spellings *spellings_of(const OrrLaunchDialect *dialect) {
  static GMutex lock;
  static GHashTable *made; /* OrrLaunchDialect * -> Spellings * */
  g_mutex_lock(&lock);
  if (!made) made = g_hash_table_new(NULL, NULL);
  Spellings *all = g_hash_table_lookup(made, dialect);
  if (!all) g_hash_table_insert(made, (gpointer)dialect, all = spellings_new(dialect));
  g_mutex_unlock(&lock);
  return all;
}

const OrrLaunchRule *orr_launch_rule_at(const OrrLaunchDialect *dialect, guint i) {
  const GArray *rules = spellings_of(dialect)->rules;
  return i < rules->len ? &g_array_index(rules, OrrLaunchRule, i) : NULL;
}

/* Most patterns already differ from the key in the first character. */
static gboolean matches(const Pattern *pattern, const char *key) {
  if (pattern->before > 0 && *pattern->text != *key) return FALSE;
  if (strncmp(pattern->text, key, pattern->before) != 0) return FALSE;
  return pattern->before + 1 == pattern->length || g_pattern_match_simple(pattern->text, key);
}

const OrrLaunchRule *orr_launch_rule_find(const OrrLaunchDialect *dialect, const char *key) {
  const Spellings *all = spellings_of(dialect);
  const OrrLaunchRule *found = g_hash_table_lookup(all->keys, key);
  gsize best = 0;
  if (found) return found;
  orr_launch_draft_worked(all->patterns->len);
  ORR_EACH(const Pattern, pattern, all->patterns) {
    if (pattern->length <= best || !matches(pattern, key)) continue;
    best = pattern->length;
    found = pattern->rule;
  }
  return found;
}

static char *nearest_spelling(const OrrLaunchDialect *dialect, const char *key) {
  g_autoptr(GStrvBuilder) all = g_strv_builder_new();
  for (guint i = 0; orr_launch_rule_at(dialect, i); i++) {
    g_auto(GStrv) spellings = g_strsplit(orr_launch_rule_at(dialect, i)->keys, " ", -1);
    g_strv_builder_addv(all, (const char **)spellings);
  }
  g_auto(GStrv) words = g_strv_builder_end(all);
  return g_strdup(orr_diag_nearest_word(key, (const char *const *)words));
}

/* --- Judging --- */

static gboolean is_neutral(const OrrLaunchSetting *setting, const OrrLaunchRule *rule) {
  g_auto(GStrv) words = g_strsplit(rule->neutral ? rule->neutral : "", " ", -1);
  g_autofree char *lower = g_ascii_strdown(setting->value ? setting->value : "true", -1);
  return g_strv_contains((const char *const *)words, lower);
}

/* A training script parses arguments of its own in addition to its framework's; and a user may ask
 * for unknown keys to be passed over. Either way the key is a warning. One letter off is a slip. */
static gboolean passes_over(OrrLaunchDraft *draft, OrrLaunchSetting *setting, const char *nearest) {
  const gsize length = strlen(setting->key), other = nearest ? strlen(nearest) : 0;
  const gboolean is_slip =
      nearest && !strchr(nearest, '*') && MAX(length, other) - MIN(length, other) <= 1;
  const gboolean is_own = setting->dialect->has_own_options && !is_slip;
  const gboolean is_new = !draft->options->strict && !is_slip;
  if (!is_own && !is_new && !draft->options->skip_unknown) return FALSE;
  if (is_own || draft->options->skip_unknown)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "%s",
                           is_own ? "an option of the script itself, or an unknown one"
                                  : "an unknown option (--skip-unknown)");
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "%s is not known to have it: it is left out", setting->dialect->name);
  return TRUE;
}

/* Unknown keys of a draft that are compared with all known ones; an input with more belongs to
 * another program. */
enum { MOST_UNKNOWN = 100 };

/* The key as a config writes it, "zero_optimization.stag"; of a command line, without dashes in
 * front. Newly allocated. */
static char *written_key(const OrrLaunchSetting *setting) {
  const char *end = strstr(setting->written, ": ");
  return setting->written[0] == '-' || !end
             ? g_strdup(setting->key)
             : g_strndup(setting->written, (gsize)(end - setting->written));
}

static void refuse_unknown(OrrLaunchDraft *draft, OrrLaunchSetting *setting) {
  const guint n_unknown = ++draft->n_unknown;
  g_autofree char *nearest =
      n_unknown <= MOST_UNKNOWN ? nearest_spelling(setting->dialect, setting->key) : NULL;
  if (passes_over(draft, setting, nearest) || n_unknown > MOST_UNKNOWN + 1) return;
  if (n_unknown > MOST_UNKNOWN)
    return orr_diags_error(draft->diags, setting->place,
                           "more than %d keys that %s does not know: the others are not listed",
                           MOST_UNKNOWN, setting->dialect->name);
  g_autofree char *key = written_key(setting);
  g_autofree char *hint = nearest ? g_strdup_printf(": did you mean '%s'?", nearest) : g_strdup("");
  if (strchr(key, '_')) g_strdelimit(hint, "-", '_');
  orr_diags_error(draft->diags, setting->place, "%s does not know '%s'%s", setting->dialect->name,
                  key, hint);
}

/* Puts the lines of @rule and of its further paths. */
static void put(OrrLaunchDraft *draft, OrrLaunchSetting *setting, const OrrLaunchRule *rule) {
  for (; rule; rule = rule->also)
    if (rule->convert) rule->convert(draft, setting, rule);
}

/* The default that a map has for a key that the input does not have. */
static void set_absent(OrrLaunchDraft *draft, const OrrLaunchRule *rule) {
  for (; rule; rule = rule->also)
    for (const OrrLaunchCase *one = rule->cases; one && one->word; one++)
      if (strcmp(one->word, "absent") == 0)
        orr_launch_draft_set(draft, rule->path, one->ours, NULL, one->remark);
}

/* What a later setting shares with those that it overrides: a rule that maps lists synonyms;
 * another may list many different keys. Newly allocated. */
static char *identity(const OrrLaunchSetting *setting) {
  const OrrLaunchRule *rule = setting->rule;
  const gboolean is_mapped = rule && rule->verdict == ORR_LAUNCH_MAPPED;
  return g_strdup_printf("%p %p %s", (const void *)setting->dialect, (const void *)rule,
                         is_mapped ? "" : setting->key);
}

/* Marks, by the setting's place in the draft, what a later one overrides. Newly allocated. */
static gboolean *find_overridden(const OrrLaunchDraft *draft) {
  gboolean *overridden = g_new0(gboolean, draft->settings->len + 1);
  g_autoptr(GHashTable) later = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = draft->settings->len; i-- > 0;) {
    const OrrLaunchSetting *setting = draft->settings->pdata[i];
    const OrrLaunchRule *rule = setting->rule;
    const gboolean is_pattern =
        rule && rule->verdict == ORR_LAUNCH_MAPPED && g_str_has_suffix(rule->keys, "*");
    overridden[i] = rule && !g_hash_table_add(later, identity(setting)) && !is_pattern;
  }
  return overridden;
}

static void judge(OrrLaunchDraft *draft, guint i, gboolean is_overridden) {
  OrrLaunchSetting *setting = draft->settings->pdata[i];
  const OrrLaunchRule *rule = setting->rule;
  if (!rule) return refuse_unknown(draft, setting);
  const gboolean is_mapped = rule->verdict == ORR_LAUNCH_MAPPED;
  setting->verdict = is_overridden ? ORR_LAUNCH_OVERRIDDEN : rule->verdict;
  if (is_overridden) return;
  if (is_mapped && setting->is_unresolved)
    orr_diags_error(draft->diags, setting->place, "%s needs the value of %s: add --set %s=VALUE",
                    setting->key, setting->unresolved, setting->unresolved);
  else if (is_mapped && !rule->is_later)
    put(draft, setting, rule);
  else if (rule->verdict == ORR_LAUNCH_NOT_SIMULATED && is_neutral(setting, rule))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                           "the default, or simulated anyway");
}

/* Whether setting @i is the first of its dialect. */
static gboolean is_first(const OrrLaunchDraft *draft, guint i) {
  const OrrLaunchSetting *setting = draft->settings->pdata[i];
  for (guint j = 0; j < i; j++) {
    const OrrLaunchSetting *earlier = draft->settings->pdata[j];
    if (earlier->dialect == setting->dialect) return FALSE;
  }
  return TRUE;
}

/* JSON has no comments: a key that begins with "_" or "//" is one. */
static gboolean is_comment(const OrrLaunchSetting *setting) {
  const char *file = setting->place.file;
  if (!file || !(g_str_has_suffix(file, ".json") || g_str_has_suffix(file, ".jsonc"))) return FALSE;
  g_autofree char *key = written_key(setting);
  return key[0] == '_' || strstr(key, "._") || g_str_has_prefix(key, "//") || strstr(key, ".//");
}

static const OrrLaunchRule *rule_for(const OrrLaunchSetting *setting) {
  static const OrrLaunchRule comment = {
      .keys = "_*", .verdict = ORR_LAUNCH_IRRELEVANT, .why = "a comment"};
  return is_comment(setting) ? &comment : orr_launch_rule_find(setting->dialect, setting->key);
}

void orr_launch_draft_settle(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                             const char *keys) {
  g_auto(GStrv) all = g_strsplit(keys, " ", -1);
  for (char **key = all; *key; key++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, dialect, *key);
    const OrrLaunchRule *rule = orr_launch_rule_find(dialect, *key);
    if (setting && !setting->is_unresolved)
      put(draft, setting, rule);
    else if (!setting)
      set_absent(draft, rule);
  }
}

/* "$MODELS/GLM-4.5": the last part of a path names the model, whatever its folder is. */
static gboolean is_named(OrrLaunchSetting *setting, const OrrLaunchRule *rule) {
  const char *name = setting->value ? strrchr(setting->value, '/') : NULL;
  if (g_strcmp0(rule->path, "model") != 0 || !name || !name[1] || strchr(name, '$')) return FALSE;
  char *rest = g_strdup(name + 1);
  g_free(setting->value);
  setting->value = rest;
  setting->is_unresolved = FALSE;
  return TRUE;
}

/* A mapped setting whose variable nobody sets counts as absent, aloud. Under --strict the rules ask
 * for the variable. */
static void drop_unresolved(OrrLaunchDraft *draft) {
  for (guint i = draft->settings->len; i-- > 0 && !draft->options->strict;) {
    OrrLaunchSetting *setting = draft->settings->pdata[i];
    const OrrLaunchRule *rule = rule_for(setting);
    if (!setting->is_unresolved || !rule || rule->verdict != ORR_LAUNCH_MAPPED) continue;
    if (is_named(setting, rule)) continue;
    orr_launch_draft_remark(draft,
                            "assumed: %s:%d: '%s' is absent, since nobody sets %s; --set %s=VALUE "
                            "says otherwise",
                            setting->place.file ? setting->place.file : "", setting->place.line,
                            setting->written, setting->unresolved, setting->unresolved);
    g_ptr_array_remove_index(draft->settings, i);
  }
}

/* The finish of dialects of post-training, or of all others: a loop takes over what its trainer's
 * launcher has set. */
static void finish(OrrLaunchDraft *draft, gboolean of_loops) {
  ORR_EACH_POINTER_AT(i, const OrrLaunchSetting, setting, draft->settings) {
    const OrrLaunchDialect *dialect = setting->dialect;
    if (dialect->finish && is_first(draft, i) &&
        (g_strcmp0(dialect->kind, "post-training") == 0) == of_loops)
      dialect->finish(draft);
  }
}

void orr_launch_draft_apply(OrrLaunchDraft *draft) {
  drop_unresolved(draft);
  for (guint i = 0, n_read = draft->settings->len; i < n_read; i++) {
    const OrrLaunchSetting *setting = draft->settings->pdata[i];
    if (setting->dialect->begin && is_first(draft, i)) setting->dialect->begin(draft);
  }
  ORR_EACH_POINTER(OrrLaunchSetting, setting, draft->settings) setting->rule = rule_for(setting);
  g_autofree gboolean *overridden = find_overridden(draft);
  const guint n = draft->settings->len;
  for (guint i = 0; i < n; i++) judge(draft, i, overridden[i]);
  for (guint i = 0; i < draft->parts->len; i++) orr_launch_draft_apply(draft->parts->pdata[i]);
  finish(draft, FALSE);
  finish(draft, TRUE);
}

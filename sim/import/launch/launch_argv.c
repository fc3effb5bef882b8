/*
 * launch_argv.c - the words of a command line become settings, by the arities of a dialect's rules.
 */
#include "sim/import/launch/launch_private.h"

typedef struct {
  OrrLaunchDraft *draft;
  const OrrLaunchDialect *dialect;
  const GPtrArray *words;
  guint next;
} Argv;

static gboolean is_option(const OrrLaunchWord *word) {
  return word->text[0] == '-' && word->text[1] && !g_ascii_isdigit(word->text[1]);
}

/* The rule for an option's @key as written ("--no-bias"); NULL: unknown. */
static const OrrLaunchRule *rule_of(const OrrLaunchDialect *dialect, const char *key) {
  g_autofree char *lower = g_ascii_strdown(key + strspn(key, "-"), -1);
  for (char *c = lower; *c; c++)
    if (*c == '_') *c = '-';
  return orr_launch_rule_find(dialect, lower);
}

/* Whether @key is "--no-X" of a flag X that has no rule for "no-X". */
static gboolean negates(const OrrLaunchDialect *dialect, const char *key) {
  const char *bare = key + strspn(key, "-");
  if (rule_of(dialect, bare) || !(g_str_has_prefix(bare, "no-") || g_str_has_prefix(bare, "no_")))
    return FALSE;
  const OrrLaunchRule *rule = rule_of(dialect, bare + 3);
  return rule && rule->arity == ORR_LAUNCH_FLAG;
}

/* Whether the next word is an option although @rule's option takes a value. A pattern ("log-*") may
 * stand for flags as well: there any option is one. */
static gboolean is_next_option(const Argv *argv, const OrrLaunchRule *rule) {
  const OrrLaunchWord *next = argv->words->pdata[argv->next];
  if (rule->verdict != ORR_LAUNCH_MAPPED) return is_option(next);
  return g_str_has_prefix(next->text, "--") && rule_of(argv->dialect, next->text);
}

static gboolean takes_next(const Argv *argv, const OrrLaunchRule *rule, guint n_taken) {
  const OrrLaunchArity arity = rule ? rule->arity : ORR_LAUNCH_MAYBE;
  if (argv->next >= argv->words->len || arity == ORR_LAUNCH_FLAG) return FALSE;
  if (arity != ORR_LAUNCH_MANY && n_taken > 0) return FALSE;
  if (arity == ORR_LAUNCH_VALUE) return !is_next_option(argv, rule);
  return !is_option(argv->words->pdata[argv->next]);
}

static void note_unresolved(OrrLaunchSetting *setting, const OrrLaunchWord *word) {
  if (!word->unresolved || setting->is_unresolved) return;
  setting->is_unresolved = TRUE;
  setting->unresolved = g_strdup(word->unresolved);
}

/* Adds the option at @word, with the words that follow as its value. */
static void add_option(Argv *argv, const OrrLaunchWord *word) {
  const char *equals = strchr(word->text, '=');
  g_autofree char *key =
      equals ? g_strndup(word->text, (gsize)(equals - word->text)) : g_strdup(word->text);
  const gboolean is_negated = !equals && negates(argv->dialect, key);
  const OrrLaunchRule *rule = rule_of(argv->dialect, key);
  g_autoptr(GString) value = g_string_new(equals ? equals + 1 : NULL);
  gboolean has_value = equals != NULL;
  const guint first = argv->next;
  while (!equals && !is_negated && takes_next(argv, rule, argv->next - first)) {
    const OrrLaunchWord *more = argv->words->pdata[argv->next++];
    g_string_append_printf(value, "%s%s", has_value ? " " : "", more->text);
    has_value = TRUE;
  }
  OrrLaunchSetting *setting = orr_launch_draft_add(argv->draft, argv->dialect,
                                                   is_negated ? key + strspn(key, "-") + 3 : key,
                                                   is_negated  ? "false"
                                                   : has_value ? value->str
                                                               : NULL,
                                                   word->place);
  note_unresolved(setting, word);
  for (guint i = first; i < argv->next; i++) note_unresolved(setting, argv->words->pdata[i]);
  g_free(setting->written);
  setting->written =
      has_value && !equals ? g_strdup_printf("%s %s", key, value->str) : g_strdup(word->text);
  if (rule && rule->verdict == ORR_LAUNCH_MAPPED && rule->arity == ORR_LAUNCH_VALUE && !has_value)
    orr_launch_draft_bad(argv->draft, setting, "needs a value");
}

/* Whether the whole word is one unresolved variable, "$EXTRA_ARGS". */
static gboolean is_open(const OrrLaunchWord *word) {
  return word->unresolved && word->text[0] == '$' && strcmp(word->text + 1, word->unresolved) == 0;
}

void orr_launch_argv(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const GPtrArray *words,
                     guint first, GPtrArray *ret_rest) {
  Argv argv = {draft, dialect, words, first};
  while (argv.next < words->len) {
    OrrLaunchWord *word = words->pdata[argv.next++];
    if (is_option(word))
      add_option(&argv, word);
    else if (is_open(word))
      orr_diags_warning(draft->diags, word->place,
                        "nobody has set %s: options that it holds are missing; add --set %s=VALUE",
                        word->unresolved, word->unresolved);
    else if (ret_rest)
      g_ptr_array_add(ret_rest, word);
    else
      orr_diags_error(draft->diags, word->place, "%s does not take the argument '%s'",
                      dialect->name, word->text);
  }
}

void orr_launch_argv_hydra(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                           const GPtrArray *words, guint first) {
  for (guint i = first; i < words->len; i++) {
    const OrrLaunchWord *word = words->pdata[i];
    const char *begin = word->text + strspn(word->text, "+~-");
    const char *equals = strchr(begin, '=');
    const gboolean names_file = strcmp(word->text, "--config") == 0 && i + 1 < words->len;
    if (names_file) word = words->pdata[++i];
    if (!equals && !names_file) continue;
    g_autofree char *key = names_file ? g_strdup(begin) : g_strndup(begin, (gsize)(equals - begin));
    OrrLaunchSetting *setting = orr_launch_draft_add(
        draft, dialect, key, names_file ? word->text : equals + 1, word->place);
    setting->is_unresolved = word->unresolved != NULL;
    setting->unresolved = g_strdup(word->unresolved);
  }
}

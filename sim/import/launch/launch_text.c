/*
 * launch_text.c - a draft as text: the scenario in YAML, and the account of all keys.
 */
#include "sim/import/launch/launch_private.h"

enum { COMMENT_MAX = 100 };

/* --- YAML --- */

/* A key of the scenario with the keys below it. */
typedef struct Section Section;
struct Section {
  const char *key;           /* interned */
  const OrrLaunchLine *line; /* NULL: a map */
  GPtrArray *below;          /* of Section * */
};

static void free_section(Section *section) {
  g_ptr_array_unref(section->below);
  g_free(section);
}

static Section *section_new(const char *key) {
  Section *section = g_new0(Section, 1);
  section->key = g_intern_string(key);
  section->below = g_ptr_array_new_with_free_func((GDestroyNotify)free_section);
  return section;
}

static Section *section_below(Section *section, const char *key) {
  ORR_EACH_POINTER(Section, below, section->below)
    if (strcmp(below->key, key) == 0) return below;
  g_ptr_array_add(section->below, section_new(key));
  return section->below->pdata[section->below->len - 1];
}

static void add_line(Section *root, const OrrLaunchLine *line) {
  g_auto(GStrv) keys = g_strsplit(line->path, ".", -1);
  Section *at = root;
  for (char **key = keys; *key; key++) at = section_below(at, *key);
  at->line = line;
}

/* One line of text that no comment's end and no terminal can be fooled by. */
static char *comment_text(const char *comment) {
  g_autoptr(GString) text = g_string_new(NULL);
  for (const char *c = comment; *c; c = g_utf8_next_char(c)) {
    const gunichar letter = g_utf8_get_char(c);
    g_string_append_unichar(text, g_unichar_isprint(letter) ? letter : ' ');
    if (text->len < COMMENT_MAX) continue;
    g_string_append(text, "...");
    break;
  }
  return g_strdup(text->str);
}

/* A value as YAML: in quotes where its first character cannot begin a plain scalar. */
static void append_value(GString *text, const char *value) {
  g_autoptr(GString) quoted = g_string_new(value);
  if (*value == '\0' || !strchr("%@`", *value)) {
    g_string_append_printf(text, " %s", value);
    return;
  }
  g_string_replace(quoted, "'", "''", 0);
  g_string_append_printf(text, " '%s'", quoted->str);
}

static void append_section(GString *text, const Section *section, int depth) {
  g_string_append_printf(text, "%*s%s:", depth * 2, "", section->key);
  if (section->line && section->below->len == 0) append_value(text, section->line->value);
  if (section->line && section->line->comment) {
    g_autofree char *comment = comment_text(section->line->comment);
    g_string_append_printf(text, "  # %s", comment);
  }
  g_string_append_c(text, '\n');
  for (guint i = 0; i < section->below->len; i++)
    append_section(text, section->below->pdata[i], depth + 1);
}

/* The order of keys; a key without a row follows in the order in which it was set. */
static const char *const order[] = {
    "name",  "question",      "cluster.base",   "cluster",
    "model", "workload.kind", "workload.stack", "workload",
};

/* The first row of `order` that @path is or is below. */
static guint rank_of(const char *path) {
  guint i = 0;
  for (; i < G_N_ELEMENTS(order); i++) {
    const gsize length = strlen(order[i]);
    if (strncmp(path, order[i], length) == 0 && (path[length] == '\0' || path[length] == '.'))
      break;
  }
  return i;
}

static Section *sections_of(const OrrLaunchDraft *draft) {
  Section *root = section_new("");
  for (guint rank = 0; rank <= G_N_ELEMENTS(order); rank++)
    ORR_EACH_POINTER(const OrrLaunchLine, line, draft->lines)
      if (rank_of(line->path) == rank) add_line(root, line);
  return root;
}

char *orr_launch_text_yaml(OrrLaunchDraft *draft) {
  g_autoptr(GString) text = g_string_new("schema: scenario/1\n");
  Section *root = sections_of(draft);
  for (guint i = 0; i < draft->remarks->len; i++) {
    g_autofree char *comment = comment_text(draft->remarks->pdata[i]);
    g_string_append_printf(text, "# %s\n", comment);
  }
  for (guint i = 0; i < root->below->len; i++) append_section(text, root->below->pdata[i], 0);
  free_section(root);
  return g_strdup(text->str);
}

/* --- Account --- */

static const char *const verdict_words[] = {"mapped", "irrelevant", "not simulated", "overridden"};

static const char *meaning_of(const OrrLaunchSetting *setting) {
  if (setting->remark) return setting->remark;
  if (!setting->rule) return "unknown";
  return setting->verdict == ORR_LAUNCH_MAPPED       ? setting->rule->path
         : setting->verdict == ORR_LAUNCH_OVERRIDDEN ? "the same key comes again later"
                                                     : setting->rule->why;
}

/* The settings of @draft and of its parts. */
static GPtrArray *all_settings(OrrLaunchDraft *draft) {
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *once = g_ptr_array_new();
  g_ptr_array_extend(all, draft->settings, NULL, NULL);
  ORR_EACH_POINTER(const OrrLaunchDraft, part, draft->parts)
    g_ptr_array_extend(all, part->settings, NULL, NULL);
  ORR_EACH_POINTER(OrrLaunchSetting, setting, all)
    if (setting->is_default ||
        g_hash_table_add(seen,
                         g_strdup_printf("%d %p %d %d %s", setting->verdict,
                                         (const void *)setting->place.file, setting->place.line,
                                         setting->place.column, setting->written)))
      g_ptr_array_add(once, setting);
  return once;
}

static void append_setting(GString *text, const OrrLaunchSetting *setting) {
  g_autofree char *written = comment_text(setting->written);
  const char *meaning = meaning_of(setting);
  g_string_append_printf(text, "%-13s  %s:%d  %s: %s\n", verdict_words[setting->verdict],
                         setting->place.file ? setting->place.file : "", setting->place.line,
                         written, meaning ? meaning : "");
}

static void append_verdict(GString *text, const GPtrArray *settings, int verdict) {
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, settings)
    if (setting->verdict == verdict && !setting->is_default && (setting->rule || setting->remark))
      append_setting(text, setting);
}

/* "default        disable_gradient_checkpointing: false, LLaMA-Factory's default: PATH" */
static void append_defaults(GString *text, const GPtrArray *settings) {
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, settings)
    if (setting->is_default)
      g_string_append_printf(text, "%-13s  %s: %s\n", "default", setting->written,
                             meaning_of(setting));
}

char *orr_launch_draft_account(OrrLaunchDraft *draft) {
  GString *text = g_string_new(NULL);
  g_autoptr(GPtrArray) settings = all_settings(draft);
  for (int verdict = 0; verdict < (int)G_N_ELEMENTS(verdict_words); verdict++)
    append_verdict(text, settings, verdict);
  append_defaults(text, settings);
  return g_string_free(text, FALSE);
}

GPtrArray *orr_launch_draft_notes(OrrLaunchDraft *draft) {
  GPtrArray *notes = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(GPtrArray) settings = all_settings(draft);
  for (guint i = 0; i < draft->remarks->len; i++)
    g_ptr_array_add(notes, g_strdup(draft->remarks->pdata[i]));
  append_verdict(text, settings, ORR_LAUNCH_NOT_SIMULATED);
  g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
  for (char **line = lines; *line; line++)
    if (**line) g_ptr_array_add(notes, g_strdup(*line));
  return notes;
}

char *orr_launch_draft_warnings(OrrLaunchDraft *draft) {
  GString *text = g_string_new(NULL);
  guint n[G_N_ELEMENTS(verdict_words)] = {0};
  g_autoptr(GPtrArray) settings = all_settings(draft), notes = orr_launch_draft_notes(draft);
  guint n_read = 0;
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, settings) {
    if (setting->is_default) continue;
    n[setting->verdict]++;
    n_read++;
  }
  for (guint i = 0; i < notes->len; i++)
    g_string_append_printf(text, "%s\n", (char *)notes->pdata[i]);
  g_string_append_printf(text, "%u keys: %u mapped, %u irrelevant, %u not simulated", n_read,
                         n[ORR_LAUNCH_MAPPED], n[ORR_LAUNCH_IRRELEVANT],
                         n[ORR_LAUNCH_NOT_SIMULATED]);
  if (n[ORR_LAUNCH_OVERRIDDEN])
    g_string_append_printf(text, ", %u overridden", n[ORR_LAUNCH_OVERRIDDEN]);
  g_string_append(text, " (--account lists them)\n");
  return g_string_free(text, FALSE);
}

/* --- A dialect's rules --- */

static void append_rule(GString *text, const OrrLaunchRule *rule) {
  g_auto(GStrv) keys = g_strsplit(rule->keys, " ", -1);
  g_autofree char *all = g_strjoinv("`, `", keys);
  if (rule->verdict == ORR_LAUNCH_MAPPED)
    g_string_append_printf(text, "| `%s` | `%s` |\n", all, rule->path);
  else
    g_string_append_printf(text, "| `%s` | %s: %s |\n", all, verdict_words[rule->verdict],
                           rule->why);
}

char *orr_launch_dialect_table(const OrrLaunchDialect *dialect) {
  GString *text = g_string_new("| Key | The scenario's key, or why there is none |\n|---|---|\n");
  for (int verdict = 0; verdict < ORR_LAUNCH_OVERRIDDEN; verdict++)
    for (guint i = 0; orr_launch_rule_at(dialect, i); i++) {
      const OrrLaunchRule *rule = orr_launch_rule_at(dialect, i);
      if ((int)rule->verdict == verdict) append_rule(text, rule);
    }
  return g_string_free(text, FALSE);
}

/*
 * launch_config.c - which trainer a config belongs to, and what trainers decide alike.
 */
#include "sim/import/launch/launch_private.h"

#include "sim/base/quantity.h"

enum { MAX_SETTINGS = 4000 };

/* "a_b" and "a-b" are the same key. */
static const OrrNode *member(const OrrNode *map, const char *key) {
  ORR_EACH_PAIR(named, value, map) {
    g_autofree char *text = g_strdup(named->text);
    if (strcmp(g_strdelimit(text, "-", '_'), key) == 0) return value;
  }
  return NULL;
}

static gboolean has_sign(const OrrNode *tree, const char *sign) {
  g_auto(GStrv) keys = g_strsplit(sign, ".", -1);
  for (char **key = keys; *key && tree; key++) tree = member(tree, *key);
  return tree != NULL;
}

static gboolean has_signs(const OrrNode *tree, const OrrLaunchDialect *dialect) {
  g_auto(GStrv) signs = g_strsplit(dialect->signs ? dialect->signs : "", " ", -1);
  for (char **sign = signs; *sign; sign++)
    if (has_sign(tree, *sign)) return TRUE;
  return FALSE;
}

const OrrLaunchDialect *orr_launch_config_of(const OrrNode *tree) {
  for (guint i = 0; orr_launch_dialects[i]; i++)
    if (has_signs(tree, orr_launch_dialects[i])) return orr_launch_dialects[i];
  return NULL;
}

/* The first line that is neither blank nor a comment opens a map. */
static gboolean opens_map(const char *text) {
  while (*text) {
    text += strspn(text, " \t\r\n");
    if (*text != '#' && strncmp(text, "---", 3) != 0 && *text != '%') break;
    text += strcspn(text, "\n");
  }
  return *text == '{' ||
         g_regex_match_simple("^[\"']?[A-Za-z_][A-Za-z0-9_./-]*[\"']?[ \t]*:([ \t\r\n]|$)", text,
                              G_REGEX_DEFAULT, 0);
}

gboolean orr_launch_config_is_likely(const char *text) {
  if (!opens_map(text)) return FALSE;
  for (guint i = 0; orr_launch_dialects[i]; i++) {
    const char *all = orr_launch_dialects[i]->signs;
    g_auto(GStrv) signs = g_strsplit(all ? all : "", " ", -1);
    for (char **sign = signs; *sign; sign++) {
      const char *dot = strrchr(*sign, '.');
      const char *last = dot ? dot + 1 : *sign;
      g_autofree char *hyphens = g_strdelimit(g_strdup(last), "_", '-');
      if (strstr(text, last) || strstr(text, hyphens)) return TRUE;
    }
  }
  return orr_launch_strangers_is_likely(text);
}

static void mark_unresolved(OrrLaunchDraft *draft, guint first) {
  for (guint i = first; i < draft->settings->len; i++) {
    OrrLaunchSetting *setting = draft->settings->pdata[i];
    if (!setting->value || !strstr(setting->value, "${")) continue;
    setting->unresolved = orr_config_resolve_unresolved(setting->value);
    setting->is_unresolved = TRUE;
  }
}

static guint count_leaves(const OrrNode *tree) {
  if (tree->kind == ORR_NODE_SCALAR) return 1;
  guint n = 1, n_scalars = 0;
  ORR_EACH_ITEM(item, tree) {
    if (tree->kind == ORR_NODE_LIST && item->kind == ORR_NODE_SCALAR)
      n_scalars++;
    else
      n += count_leaves(item);
  }
  return n > 1 ? n + n_scalars : 1;
}

void orr_launch_config_add(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                           const OrrNode *tree, const char *prefix) {
  const guint first = draft->settings->len;
  if (first + count_leaves(tree) > MAX_SETTINGS)
    return orr_diags_error(draft->diags, tree->place,
                           "more than %d keys: no config of %s is so long", MAX_SETTINGS,
                           dialect->name);
  orr_launch_tree(draft, dialect, tree, prefix);
  mark_unresolved(draft, first);
}

void orr_launch_config_read(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                            const OrrNode *tree) {
  const guint first = draft->settings->len;
  if (dialect->read) {
    dialect->read(draft, tree);
    return;
  }
  orr_launch_config_add(draft, dialect, tree, NULL);
  orr_launch_translate(draft, dialect, first);
}

/* --- For finish --- */

gboolean orr_launch_config_has(const OrrLaunchDraft *draft, const OrrLaunchDialect *dialect) {
  for (guint i = 0; i < draft->settings->len; i++)
    if (((const OrrLaunchSetting *)draft->settings->pdata[i])->dialect == dialect) return TRUE;
  return FALSE;
}

gboolean orr_launch_config_has_trainer(const OrrLaunchDraft *draft, const OrrLaunchDialect *own) {
  for (guint i = 0; i < draft->settings->len; i++) {
    const OrrLaunchDialect *dialect =
        ((const OrrLaunchSetting *)draft->settings->pdata[i])->dialect;
    if (dialect->is_trainer && dialect != own) return TRUE;
  }
  return FALSE;
}

gboolean orr_launch_config_is_null(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                   const char *key) {
  static const char *const nulls[] = {"", "null", "~", "none", NULL};
  const char *value = orr_launch_draft_value(draft, dialect, key);
  g_autofree char *lower = value ? g_ascii_strdown(value, -1) : NULL;
  return lower && g_strv_contains(nulls, lower);
}

const char *orr_launch_config_text(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                   const char *key) {
  return orr_launch_config_is_null(draft, dialect, key)
             ? NULL
             : orr_launch_draft_value(draft, dialect, key);
}

gint64 orr_launch_config_count(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                               const char *key, gint64 fallback) {
  return orr_launch_config_text(draft, dialect, key)
             ? orr_launch_draft_int(draft, dialect, key, fallback)
             : fallback;
}

gboolean orr_launch_config_says(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                const char *key, const char *value) {
  const char *text = orr_launch_draft_value(draft, dialect, key);
  return text && g_ascii_strcasecmp(text, value) == 0;
}

void orr_launch_config_put(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *path,
                           const char *value, const char *key) {
  const OrrLaunchSetting *source = orr_launch_draft_find(draft, dialect, key);
  if (source) orr_launch_draft_set(draft, path, value, source, NULL);
}

void orr_launch_config_put_count(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *path, gint64 value, const char *key) {
  g_autofree char *text = g_strdup_printf("%ld", value);
  orr_launch_config_put(draft, dialect, path, text, key);
}

void orr_launch_config_skip(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *key,
                            const char *why) {
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, dialect, key);
  if (setting) orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "%s", why);
}

void orr_launch_config_miss_file(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *key) {
  const char *file = orr_launch_config_text(draft, dialect, key);
  if (file && !orr_launch_form_source(draft, file))
    orr_launch_config_skip(draft, dialect, key, "it was not given: add it to the command line");
}

const char *orr_launch_config_word(const OrrLaunchWordPair *pairs, const char *theirs) {
  for (; theirs && pairs->theirs; pairs++)
    if (g_ascii_strcasecmp(pairs->theirs, theirs) == 0) return pairs->ours;
  return NULL;
}

/* --- Adapters --- */

/* Our name of a linear layer, or of a part of one, comes first. */
static const char *const adapted[] = {
    ("qkv qkv_proj q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj query_key_value c_attn W_pack "
     "Wqkv linear_qkv linear_q_proj linear_kv_proj"),
    "projection o_proj out_proj output_proj linear_proj dense c_proj wo",
    "fc1 gate_up_proj linear_fc1 dense_h_to_4h c_fc",
    "fc2 down_proj linear_fc2 dense_4h_to_h c_proj w2",
    "q q_proj wq",
    "k k_proj wk",
    "v v_proj wv",
    "gate gate_proj w1",
    "up up_proj w3",
};
/* Layers, and all of their parts, as bits of the table. */
static const struct { guint whole, parts; } joined[] = {{1 << 0, 7 << 4}, {1 << 2, 3 << 7}};

/* The layers, as bits, that @word names: "q_proj", "model.layers.0.q_proj", "*_proj", "all". */
static guint layers_of(const char *word) {
  const char *dot = strrchr(word, '.'), *last = dot ? dot + 1 : word;
  const gboolean is_all = strcmp(word, "all") == 0 || strcmp(word, "all-linear") == 0;
  guint bits = 0;
  for (guint i = 0; i < G_N_ELEMENTS(adapted); i++) {
    g_auto(GStrv) names = g_strsplit(adapted[i], " ", -1);
    for (char **name = names; *name; name++)
      if (is_all || g_pattern_match_simple(last, *name)) bits |= 1u << i;
  }
  return bits;
}

static void add_targets(OrrLaunchDraft *draft, OrrLaunchSetting *setting, const char *path,
                        const char *value) {
  const char *before = orr_launch_draft_get(draft, path);
  g_autofree char *both = g_strconcat(before ? before : "", " ", value, NULL);
  g_auto(GStrv) words = g_strsplit_set(both, " ,[]'\"", -1);
  g_autoptr(GString) text = g_string_new(NULL);
  guint bits = 0;
  for (char **word = words; *word; word++) {
    const guint named = layers_of(*word);
    if (**word && !named)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "an adapter of '%s': layers have them on qkv, projection, fc1, fc2 "
                             "and their parts",
                             *word);
    bits |= named;
  }
  for (guint i = 0; i < G_N_ELEMENTS(joined); i++)
    if ((bits & joined[i].whole) || (bits & joined[i].parts) == joined[i].parts)
      bits = (bits | joined[i].whole) & ~joined[i].parts;
  for (guint i = 0; i < G_N_ELEMENTS(adapted); i++)
    if (bits >> i & 1)
      g_string_append_printf(text, "%s%.*s", text->len ? ", " : "", (int)strcspn(adapted[i], " "),
                             adapted[i]);
  g_autofree char *list = g_strdup_printf("[%s]", text->str);
  if (bits) orr_launch_draft_set(draft, path, list, setting, NULL);
}

void orr_launch_config_targets(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                               const OrrLaunchRule *rule) {
  if (orr_launch_config_is_null(draft, setting->dialect, setting->key)) return;
  add_targets(draft, setting, rule->path, setting->value ? setting->value : "");
}

void orr_launch_config_mlp_targets(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                   const OrrLaunchRule *rule) {
  if (orr_launch_draft_is_on(draft, setting->dialect, setting->key))
    add_targets(draft, setting, rule->path, "fc1 fc2");
}

/* --- Models --- */

/* Words of a name that make another model of it. */
static gboolean is_other(const char *words) {
  return g_regex_match_simple(
      "(^|-)([0-9.]+[bm][0-9]*|a[0-9.]+b|vl|vision|audio|omni|moe|distill|draft|mtp|embed.*|"
      "mini|nano|micro|tiny|small|medium|large|x+l|lite|flash|air|plus|max|ultra|super|rerank.*|[0-"
      "9]+x[0-9]+.*|q[0-9].*|e[0-9]b)(-|$)",
      words, G_REGEX_CASELESS, 0);
}

/* The library's model with whose name a fine-tuned one's begins: "llama-3-8b-sft-mixture". NULL:
 * none, or the rest of the name says that it is another. */
static const char *base_model(OrrLaunchDraft *draft, const char *name) {
  const char *words = NULL, *found = NULL, *slash = strrchr(name, '/');
  g_autofree char *whole = g_ascii_strdown(slash ? slash + 1 : name, -1);
  g_strdelimit(whole, "_", '-');
  const char *start = g_str_has_prefix(whole, "meta-") ? whole + strlen("meta-") : whole;
  g_autofree char *shorter = g_strdup(start);
  for (char *cut; !found && (cut = strrchr(shorter, '-'));) {
    *cut = '\0';
    if (is_other(start + (cut - shorter) + 1)) return NULL;
    g_autofree char *path = orr_library_path(draft->library, "model", shorter);
    found = path ? g_intern_string(shorter)
                 : orr_library_alias(draft->library, "model", shorter, &words);
  }
  return found;
}

/* The library's model that a folder of the path @value is named for: "saves/qwen3-4b/full/sft". */
static const char *model_of_folder(OrrLaunchDraft *draft, const char *value) {
  const char *words = NULL, *found = NULL;
  g_autofree char *lower = g_ascii_strdown(value, -1);
  g_auto(GStrv) folders = g_strsplit(lower, "/", -1);
  for (guint i = g_strv_length(folders); i-- > 0 && !found;) {
    if (!*folders[i]) continue;
    g_autofree char *path = orr_library_path(draft->library, "model", folders[i]);
    found = path ? g_intern_string(folders[i])
                 : orr_library_alias(draft->library, "model", folders[i], &words);
  }
  return found;
}

/* The library's model of this very name, whatever its case; NULL. */
static const char *model_of_name(OrrLaunchDraft *draft, const char *name) {
  g_autofree char *lower = g_ascii_strdown(name, -1);
  g_autofree char *path =
      strchr(name, '/') ? NULL : orr_library_path(draft->library, "model", lower);
  return path ? g_intern_string(lower) : NULL;
}

static gboolean assume_base_model(OrrLaunchDraft *draft, const char *value) {
  const char *base = draft->options->strict ? NULL : base_model(draft, value);
  if (!base && !draft->options->strict) base = model_of_folder(draft, value);
  g_autofree char *why = g_strdup_printf("by the name of %s; --model NAME says another", value);
  return base && orr_launch_draft_assume(draft, "model", base, why, "which model is it?");
}

/* @value without quotation marks of a text processor and without the slash of a folder. Newly
 * allocated. */
static char *plain_name(const char *value) {
  static const char *const marks[] = {"\u201c", "\u201d", "\u2018", "\u2019"};
  GString *name = g_string_new(value);
  for (guint i = 0; i < G_N_ELEMENTS(marks); i++) g_string_replace(name, marks[i], "", 0);
  while (name->len > 1 && name->str[name->len - 1] == '/') g_string_truncate(name, name->len - 1);
  return g_string_free(name, FALSE);
}

/* Whether options of Megatron have the model's dimensions. */
static gboolean has_dimensions(OrrLaunchDraft *draft) {
  return orr_launch_draft_find(draft, &orr_dialect_megatron, "num-layers") &&
         orr_launch_draft_find(draft, &orr_dialect_megatron, "hidden-size");
}

void orr_launch_config_put_model(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *key) {
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, dialect, key);
  const char *words = NULL;
  if (!setting || setting->is_unresolved || draft->options->model ||
      orr_launch_draft_get(draft, "model") || orr_launch_draft_get(draft, "model.layers"))
    return;
  g_autofree char *plain = plain_name(setting->value);
  const char *name = model_of_name(draft, plain);
  if (!name) name = orr_library_alias(draft->library, "model", plain, &words);
  if (name)
    orr_launch_draft_set(draft, "model", name, setting, NULL);
  else if (has_dimensions(draft))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT,
                           "weights of the model whose dimensions the line has");
  else if (!assume_base_model(draft, plain))
    orr_launch_draft_ask_model(
        draft,
        "which model is '%s'? The library does not have it: add --model NAME, or "
        "the model's config.json as a file",
        setting->value);
}

void orr_launch_config_assume_zero(OrrLaunchDraft *draft, const char *file) {
  g_autofree char *base = g_path_get_basename(file);
  g_autofree char *lower = g_ascii_strdown(base, -1);
  g_autoptr(GMatchInfo) match = NULL;
  g_autoptr(GRegex) pattern =
      g_regex_new("(?:zero|stage|z)[_-]?(?:stage[_-]?)?([123])", G_REGEX_DEFAULT, 0, NULL);
  const gboolean is_named = g_regex_match(pattern, lower, 0, &match);
  g_autofree char *stage = is_named ? g_match_info_fetch(match, 1) : g_strdup("2");
  g_autofree char *kind = g_strconcat("zero-", stage, NULL);
  g_autofree char *question = g_strdup_printf("what does %s contain? Give it as a file, too", file);
  g_autofree char *why =
      g_strdup_printf(is_named ? "by the name of %s, which was not given"
                               : "since %s was not given, and its name has no stage",
                      file);
  orr_launch_draft_assume(draft, "workload.optimizer.sharding.kind", kind, why, question);
  if (strstr(lower, "offload") && !draft->options->strict)
    orr_launch_draft_assume(draft, "workload.offload.optimizer", "1", why, question);
}

gint64 orr_launch_config_gpus_of_node(OrrLaunchDraft *draft) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const char *name = draft->options->cluster;
  const OrrNode *tree =
      name ? orr_library_borrow(draft->library, "cluster", name, (OrrPlace){0}, ignored) : NULL;
  const char *text = tree ? orr_node_get_text(orr_node_get(tree, "node"), "gpus") : NULL;
  double number = 0;
  return text && orr_quantity_parse(text, ORR_UNIT_NONE, &number, NULL) ? (gint64)number : 0;
}

gint64 orr_launch_config_gpus(OrrLaunchDraft *draft) {
  const gint64 gpus = orr_launch_draft_gpus(draft);
  const gint64 nodes = draft->options->nodes ? draft->options->nodes : draft->nodes;
  return gpus ? gpus : nodes * orr_launch_config_gpus_of_node(draft);
}

void orr_launch_config_take_gpus(OrrLaunchDraft *draft, gint64 gpus, const char *why) {
  const gint64 per_node = draft->gpus_per_node;
  if (orr_launch_config_gpus(draft) > 0 || (per_node > 0 && gpus % per_node)) return;
  orr_launch_draft_set_nodes(draft, per_node > 0 ? gpus / per_node : 1, why);
  if (per_node <= 0) orr_launch_draft_set_gpus_per_node(draft, gpus, NULL);
}

void orr_launch_config_take_world(OrrLaunchDraft *draft, const OrrLaunchSetting *source,
                                  gint64 gpus, const char *program) {
  const gint64 known = orr_launch_config_gpus(draft);
  if (known < 1) {
    orr_launch_draft_set_nodes(draft, 1, "the product of the config's degrees");
    orr_launch_draft_set_gpus_per_node(draft, gpus, NULL);
  } else if (known != gpus) {
    orr_launch_draft_bad(draft, source,
                         "the degrees multiply to %ld GPUs, and there are %ld: %s stops there",
                         gpus, known, program);
  }
}

void orr_launch_config_put_global(OrrLaunchDraft *draft, gint64 micro, gint64 accumulation,
                                  gint64 split, const char *remark) {
  if (orr_launch_config_gpus(draft) < 1) orr_launch_draft_assume_gpus(draft, split);
  const gint64 gpus = orr_launch_config_gpus(draft);
  if (gpus < 1 || split < 1 || gpus < split)
    return orr_launch_draft_ask(draft,
                                "on how many GPUs? Add --gpus N or --nodes N: the global batch "
                                "follows from it");
  g_autofree char *text =
      g_strdup_printf("%ld", MAX(micro, 1) * MAX(accumulation, 1) * (gpus / split));
  orr_launch_draft_set(draft, "workload.batch.global", text, NULL, remark);
}

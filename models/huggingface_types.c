/*
 * huggingface_types.c - the known model types of the transformers library, and keys of configs that
 * are not mapped: two tables, which are compiled in.
 *
 * To add a type: a row of huggingface_types.csv (alphabetical), with properties that its configs do
 * not state, and a config in tests/models/test_import_huggingface.c. To add a key: a row of
 * huggingface_keys.csv.
 */
#include "models/import_huggingface.h"
#include "sim/base/arrays.h"
#include "sim/base/csv.h"

#define LLAMA (ORR_HF_GATED | ORR_HF_RMS_NORM)

extern const OrrHuggingfaceTable orr_huggingface_tables[];

/* In the order of their bits. */
static const char *const property_words[] = {
    "gated",       "rms-norm",   "tied",           "bias",       "qkv-bias",    "qk-norm",
    "post-norms",  "parallel",   "shared-gate",    "alternates", "output-gate", "shortcut",
    "even-values", "mla-widths", "vision-experts", NULL};

/* Every word of the tables is one of @words. */
static guint index_of(const char *const *words, const char *word) {
  for (guint i = 0; words[i]; i++)
    if (strcmp(words[i], word) == 0) return i;
  g_assert_not_reached();
}

/* The table is read once and lives as long as the program. */
static OrrCsv *read_table(const char *name) {
  const OrrHuggingfaceTable *table = orr_huggingface_tables;
  while (strcmp(table->name, name) != 0) table++;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrCsv *csv = orr_csv_parse(table->text, name, diags);
  g_assert(csv && csv->header && orr_diags_n_errors(diags) == 0);
  return csv;
}

enum { TYPE, PROPERTIES, POSITION, DEFAULTS };

static const GArray *types(void) {
  static GArray *all = NULL;
  if (all) return all;
  all = g_array_new(FALSE, FALSE, sizeof(OrrHuggingfaceType));
  ORR_EACH_POINTER(const OrrCsvLine, line, read_table("huggingface_types")->lines) {
    if (!line->cells) continue;
    const char *defaults = line->cells[DEFAULTS];
    g_auto(GStrv) properties = g_strsplit(line->cells[PROPERTIES], " ", -1);
    OrrHuggingfaceType type = {line->cells[TYPE], 0, 0, *defaults ? defaults : NULL};
    for (char **word = properties; *word; word++)
      type.flags |= 1u << index_of(property_words, *word);
    type.position = (int)index_of(orr_position_words, line->cells[POSITION]);
    g_array_append_val(all, type);
  }
  return all;
}

const OrrHuggingfaceType *orr_huggingface_type(const char *model_type) {
  ORR_EACH(const OrrHuggingfaceType, type, types())
    if (strcmp(type->model_type, model_type) == 0) return type;
  return NULL;
}

const OrrHuggingfaceType *orr_huggingface_types_generic(void) {
  static const OrrHuggingfaceType generic = {"a decoder", LLAMA, ORR_POSITION_ROPE, NULL};
  return &generic;
}

static const char **names(void) {
  const char **all = g_new0(const char *, types()->len + 1);
  ORR_EACH_AT(i, const OrrHuggingfaceType, type, types()) all[i] = type->model_type;
  return all;
}

char *orr_huggingface_type_names(void) {
  g_autofree const char **all = names();
  return g_strjoinv(", ", (char **)all);
}

const char *orr_huggingface_types_nearest(const char *model_type) {
  g_autofree const char **all = names();
  return orr_diag_nearest_word(model_type, all);
}

/* Classes without an output layer over the vocabulary, unless the second list has them. */
static const char *const headless[] = {"*ForSequenceClassification", "*ForTokenClassification",
                                       "*RewardModel", "*Model"};
static const char *const headed[] = {"*LMHeadModel", "*LMModel", "*ChatModel", "ChatGLMModel"};

static gboolean matches_any(const char *const *patterns, guint n, const char *text) {
  for (guint i = 0; i < n; i++)
    if (g_pattern_match_simple(patterns[i], text)) return TRUE;
  return FALSE;
}

gboolean orr_huggingface_types_lacks_head(const char *name) {
  return matches_any(headless, G_N_ELEMENTS(headless), name) &&
         !matches_any(headed, G_N_ELEMENTS(headed), name);
}

/* --- Keys --- */

enum { KEYS, VERDICT, WHY };

/* The reason of the first row with @verdict that has a key for which @counts is true. */
static const char *find_key(const char *verdict,
                            gboolean (*counts)(const char *key, const void *user),
                            const void *user) {
  static OrrCsv *keys = NULL;
  if (!keys) keys = read_table("huggingface_keys");
  ORR_EACH_POINTER(const OrrCsvLine, line, keys->lines) {
    if (!line->cells || strcmp(line->cells[VERDICT], verdict) != 0) continue;
    g_auto(GStrv) words = g_strsplit(line->cells[KEYS], " ", -1);
    for (char **word = words; *word; word++)
      if (counts(*word, user)) return line->cells[WHY];
  }
  return NULL;
}

static gboolean matches(const char *pattern, const void *key) {
  return g_pattern_match_simple(pattern, key);
}

const char *orr_huggingface_types_effect(const char *key) {
  return find_key("warned", matches, key);
}

gboolean orr_huggingface_types_is_harmless(const char *key) {
  return find_key("ignored", matches, key) != NULL;
}

static gboolean is_nothing(const OrrNode *value) {
  static const char *const words[] = {"null", "false", "0", "", NULL};
  return value->kind == ORR_NODE_SCALAR ? g_strv_contains(words, value->text)
                                        : orr_node_length(value) == 0;
}

static gboolean is_set(const char *key, const void *config) {
  g_auto(GStrv) levels = g_strsplit(key, ".", 2);
  const OrrNode *value = orr_node_get(config, levels[0]);
  if (levels[1]) value = value ? orr_node_get(value, levels[1]) : NULL;
  return value && !is_nothing(value);
}

const char *orr_huggingface_types_foreign(const OrrNode *config) {
  return find_key("refused", is_set, config);
}

/*
 * huggingface_layers.c - reads the kind of each layer, which configs of different types state by
 * different keys.
 *
 *   hybrid_override_pattern   "M-M*E": Mamba, MLP, attention, experts, a block each (Nemotron-H)
 *   layers_block_type         the same in words; may be all that says how many layers there are
 *   layer_types               full_attention, sliding_attention, chunked_attention,
 *                             linear_attention, mamba
 *   attn_type_list            0: linear attention, 1: softmax (MiniMax)
 *   full_attention_interval   every n-th layer is full attention, the others linear (Qwen3-Next)
 *   sliding_window_pattern    every n-th layer is full attention, the others have the window (Gemma
 *                             3)
 *   max_window_layers         full attention layers, before the layers with the window
 *                             (Qwen2)
 *   no_rope_layers            0: full attention; others attend within chunks (Llama 4)
 *   hybrid_layer_pattern      0: full attention, 1: a window (MiMo)
 *   attn_layer_indices        attention; all other layers are Mamba-2's (Bamba)
 *   linear_attn_config        kda_layers, counted from 1: linear attention (Kimi Linear)
 *   mlp_layer_types           dense, sparse
 *   moe_layers_enum           "3,4,5" or a list: the layers with experts (Step)
 *   block_configs             each layer by itself (huggingface_blocks.c)
 *   moe_layer_start_index, moe_layer_end_index
 *                             the first and the last layer with experts (ERNIE)
 *   first_k_dense_replace, moe_layer_freq, decoder_sparse_step, mlp_only_layers,
 *   interleave_moe_layer_step, moe_layers
 *                             which layers have experts
 *
 * A list must cover every layer. The layout is the shortest list that makes all layers when it
 * repeats.
 */
#include "models/import_huggingface.h"

typedef struct {
  const OrrHuggingfaceConfig *config;
  const OrrHuggingfaceType *type;
  gint64 layers;
} Reading;

static const OrrNode *take(const Reading *reading, const char *key) {
  return orr_huggingface_config_find(reading->config, key);
}

static gint64 number(const Reading *reading, const char *key, gint64 fallback) {
  return orr_huggingface_config_number(reading->config, key, fallback);
}

/* The list of that key, where it is present and not empty. */
static const OrrNode *take_list(const Reading *reading, const char *key) {
  const OrrNode *node = orr_huggingface_config_list(reading->config, key);
  return orr_node_length(node) > 0 ? node : NULL;
}

/* Item @i of a list; NULL: none. */
static const char *item(const OrrNode *list, gint64 i) {
  if (!list || list->kind != ORR_NODE_LIST || i >= orr_node_length(list)) return NULL;
  const OrrNode *node = list->items->pdata[i];
  return node->kind == ORR_NODE_SCALAR ? node->text : NULL;
}

static gboolean holds(const OrrNode *list, gint64 value) {
  for (gint64 i = 0; list && i < orr_node_length(list); i++)
    if (item(list, i) && g_ascii_strtoll(item(list, i), NULL, 10) == value) return TRUE;
  return FALSE;
}

/* --- checks of lists --- */

static void check_length(const Reading *reading, const char *key, const OrrNode *node,
                         gint64 length) {
  if (length < reading->layers)
    orr_diags_error(reading->config->diags, node->place,
                    "'%s' has %ld layers, and the model has %ld", key, length, reading->layers);
}

static void check_words(const Reading *reading, const char *key, const OrrNode *list,
                        const char *const *known) {
  for (gint64 i = 0; i < orr_node_length(list); i++) {
    const OrrNode *node = list->items->pdata[i];
    const char *word = node->kind == ORR_NODE_SCALAR ? node->text : "";
    if (g_strv_contains(known, word)) continue;
    g_autofree char *all = g_strjoinv(", ", (char **)known);
    orr_diags_error(reading->config->diags, node->place, "'%s': unknown layer '%s' (known: %s)",
                    key, word, all);
    return; /* one finding is enough */
  }
}

static const char *const block_words[] = {"mamba", "attention", "mlp", "moe", NULL};
static const char *const mixer_words[] = {"attention",
                                          "full_attention",
                                          "sliding_attention",
                                          "chunked_attention",
                                          "linear_attention",
                                          "deepseek_sparse_attention",
                                          "mamba",
                                          NULL};
static const char block_letters[] = "M*-E"; /* in the order of block_words */

static void check_pattern(const Reading *reading) {
  const char *pattern = orr_huggingface_config_text(reading->config, "hybrid_override_pattern");
  if (!pattern) return;
  const OrrNode *node = take(reading, "hybrid_override_pattern");
  const gsize known = strspn(pattern, block_letters);
  if (pattern[known])
    orr_diags_error(reading->config->diags, node->place,
                    "'hybrid_override_pattern': unknown layer '%c' (known: M Mamba-2, * attention, "
                    "- MLP, E experts)",
                    pattern[known]);
  else
    check_length(reading, "hybrid_override_pattern", node, (gint64)known);
}

static void check_lists(const Reading *reading) {
  static const char *const keys[] = {"layer_types",    "layers_block_type",    "attn_type_list",
                                     "no_rope_layers", "hybrid_layer_pattern", "mlp_layer_types",
                                     "moe_layer_freq"};
  const OrrNode *frequency = take(reading, "moe_layer_freq");
  const gboolean is_step =
      frequency && frequency->kind == ORR_NODE_SCALAR; /* DeepSeek has a number there */
  for (guint i = 0; i < G_N_ELEMENTS(keys) - (is_step ? 1 : 0); i++) {
    const OrrNode *list = take_list(reading, keys[i]);
    if (list) check_length(reading, keys[i], list, orr_node_length(list));
    if (list && i < 2) check_words(reading, keys[i], list, i == 0 ? mixer_words : block_words);
  }
  take_list(reading, "mlp_only_layers");
  take_list(reading, "moe_layers");
  take_list(reading, "compress_ratios");
  take_list(reading, "indexer_types");
  check_pattern(reading);
}

/* EXAONE writes sliding_window_pattern "LLLG". */
static gboolean is_text(const OrrNode *node) {
  return node && node->kind == ORR_NODE_SCALAR && node->quoted;
}

/* Checks the numbers that determine the layers once, so that each bad one is reported once. */
static void check_numbers(const Reading *reading) {
  static const char *const keys[] = {"full_attention_interval",
                                     "sliding_window_pattern",
                                     "max_position_embeddings",
                                     "sliding_window",
                                     "attention_chunk_size",
                                     "max_window_layers",
                                     "no_rope_layer_interval",
                                     "first_k_dense_replace",
                                     "decoder_sparse_step",
                                     "interleave_moe_layer_step",
                                     "moe_layer_start_index",
                                     "moe_layer_interval",
                                     "index_topk",
                                     ORR_HF_EXPERTS};
  const OrrNode *frequency = take(reading, "moe_layer_freq");
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const gboolean may_be_text = strcmp(keys[i], "sliding_window_pattern") == 0;
    if (!may_be_text || !is_text(take(reading, keys[i]))) number(reading, keys[i], 0);
  }
  if (frequency && frequency->kind != ORR_NODE_LIST) number(reading, "moe_layer_freq", 0);
  orr_huggingface_config_flag(reading->config, "use_sliding_window", TRUE);
}

/* --- blocks of one part --- */

static const char *block_of(const char *word) { return strcmp(word, "mlp") == 0 ? "dense" : word; }

static gboolean read_blocks(const Reading *reading, const char **ret_kinds) {
  const char *pattern = orr_huggingface_config_text(reading->config, "hybrid_override_pattern");
  const OrrNode *words = take_list(reading, "layers_block_type");
  if (!words && !pattern) return FALSE;
  for (gint64 i = 0; i < reading->layers; i++) {
    const char *word =
        words ? item(words, i) : block_words[strchr(block_letters, pattern[i]) - block_letters];
    ret_kinds[i] = g_intern_string(block_of(word));
  }
  return TRUE;
}

/* --- mixers and feed-forwards --- */

static const char *mixer_of_word(const char *word) {
  if (strcmp(word, "mamba") == 0) return "mamba";
  if (strcmp(word, "attention") == 0 || strcmp(word, "full_attention") == 0 ||
      strcmp(word, "deepseek_sparse_attention") == 0)
    return "attention";
  return strcmp(word, "linear_attention") == 0 ? "linear" : "window";
}

/* xAI writes -1 where there is none. */
static gboolean is_minus_one(const OrrNode *node) {
  return node && node->kind == ORR_NODE_SCALAR && strcmp(node->text, "-1") == 0;
}

/* A window at least as long as the context is not a window. */
static gboolean has_window(const Reading *reading) {
  if (is_minus_one(take(reading, "sliding_window|sliding_window_size"))) return FALSE;
  if (!orr_huggingface_config_flag(reading->config, "use_sliding_window", TRUE)) return FALSE;
  if (take(reading, "attention_chunk_size")) return TRUE;
  const gint64 context = number(reading, "max_position_embeddings", 0),
               size = number(reading, "sliding_window|sliding_window_size", 0);
  return size > 0 && (context == 0 || size < context);
}

/* The mixer by a list that only some types have; NULL: none has it. */
static const char *mixer_by_list(const Reading *reading, gint64 i) {
  const OrrNode *kinds = take(reading, "hybrid_layer_pattern");
  const OrrNode *indices = take(reading, "attn_layer_indices");
  const OrrNode *delta = orr_node_get(reading->config->map, "linear_attn_config");
  const OrrNode *pattern = take(reading, "sliding_window_pattern");
  if (item(kinds, i)) return strcmp(item(kinds, i), "0") == 0 ? "attention" : "window";
  if (indices && orr_node_length(indices)) return holds(indices, i) ? "attention" : "mamba";
  if (delta && delta->kind == ORR_NODE_MAP) {
    const OrrNode *linear = orr_node_get(delta, "kda_layers");
    const OrrNode *full = orr_node_get(delta, "full_attn_layers");
    return (linear ? holds(linear, i + 1) : !holds(full, i + 1)) ? "linear" : "attention";
  }
  if (is_text(pattern) && *pattern->text)
    return pattern->text[i % (gint64)strlen(pattern->text)] == 'L' ? "window" : "attention";
  return NULL;
}

static const char *plain_mixer_of(const Reading *reading, gint64 i) {
  if (orr_huggingface_states_is_rwkv(reading->config)) return "linear";
  const char *word = item(take(reading, "layer_types"), i),
             *linear = item(take(reading, "attn_type_list"), i);
  const char *listed = word ? NULL : mixer_by_list(reading, i);
  if (listed) return listed;
  gint64 full = number(reading, "full_attention_interval", 0),
         every = is_text(take(reading, "sliding_window_pattern"))
                     ? 0
                     : number(reading, "sliding_window_pattern", 0);
  if (word) return mixer_of_word(word);
  if (linear) return strcmp(linear, "0") == 0 ? "linear" : "attention";
  if (full > 0) return (i + 1) % full ? "linear" : "attention";
  if (!has_window(reading)) return "attention";
  if (every > 0) return (i + 1) % every ? "window" : "attention";
  if (i < number(reading, "max_window_layers", 0)) return "attention";
  if (take(reading, "attention_chunk_size")) {
    const char *rope = item(take(reading, "no_rope_layers"), i);
    gint64 interval = number(reading, "no_rope_layer_interval", 4);
    gboolean chunked = rope ? strcmp(rope, "0") != 0 : interval > 0 && (i + 1) % interval != 0;
    return chunked ? "window" : "attention";
  }
  if (reading->type->flags & ORR_HF_ALTERNATES) return i % 2 ? "attention" : "window";
  return "window";
}

static const char *mixer_of(const Reading *reading, gint64 i) {
  return orr_huggingface_sparse_mixer(reading->config, i, plain_mixer_of(reading, i));
}

static gboolean has_experts(const Reading *reading) {
  return number(reading, ORR_HF_EXPERTS, 0) > 1;
}

/* Whether layer @i stands in the text "3,4,5". */
static gboolean stands_in(const char *text, gint64 i) {
  g_auto(GStrv) words = g_strsplit(text, ",", -1);
  for (char **word = words; *word; word++)
    if (*g_strstrip(*word) && g_ascii_strtoll(*word, NULL, 10) == i) return TRUE;
  return FALSE;
}

/* The last layer with experts; of ERNIE's two lists of experts, the text's come first. */
static gint64 last_with_experts(const Reading *reading) {
  const OrrNode *end = take(reading, "moe_layer_end_index");
  const char *text = end && end->kind == ORR_NODE_SCALAR ? end->text : item(end, 0);
  const gint64 last = text ? g_ascii_strtoll(text, NULL, 10) : -1;
  return last < 0 ? reading->layers - 1 : last;
}

static const char *feed_of(const Reading *reading, gint64 i) {
  const char *type = item(take(reading, "mlp_layer_types"), i);
  const OrrNode *enumerated = take(reading, "moe_layers_enum");
  if (type && has_experts(reading)) return strcmp(type, "dense") == 0 ? "dense" : "moe";
  if (is_text(enumerated) && has_experts(reading))
    return stands_in(enumerated->text, i) ? "moe" : "dense";
  if (orr_node_length(enumerated) > 0 && has_experts(reading))
    return holds(enumerated, i) ? "moe" : "dense";
  gint64 first = number(reading, "first_k_dense_replace|moe_layer_start_index", 0),
         step = number(reading, "decoder_sparse_step|moe_layer_interval", 1);
  gint64 interleave = number(reading, "interleave_moe_layer_step", 1);
  const OrrNode *frequency = take(reading, "moe_layer_freq"), *listed = take(reading, "moe_layers");
  if (!has_experts(reading) || i < first || i > last_with_experts(reading) ||
      holds(take(reading, "mlp_only_layers"), i))
    return "dense";
  if (listed && orr_node_length(listed)) return holds(listed, i) ? "moe" : "dense";
  if (item(frequency, i)) return strcmp(item(frequency, i), "0") == 0 ? "dense" : "moe";
  if (frequency && frequency->kind == ORR_NODE_SCALAR) step = number(reading, "moe_layer_freq", 1);
  if (step > 1 && frequency)
    return i % step ? "dense" : "moe"; /* DeepSeek: every step-th from the first */
  if (step > 1) return (i + 1) % step ? "dense" : "moe"; /* Qwen: every step-th */
  return interleave > 1 && (i + 1) % interleave ? "dense" : "moe";
}

/* --- the shortest list --- */

static gint64 period_of(const char *const *kinds, gint64 layers) {
  for (gint64 period = 1; period < layers; period++) {
    gint64 i = period;
    while (i < layers && kinds[i] == kinds[i - period]) i++;
    if (i == layers && period <= layers / 2) return period;
  }
  return layers;
}

static char **compress(const char *const *kinds, gint64 layers) {
  GPtrArray *items = g_ptr_array_new();
  gint64 period = period_of(kinds, layers);
  for (gint64 i = 0, run; i < period; i += run) {
    for (run = 1; i + run < period && kinds[i + run] == kinds[i]; run++)
      ;
    g_ptr_array_add(items, run > 1 ? g_strdup_printf("%ld %s", run, kinds[i]) : g_strdup(kinds[i]));
  }
  g_ptr_array_add(items, NULL);
  return (char **)g_ptr_array_free(items, FALSE);
}

/* Two of attention and a dense feed-forward, then the experts of both. */
static const char *shortcut_kind(gint64 i) { return i % 3 == 2 ? "moe" : "attention+dense"; }

/* The kind of each layer of one mixer and one feed-forward. */
static void read_pairs(const Reading *reading, const char **ret_kinds) {
  for (gint64 i = 0; i < reading->layers; i++) {
    g_autofree char *kind = g_strdup_printf("%s+%s", mixer_of(reading, i), feed_of(reading, i));
    ret_kinds[i] = g_intern_string(kind);
  }
}

char **orr_huggingface_layers_layout(const OrrHuggingfaceConfig *config,
                                     const OrrHuggingfaceType *type, gint64 layers,
                                     OrrNode *model) {
  const Reading reading = {config, type, layers};
  const guint before = orr_diags_n_errors(config->diags);
  check_lists(&reading);
  check_numbers(&reading);
  if (orr_diags_n_errors(config->diags) > before) return NULL;
  g_autofree const char **kinds = g_new0(const char *, layers + 1);
  if (orr_huggingface_blocks_are_given(config))
    orr_huggingface_blocks_kinds(config, layers, kinds, model);
  else if (type->flags & ORR_HF_SHORTCUT)
    for (gint64 i = 0; i < layers; i++) kinds[i] = shortcut_kind(i);
  else if (!read_blocks(&reading, kinds))
    read_pairs(&reading, kinds);
  if (orr_diags_n_errors(config->diags) > before) return NULL;
  gboolean plain =
      period_of(kinds, layers) == 1 &&
      strcmp(kinds[0], has_experts(&reading) ? "attention+moe" : "attention+dense") == 0;
  return plain ? NULL : compress(kinds, layers);
}

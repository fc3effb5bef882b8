/*
 * import_huggingface.c - reads the config, maps its keys to the document's, checks the document and
 * writes it.
 *
 * The config becomes a tree; the text_config of a multi-modal one takes its place. Each key of the
 * document is looked up under the names that configs use for it. Keys that were neither read nor
 * known to be harmless are reported. The document is read back and settled before it is returned,
 * so that an inconsistent config is refused with the rule that it breaks.
 */
#include "models/import_huggingface.h"

#include "sim/base/yaml.h"

/* --- the document --- */

typedef struct {
  const OrrHuggingfaceConfig *config; /* the decoder's */
  const OrrHuggingfaceType *type;
  OrrNode *model;
} Import;

static gint64 number(const Import *import, const char *keys, gint64 fallback) {
  return orr_huggingface_config_number(import->config, keys, fallback);
}

static gboolean flag(const Import *import, const char *keys, gboolean fallback) {
  return orr_huggingface_config_flag(import->config, keys, fallback);
}

static gint64 need(const Import *import, const char *key, const char *keys) {
  gint64 value = number(import, keys, -1);
  if (value < 0 && !orr_huggingface_config_find(import->config, keys)) {
    g_auto(GStrv) names = g_strsplit(keys, "|", -1);
    g_autofree char *known = g_strjoinv(", ", names);
    orr_diags_error(import->config->diags, import->config->map->place,
                    "missing key for '%s': one of %s", key, known);
  }
  orr_huggingface_config_set_number(import->model, key, MAX(value, 1));
  return MAX(value, 1);
}

static void may(const Import *import, const char *key, const char *keys) {
  gint64 value = number(import, keys, 0);
  if (value > 0) orr_huggingface_config_set_number(import->model, key, value);
}

/* --- parts --- */

/* Falcon and StarCoder say multi_query for one head of keys and values. */
static void map_kv_heads(const Import *import) {
  const gboolean is_one =
      flag(import, "multi_query", FALSE) && !flag(import, "new_decoder_architecture", FALSE);
  const gint64 n = number(import,
                          "num_key_value_heads|num_kv_heads|num_attention_groups|"
                          "multi_query_group_num|n_head_kv",
                          0);
  if (is_one)
    orr_huggingface_config_set_number(import->model, "kv-heads", 1);
  else if (n > 0)
    orr_huggingface_config_set_number(import->model, "kv-heads", n);
}

/* RWKV's configs may say the width of a head alone. */
static gint64 need_heads(const Import *import, gint64 hidden) {
  static const char keys[] = "num_attention_heads|n_head|n_heads|num_heads";
  const gboolean is_rwkv = orr_huggingface_states_is_rwkv(import->config);
  const gint64 width = is_rwkv ? number(import, "head_dim", 64) : 0;
  if (width < 1 || number(import, keys, 0) > 0) return need(import, "heads", keys);
  orr_huggingface_config_set_number(import->model, "heads", hidden / width);
  return hidden / width;
}

static void map_sizes(const Import *import) {
  gint64 hidden = need(import, "hidden", "hidden_size|n_embd|d_model");
  gint64 heads = need_heads(import, hidden), expansion;
  map_kv_heads(import);
  gint64 head_dim = number(import, "head_dim|attention_head_dim|kv_channels", 0);
  if (head_dim && head_dim * heads != hidden && !number(import, "kv_lora_rank", 0))
    orr_huggingface_config_set_number(import->model, "head-dim", head_dim);
  gint64 dense = number(import, "intermediate_size_mlp|dense_intermediate_size", 0);
  gint64 ffn =
      dense ? dense : number(import, "intermediate_size|n_inner|ffn_dim|ffn_hidden_size", 0);
  if (!ffn && (expansion = number(import, "expansion_ratio|hidden_ratio", 0)) > 0)
    ffn = expansion * hidden;
  if (ffn) orr_huggingface_config_set_number(import->model, "ffn", ffn);
  need(import, "vocab", "vocab_size|padded_vocab_size");
  if (strcmp(import->type->model_type, "falcon") == 0 &&
      !number(import, "max_position_embeddings", 0)) /* of its class */
    orr_huggingface_config_set_number(import->model, "context", 2048);
  else
    need(import, "context",
         "max_position_embeddings|n_positions|max_seq_len|seq_length|n_ctx|max_sequence_length|"
         "model_max_length");
}

static void map_activation(const Import *import) {
  const char *found = orr_huggingface_config_text(
      import->config,
      "hidden_activation|hidden_act|mlp_hidden_act|activation_function|hidden_act_fn");
  const char *word = found ? found : "", *activation = "gelu";
  gboolean gated = import->type->flags & ORR_HF_GATED, is_gelu = strstr(word, "gelu") != NULL;
  if (gated)
    activation = is_gelu ? "geglu" : "swiglu";
  else if (strstr(word, "relu2") || strcmp(word, "sqrelu") == 0)
    activation = "squared-relu";
  else if (strcmp(word, "relu") == 0 || (!found && strcmp(import->type->model_type, "opt") == 0))
    activation = "relu";
  orr_huggingface_config_set_text(import->model, "activation", activation);
}

static gboolean has_yarn(const Import *import) {
  const OrrNode *scaling =
      orr_huggingface_config_find(import->config, "rope_scaling|rope_parameters");
  const OrrNode *type = NULL;
  if (scaling && scaling->kind == ORR_NODE_MAP) {
    type = orr_node_get(scaling, "rope_type");
    if (!type) type = orr_node_get(scaling, "type");
  }
  return type && g_strcmp0(type->text, "yarn") == 0;
}

static void map_form(const Import *import) {
  static const char *const positions[] = {"learned", "rope", "alibi", "none"};
  guint flags = import->type->flags;
  gboolean bias = flags & ORR_HF_BIAS;
  gboolean qkv_bias = flag(import, "attention_bias|qkv_bias", flags & ORR_HF_QKV_BIAS) && !bias;
  map_activation(import);
  orr_huggingface_config_set_text(import->model, "norm",
                                  flags & ORR_HF_RMS_NORM ? "rmsnorm" : "layernorm");
  orr_huggingface_config_set_text(import->model, "position",
                                  flag(import, "alibi", FALSE) ? "alibi"
                                                               : positions[import->type->position]);
  if (has_yarn(import)) orr_huggingface_config_set_flag(import->model, "yarn", TRUE);
  orr_huggingface_config_set_flag(import->model, "tied-embeddings",
                                  flag(import, "tie_word_embeddings", flags & ORR_HF_TIED));
  orr_huggingface_config_set_flag(import->model, "bias", bias);
  if (qkv_bias) orr_huggingface_config_set_flag(import->model, "qkv-bias", TRUE);
  if (flag(import, "use_qk_norm|qk_norm|qk_layernorm", flags & ORR_HF_QK_NORM))
    orr_huggingface_config_set_flag(import->model, "qk-norm", TRUE);
  if (flag(import, "attn_output_gate|attention_output_gate|mla_use_output_gate",
           flags & ORR_HF_OUTPUT_GATE))
    orr_huggingface_config_set_flag(import->model, "output-gate", TRUE);
  if (flags & ORR_HF_POST_NORMS) orr_huggingface_config_set_flag(import->model, "post-norms", TRUE);
  if (flag(import, "use_parallel_residual|parallel_attn", flags & ORR_HF_PARALLEL))
    orr_huggingface_config_set_flag(import->model, "parallel-blocks", TRUE);
}

static void map_latent(const Import *import) {
  static const OrrHuggingfacePair pairs[] = {{"q-lora-rank", "q_lora_rank"},
                                             {"kv-lora-rank", "kv_lora_rank"},
                                             {"qk-nope-head-dim", "qk_nope_head_dim"},
                                             {"qk-rope-head-dim", "qk_rope_head_dim"},
                                             {"v-head-dim", "v_head_dim"}};
  const gint64 query = number(import, "share_q_dim", 0); /* Step-3: of queries alone */
  if (query > 0) {
    OrrNode *map = orr_node_new_map((OrrPlace){0});
    orr_huggingface_config_set_number(map, "q-lora-rank", query);
    orr_node_set(import->model, "mla", map);
  }
  if (number(import, "kv_lora_rank", 0) <= 0) return;
  orr_huggingface_config_find(import->config, "qk_head_dim"); /* marks it as read: the sum of two
                                                               * others */
  orr_node_remove(import->model, "kv-heads");
  OrrNode *mla = orr_huggingface_config_section(import->config, pairs, G_N_ELEMENTS(pairs));
  orr_huggingface_sparse_fill(import->config, import->type->flags, mla);
  orr_node_set(import->model, "mla", mla);
}

/* Of the experts that a token chooses, as many compute as there are among all, in the mean. The key
 * stays unread, so that its effect is reported. */
static void map_zero_experts(const Import *import, OrrNode *moe) {
  const gint64 zero = number(import, "zero_expert_num", 0),
               experts = number(import, ORR_HF_EXPERTS, 0), chosen = number(import, ORR_HF_TOPK, 0);
  if (zero < 1) return;
  const double topk = (double)(chosen * experts) / (double)(experts + zero);
  orr_huggingface_config_set_number(moe, "zero-experts", zero);
  orr_huggingface_config_set_number(moe, "topk", MAX(1, (gint64)round(topk)));
  g_hash_table_remove(import->config->used, "zero_expert_num");
}

static void map_experts(const Import *import) {
  static const OrrHuggingfacePair pairs[] = {
      {"experts", ORR_HF_EXPERTS},
      {"topk", ORR_HF_TOPK},
      {"latent", "moe_latent_size|routed_expert_hidden_size"}};
  if (number(import, ORR_HF_EXPERTS, 0) <= 1) return;
  OrrNode *moe = orr_huggingface_config_section(import->config, pairs, G_N_ELEMENTS(pairs));
  map_zero_experts(import, moe);
  gint64 ffn = number(import,
                      "moe_intermediate_size|expert_ffn_hidden_size|moe_ffn_hidden_size|"
                      "expert_intermediate_size",
                      0),
         n_shared = number(import,
                           "n_shared_experts|num_shared_experts|moe_num_shared_experts|"
                           "num_shared_expert",
                           0);
  gint64 shared = number(import,
                         "shared_expert_intermediate_size|moe_shared_expert_intermediate_size|"
                         "shared_intermediate_size|share_expert_dim",
                         0);
  gboolean llama4 = g_str_has_prefix(import->type->model_type, "llama4");
  if (!ffn && llama4)
    ffn = number(import, "intermediate_size", 0); /* intermediate_size_mlp belongs to the dense
                                                   * layers */
  if (!ffn && number(import, "dense_intermediate_size", 0)) /* MiniMax-M3 */
    ffn = number(import, "intermediate_size", 0);
  if (llama4) n_shared = 1;
  if (flag(import, "enable_moe_block|residual_moe", FALSE)) /* an MLP, too: Gemma 4, Grok 2 */
    shared = number(import, "intermediate_size", 0);
  if (!shared) shared = n_shared * ffn;
  if (ffn) orr_huggingface_config_set_number(moe, "ffn", ffn);
  if (shared) orr_huggingface_config_set_number(moe, "shared-ffn", shared);
  if (shared && (import->type->flags & ORR_HF_SHARED_GATE))
    orr_huggingface_config_set_flag(moe, "shared-gate", TRUE);
  if (orr_huggingface_config_find(import->config, "swiglu_limit"))
    orr_huggingface_config_set_flag(moe, "clamp", TRUE);
  orr_node_set(import->model, "moe", moe);
}

static void map_layout(const Import *import, gint64 layers) {
  g_auto(GStrv) layout =
      orr_huggingface_layers_layout(import->config, import->type, layers, import->model);
  OrrNode *list = orr_node_new_list((OrrPlace){0});
  gboolean windows = FALSE;
  for (guint i = 0; layout && layout[i]; i++) {
    orr_node_append(list, orr_node_new_scalar((OrrPlace){0}, layout[i]));
    windows |= strstr(layout[i], "window") != NULL;
  }
  gint64 chunk = number(import, "attention_chunk_size", 0);
  if (orr_huggingface_config_find(import->config, "hybrid_layer_pattern"))
    chunk = 0; /* MiMo repeats its window there */
  if (windows) {
    OrrNode *window = orr_node_new_map((OrrPlace){0});
    const gint64 size = chunk ? chunk : number(import, "sliding_window|sliding_window_size", 0);
    orr_huggingface_config_set_number(window, "size", size);
    if (chunk) orr_huggingface_config_set_flag(window, "chunked", TRUE);
    orr_node_set(import->model, "window", window);
  }
  if (layout)
    orr_node_set(import->model, "layout", list);
  else
    orr_node_free(list);
}

/* --- the whole --- */

/* Keys that were not mapped. */
typedef struct {
  GString *left_out;   /* a line each */
  GPtrArray *effects;  /* const char *: of the known effects, in the order of their first key */
  GPtrArray *affected; /* GString *: for each of them, its keys and values */
  GString *formats;    /* of weights: what has no counterpart, a line each */
} Unmapped;

static void free_string(gpointer text) { g_string_free(text, TRUE); }

static void add_effect(Unmapped *unmapped, const char *effect, const char *key) {
  guint i = 0;
  while (i < unmapped->effects->len && unmapped->effects->pdata[i] != effect) i++;
  if (i == unmapped->effects->len) {
    g_ptr_array_add(unmapped->effects, (gpointer)effect);
    g_ptr_array_add(unmapped->affected, g_string_new(NULL));
  }
  GString *keys = unmapped->affected->pdata[i];
  g_string_append_printf(keys, "%s%s", keys->len ? ", " : "", key);
}

static gboolean is_nothing(const OrrNode *value) {
  if (value->kind != ORR_NODE_SCALAR) return orr_node_length(value) == 0;
  return strcmp(value->text, "null") == 0 || strcmp(value->text, "false") == 0;
}

/* A number of layers or a width of 0: the model does not have it. */
static gboolean is_zero(const OrrNode *value) {
  return value->kind == ORR_NODE_SCALAR && strcmp(value->text, "0") == 0;
}

/* Embeddings as wide as the layers. */
static gboolean is_layers_width(const OrrHuggingfaceConfig *config, const char *key,
                                const OrrNode *value) {
  const char *width = orr_node_get_text(config->map, "hidden_size");
  return strcmp(key, "word_embed_proj_dim") == 0 && g_strcmp0(value->text, width) == 0;
}

static void add_left_out(const OrrHuggingfaceConfig *config, const char *prefix,
                         Unmapped *unmapped) {
  for (guint i = 0; i < config->map->keys->len; i++) {
    const OrrNode *key = config->map->keys->pdata[i], *value = config->map->items->pdata[i];
    const char *effect = orr_huggingface_types_effect(key->text);
    if (is_nothing(value) || (effect && is_zero(value)) ||
        orr_huggingface_types_is_harmless(key->text) || is_layers_width(config, key->text, value) ||
        g_hash_table_contains(config->used, key->text))
      continue;
    g_autofree char *line =
        g_strdup_printf("%s%s%s%s", prefix, key->text, value->kind == ORR_NODE_SCALAR ? ": " : "",
                        value->kind == ORR_NODE_SCALAR ? value->text : "");
    if (effect)
      add_effect(unmapped, effect, line);
    else
      g_string_append_printf(unmapped->left_out, "%s\n", line);
  }
}

/* "index_topk: 2048, index_n_heads: 32: attention is sparse ...", a line each. Newly allocated. */
static char *warnings_text(const Unmapped *unmapped) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < unmapped->effects->len; i++)
    g_string_append_printf(text, "%s: %s\n", ((GString *)unmapped->affected->pdata[i])->str,
                           (const char *)unmapped->effects->pdata[i]);
  g_string_append(text, unmapped->formats->str);
  return g_string_free(text, FALSE);
}

/* The effects are part of the document, so that its answers warn of them. */
static void map_effects(const Import *import, const GPtrArray *effects) {
  if (effects->len == 0) return;
  OrrNode *list = orr_node_new_list((OrrPlace){0});
  for (guint i = 0; i < effects->len; i++)
    orr_node_append(list, orr_node_new_scalar((OrrPlace){0}, effects->pdata[i]));
  orr_node_set(import->model, "not-modelled", list);
}

/* What says the format of the checkpoint's weights: a section of the config, or ModelOpt's file
 * next to it; NULL: neither. */
static OrrNode *quantization_of(const OrrHuggingfaceConfig *outer,
                                const OrrHuggingfaceConfig *inner, const char *path) {
  static const char keys[] = "quantization_config|compression_config";
  const OrrNode *own = orr_huggingface_config_map(outer, keys);
  if (!own) own = orr_huggingface_config_map(inner, keys);
  if (own) return orr_node_copy(own);
  g_autofree char *folder = g_path_get_dirname(path);
  g_autofree char *beside = g_build_filename(folder, "hf_quant_config.json", NULL);
  if (!g_file_test(beside, G_FILE_TEST_IS_REGULAR)) return NULL;
  g_autoptr(OrrDiags) own_diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  OrrNode *read = orr_huggingface_json_read(beside, own_diags, &error);
  if (!read)
    orr_diags_error(outer->diags, (OrrPlace){.file = g_intern_string(beside)}, "%s",
                    error->message);
  return read;
}

/* Nodes of the document have no place, so findings name the whole file. */
static void check_document(OrrNode *model, const OrrNode *quantization, const char *path,
                           GString *left_out, OrrDiags *diags) {
  OrrModel read;
  OrrPlace place = {.file = g_intern_string(path)};
  g_autoptr(OrrDiags) own = orr_diags_new();
  if (orr_field_read(&orr_model_table, model, NULL, own, &read)) {
    orr_model_settle(&read, place, diags);
    if (quantization && !orr_diags_n_errors(diags))
      orr_huggingface_quantization(quantization, &read, model, left_out);
  } else {
    g_autofree char *text = orr_diags_text(own);
    orr_diags_error(diags, place, "the config is not a valid model: %s",
                    g_strstrip(g_strdelimit(text, "\n", ' ')));
  }
  orr_field_clear(&orr_model_table, &read);
}

/* "XForCausalLM"; "": the config @root names none. */
static const char *class_of(const OrrNode *root) {
  const OrrNode *list = orr_node_get(root, "architectures");
  const gboolean has_one = list && list->kind == ORR_NODE_LIST && orr_node_length(list) > 0;
  const OrrNode *first = has_one ? list->items->pdata[0] : NULL;
  return first && first->kind == ORR_NODE_SCALAR ? first->text : "";
}

/* A language model whose keys are the usual ones, by its class: "XForCausalLM". */
static gboolean is_decoder(const OrrHuggingfaceConfig *config, const OrrNode *text_config) {
  const OrrNode *keys = text_config ? text_config : config->map;
  const char *name = class_of(config->map);
  return (g_str_has_suffix(name, "ForCausalLM") || (text_config && *name)) &&
         orr_node_get(keys, "num_hidden_layers") && orr_node_get(keys, "hidden_size") &&
         orr_node_get(keys, "num_attention_heads") &&
         (orr_node_get(keys, "intermediate_size") || orr_node_get(keys, "moe_intermediate_size"));
}

static void refuse_type(const OrrHuggingfaceConfig *config, const char *word) {
  g_autofree char *known = orr_huggingface_type_names();
  const char *near = word ? orr_huggingface_types_nearest(word) : NULL;
  const OrrNode *at = orr_node_get(config->map, "model_type");
  if (!word)
    orr_diags_error(config->diags, config->map->place, "missing key 'model_type' (known: %s)",
                    known);
  else
    orr_diags_error(config->diags, at->place, "unknown model_type '%s'%s%s%s (known: %s)", word,
                    near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "", known);
}

/* The type of @config; of an unknown one that has the usual keys, a decoder's, with a warning. */
static const OrrHuggingfaceType *find_type(const OrrHuggingfaceConfig *config,
                                           const OrrNode *text_config, gboolean *ret_generic) {
  const char *word = orr_huggingface_config_text(config, "model_type");
  const OrrHuggingfaceType *type = word ? orr_huggingface_type(word) : NULL;
  const char *inner = text_config ? orr_node_get_text(text_config, "model_type") : NULL;
  const char *foreign = orr_huggingface_types_foreign(text_config ? text_config : config->map);
  *ret_generic = FALSE;
  if (orr_diags_n_errors(config->diags)) return NULL;
  if (foreign) {
    orr_diags_error(config->diags, config->map->place, "the model has %s, which is not simulated",
                    foreign);
    return NULL;
  }
  if (!type && inner) type = orr_huggingface_type(inner);
  if (!type && word && is_decoder(config, text_config)) {
    *ret_generic = TRUE;
    return orr_huggingface_types_generic();
  }
  if (!type) refuse_type(config, word);
  return type;
}

static void name_document(const Import *import, const OrrHuggingfaceConfig *root, const char *name,
                          const char *path) {
  const char *called = name ? name : orr_huggingface_config_text(root, "_name_or_path");
  g_autofree char *base =
      called && *called ? g_path_get_basename(called) : g_strdup(import->type->model_type);
  g_autofree char *lower = g_ascii_strdown(base, -1),
                  *source = g_strdup_printf("config.json of %s, imported from %s", base, path);
  orr_huggingface_config_set_text(import->model, "schema", "model/1");
  orr_huggingface_config_set_text(import->model, "name", lower);
  orr_huggingface_config_set_text(import->model, "source", source);
}

static void map_all(const Import *import, gint64 layers) {
  map_sizes(import);
  map_form(import);
  map_latent(import);
  map_experts(import);
  orr_huggingface_states_map(import->config, import->model);
  orr_huggingface_sparse_map(import->config, MIN(layers, ORR_MAX_LAYOUT), import->model);
  map_layout(import, MIN(layers, ORR_MAX_LAYOUT));
  may(import, "mtp-layers", "num_nextn_predict_layers|num_mtp_modules|mtp_num_hidden_layers");
}

/* Where no key states their number, the list of their kinds counts the layers. */
static gint64 count_layers(const Import *import) {
  static const char keys[] = "num_hidden_layers|n_layer|n_layers|num_layers";
  static const char *const lists[] = {"layers_block_type", "layer_types", "attn_type_list"};
  const gint64 threes = import->type->flags & ORR_HF_SHORTCUT ? number(import, "num_layers", 0) : 0;
  if (threes > 0) {
    number(import, keys, 0);
    orr_huggingface_config_set_number(import->model, "layers", 3 * threes);
    return 3 * threes;
  }
  for (guint i = 0; !orr_huggingface_config_find(import->config, keys) && i < G_N_ELEMENTS(lists);
       i++) {
    const OrrNode *list = orr_huggingface_config_list(import->config, lists[i]);
    const gint64 layers = list ? orr_node_length(list) : 0;
    if (layers < 1) continue;
    orr_huggingface_config_set_number(import->model, "layers", layers);
    return layers;
  }
  const char *pattern = orr_huggingface_config_text(import->config, "hybrid_override_pattern");
  if (pattern && *pattern && !orr_huggingface_config_find(import->config, keys)) {
    orr_huggingface_config_set_number(import->model, "layers", (gint64)strlen(pattern));
    return (gint64)strlen(pattern);
  }
  return need(import, "layers", keys);
}

/* Maps the tower if its type is known; else a warning says that it is left out. */
static void map_tower(const Import *import, const OrrHuggingfaceConfig *root, const char *whole,
                      Unmapped *unmapped) {
  const OrrNode *map = orr_huggingface_config_map(root, "vision_config");
  g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
  const OrrHuggingfaceConfig tower = {map, used, root->diags};
  OrrNode *encoder = map ? orr_huggingface_tower(&tower, whole) : NULL;
  if (!encoder) {
    g_hash_table_remove(root->used, "vision_config");
    return;
  }
  orr_node_set(import->model, "encoder", encoder);
  add_left_out(&tower, "vision_config.", unmapped);
}

/* A config inside another one: keys that it omits have the defaults of its configuration class,
 * whose type replaces @type if it is known; tie_word_embeddings may be outside. */
static OrrNode *with_defaults(const OrrNode *config, const OrrNode *root,
                              const OrrHuggingfaceType **type, OrrDiags *diags) {
  g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
  const OrrHuggingfaceConfig inside = {config, used, diags};
  const char *inner = orr_huggingface_config_text(&inside, "model_type");
  if (inner && orr_huggingface_type(inner)) *type = orr_huggingface_type(inner);
  const char *defaults = (*type)->defaults ? (*type)->defaults : "{}";
  g_autoptr(OrrNode) base = orr_yaml_parse(defaults, strlen(defaults), (*type)->model_type, diags);
  const OrrNode *tied = orr_node_get(root, "tie_word_embeddings");
  if (tied) orr_node_set(base, "tie_word_embeddings", orr_node_copy(tied));
  return orr_node_merge(base, config);
}

/* A YAML comment ends at any of YAML's line ends, U+2028 among them, and the rest would be read
 * as YAML: characters that are not printable on one line are removed from texts of a config. */
static void append_comment(GString *text, const char *what, const char *line) {
  g_string_append_printf(text, "# %s: ", what);
  for (const char *at = line; *at; at = g_utf8_next_char(at)) {
    const gunichar c = g_utf8_get_char(at);
    const GUnicodeType type = g_unichar_type(c);
    const gboolean is_end =
        type == G_UNICODE_LINE_SEPARATOR || type == G_UNICODE_PARAGRAPH_SEPARATOR;
    g_string_append_unichar(text, g_unichar_isprint(c) && !is_end ? c : '?');
  }
  g_string_append_c(text, '\n');
}

static void append_comments(GString *text, const char *what, const char *all) {
  g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
  for (guint i = 0; lines[i] && *lines[i]; i++) append_comment(text, what, lines[i]);
}

static char *document_text(const OrrNode *model, const char *warnings, const char *left_out) {
  g_autoptr(GString) text = g_string_new(NULL);
  append_comments(text, "warning", warnings);
  append_comments(text, "not mapped", left_out);
  g_autofree char *document = orr_yaml_text(model);
  g_string_append(text, document);
  return g_string_free(g_steal_pointer(&text), FALSE);
}

/* The decoder's section of a config of several parts; NULL: the config is the decoder's. */
static const OrrNode *inner_config(const OrrHuggingfaceConfig *outer) {
  static const char *const keys[] = {"text_config", "llm_config", "language_config"};
  const OrrNode *thinker = orr_huggingface_config_map(outer, "thinker_config");
  const OrrHuggingfaceConfig inner = {thinker ? thinker : outer->map, outer->used, outer->diags};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const OrrNode *found = orr_huggingface_config_map(&inner, keys[i]);
    if (found || orr_diags_n_errors(outer->diags)) return found;
  }
  return NULL;
}

/* Without an output layer the weights are right if it shares the embedding's. */
static void map_headless(const Import *import, const OrrNode *root, Unmapped *unmapped) {
  static const char effect[] = "the class has no output layer over the vocabulary: no weights of "
                               "one are counted, but its time and activations are";
  g_autofree char *line = g_strdup_printf("architectures: %s", class_of(root));
  if (!orr_huggingface_types_lacks_head(class_of(root))) return;
  orr_huggingface_config_set_flag(import->model, "tied-embeddings", TRUE);
  add_effect(unmapped, effect, line);
}

/* The warning about a type that is not known. */
static void warn_generic(const OrrNode *root, Unmapped *unmapped) {
  static const char effect[] =
      "the model's type is not known: it is read as a decoder with gated MLPs, RMSNorm, RoPE and "
      "no biases; where it has other parts, weights and time are wrong";
  const char *word = orr_node_get_text(root, "model_type");
  g_autofree char *line = g_strdup_printf("model_type: %s", word ? word : "");
  add_effect(unmapped, effect, line);
}

char *orr_import_huggingface(const char *path, const char *name, char **ret_left_out,
                             char **ret_warnings, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) root = orr_huggingface_json_read(path, diags, error);
  if (!root) return NULL;
  g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
  const OrrHuggingfaceConfig outer = {root, used, diags};
  gboolean is_generic = FALSE;
  const OrrNode *text_config = inner_config(&outer);
  const OrrHuggingfaceType *type =
      orr_diags_n_errors(diags) ? NULL : find_type(&outer, text_config, &is_generic);
  if (!orr_diags_check(diags, error)) return NULL;
  const char *whole = type->model_type;
  g_autoptr(OrrNode) decoder =
      text_config ? with_defaults(text_config, root, &type, diags) : orr_node_copy(root);
  g_autoptr(OrrNode) model = orr_node_new_map((OrrPlace){0});
  g_autoptr(GString) left_out = g_string_new(NULL);
  g_autoptr(GPtrArray) effects = g_ptr_array_new();
  g_autoptr(GPtrArray) affected = g_ptr_array_new_with_free_func(free_string);
  g_autoptr(GString) formats = g_string_new(NULL);
  Unmapped unmapped = {left_out, effects, affected, formats};
  const OrrHuggingfaceConfig config = {decoder, used, diags};
  const Import import = {&config, type, model};
  name_document(&import, &outer, name, path);
  g_autoptr(OrrNode) quantization = quantization_of(&outer, &config, path);
  if (is_generic) warn_generic(root, &unmapped);
  const char *vision = orr_huggingface_pairs_take(&config, type, decoder);
  if (vision) add_effect(&unmapped, vision, "moe_intermediate_size");
  map_all(&import, count_layers(&import));
  map_headless(&import, root, &unmapped);
  if (text_config) add_left_out(&config, "text_config.", &unmapped);
  map_tower(&import, &outer, whole, &unmapped);
  add_left_out(&outer, "", &unmapped);
  map_effects(&import, effects);
  if (!orr_diags_n_errors(diags))
    check_document(model, quantization, path, unmapped.formats, diags);
  if (!orr_diags_check(diags, error)) return NULL;
  g_autofree char *warnings = warnings_text(&unmapped);
  char *text = document_text(model, warnings, left_out->str);
  *ret_warnings = g_steal_pointer(&warnings);
  *ret_left_out = g_string_free(g_steal_pointer(&left_out), FALSE);
  return text;
}

/*
 * huggingface_quantization.c - the format of a checkpoint's weights, from the quantization_config
 * of its config.json or from the hf_quant_config.json next to it.
 *
 *   method               what says the format                  what stays in 16 bits
 *   fp8, fbgemm_fp8      weight_block_size                     modules_to_not_convert,
 *                                                              ignored_layers
 *   compressed-tensors   config_groups: bits, type, groups,    ignore
 *                        activations, for modules `targets`
 *   modelopt             quant_algo, or quantized_layers of    ignore, exclude_modules
 *                        modules, or config_groups
 *   awq, gptq,           bits, group_size, zero_point, sym     modules_to_not_convert,
 *   auto-round                                                 dynamic "-:"
 *   mxfp4                the method                            modules_to_not_convert
 *   bitsandbytes         load_in_4bit, load_in_8bit            llm_int8_skip_modules
 *
 * Lists name modules: `model.layers.3.self_attn` and all below it, a part of a path (`self_attn`),
 * a shell pattern (`*.self_attn*`, ModelOpt), or a regular expression (`re:.*self_attn.*`,
 * compressed-tensors). They are asked about the matrices of each part of each layer, under the
 * names that model types give them. What then differs from layer to layer, and not only at the
 * ends, is reported, and counts as most layers do.
 *
 * Sources: transformers/utils/quantization_config.py; vllm/model_executor/layers/quantization
 * (fp8.py, modelopt.py, compressed_tensors, awq.py, gptq.py);
 * compressed_tensors/quantization/quant_config.py.
 */
#include "models/import_huggingface.h"

/* Entries beyond these are not read, and reported. */
enum { MOST_EXPRESSIONS = 64, MOST_PATTERNS = 4096, MOST_GROUPS = 16 };

/* --- names of modules --- */

typedef struct {
  char *text;
  gint64 layer; /* the only one whose modules it can match; -1: any */
} Pattern;

typedef struct {
  GHashTable *exact;      /* "layers.3.self_attn" */
  GPtrArray *parts;       /* "self_attn": any run of whole components */
  GArray *patterns;       /* Pattern */
  GPtrArray *expressions; /* GRegex * */
  gboolean all;
  guint left_out;
} Names;

static void clear_pattern(gpointer data) { g_free(((Pattern *)data)->text); }

static Names names_new(void) {
  Names names = {.exact = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                 .parts = g_ptr_array_new_with_free_func(g_free),
                 .patterns = g_array_new(FALSE, FALSE, sizeof(Pattern)),
                 .expressions = g_ptr_array_new_with_free_func((GDestroyNotify)g_regex_unref)};
  g_array_set_clear_func(names.patterns, clear_pattern);
  return names;
}

static void names_clear(Names *names) {
  g_hash_table_unref(names->exact);
  g_ptr_array_unref(names->parts);
  g_array_unref(names->patterns);
  g_ptr_array_unref(names->expressions);
}

/* "layers.3.mlp" of "language_model.model.layers.3.mlp"; NULL: @text names no layer. */
static const char *from_layer(const char *text) {
  const char *at = g_str_has_prefix(text, "layers.") ? text : strstr(text, ".layers.");
  if (at && *at == '.') at++;
  return at && g_ascii_isdigit(at[strlen("layers.")]) ? at : NULL;
}

static gint64 layer_of(const char *text) {
  const char *at = from_layer(text);
  char *end = NULL;
  const gint64 layer = at ? g_ascii_strtoll(at + strlen("layers."), &end, 10) : -1;
  return at && *end == '.' ? layer : -1;
}

/* A match gives up after some steps, so that no expression runs away. */
static void add_expression(Names *names, const char *text) {
  g_autofree char *limited = g_strconcat("(*LIMIT_MATCH=20000)", text, NULL);
  GRegex *expression = names->expressions->len < MOST_EXPRESSIONS
                           ? g_regex_new(limited, 0, G_REGEX_MATCH_ANCHORED, NULL)
                           : NULL;
  if (expression)
    g_ptr_array_add(names->expressions, expression);
  else
    names->left_out++;
}

static void add_name(Names *names, const char *text) {
  const char *layered = from_layer(text);
  if (g_str_has_prefix(text, "re:")) {
    add_expression(names, text + strlen("re:"));
  } else if (strcmp(text, "Linear") == 0) {
    names->all = TRUE;
  } else if (strpbrk(text, "*?")) {
    ORR_APPEND(names->patterns, Pattern, {g_strdup(text), layer_of(text)});
    ORR_APPEND(names->patterns, Pattern, {g_strconcat(text, ".*", NULL), layer_of(text)});
  } else if (layered) {
    g_hash_table_add(names->exact, g_strdup(layered));
  } else if (*text) {
    g_ptr_array_add(names->parts, g_strdup_printf(".%s.", text));
  }
}

static void add_list(Names *names, const OrrNode *list) {
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, list)) {
    if (item->kind != ORR_NODE_SCALAR) continue;
    if (names->parts->len + names->patterns->len < MOST_PATTERNS)
      add_name(names, item->text);
    else
      names->left_out++;
  }
}

static gboolean has_exact(const Names *names, const char *name) {
  g_autofree char *whole = g_strdup(name);
  for (char *dot; *whole; *dot = '\0') {
    if (g_hash_table_contains(names->exact, whole)) return TRUE;
    if (!(dot = strrchr(whole, '.'))) break;
  }
  return FALSE;
}

/* What stands before "layers." in the names of checkpoints. */
static const char *const roots[] = {"model.",    "language_model.model.", "model.language_model.",
                                    "backbone.", "transformer.",          ""};

static gboolean has_pattern(const Names *names, gint64 layer, const char *name) {
  for (guint r = 0; r < G_N_ELEMENTS(roots); r++) {
    g_autofree char *full = g_strconcat(roots[r], name, NULL);
    ORR_EACH(const Pattern, pattern, names->patterns)
      if ((pattern->layer < 0 || pattern->layer == layer) &&
          g_pattern_match_simple(pattern->text, full))
        return TRUE;
    for (guint i = 0; i < names->expressions->len; i++)
      if (g_regex_match(names->expressions->pdata[i], full, 0, NULL)) return TRUE;
  }
  return FALSE;
}

static gboolean has_name(const Names *names, gint64 layer, const char *name) {
  g_autofree char *dotted = g_strdup_printf(".%s.", name);
  if (names->all || has_exact(names, name)) return TRUE;
  for (guint i = 0; i < names->parts->len; i++)
    if (strstr(dotted, names->parts->pdata[i])) return TRUE;
  return (names->patterns->len || names->expressions->len) && has_pattern(names, layer, name);
}

/* --- matrices of a part --- */

enum { LATENT = 1, STATE = 2, OTHER = 4 };

/* The matrices of a part, each under all names that model types give it. */
static const struct {
  OrrQuantizedPart part;
  guint of; /* bits: the mixers that have it */
  const char *names;
} matrices[] = {
    {ORR_QUANTIZED_MIXER, OTHER, "self_attn.q_proj self_attn.qkv_proj attention.wq attn.c_attn"},
    {ORR_QUANTIZED_MIXER, OTHER, "self_attn.v_proj self_attn.qkv_proj attention.wv attn.c_attn"},
    {ORR_QUANTIZED_MIXER, LATENT, "self_attn.q_b_proj self_attn.q_proj"},
    {ORR_QUANTIZED_MIXER, LATENT, "self_attn.kv_b_proj"},
    {ORR_QUANTIZED_MIXER, LATENT | OTHER, "self_attn.o_proj attention.wo attn.c_proj"},
    {ORR_QUANTIZED_MIXER, STATE,
     "linear_attn.in_proj_qkvz linear_attn.in_proj_qkv mixer.in_proj mamba.in_proj"},
    {ORR_QUANTIZED_MIXER, STATE, "linear_attn.out_proj mixer.out_proj mamba.out_proj"},
    {ORR_QUANTIZED_FEED, 0,
     "mlp.up_proj mlp.gate_up_proj feed_forward.up_proj feed_forward.gate_up_proj mixer.up_proj "
     "mlp.fc1 mlp.w1"},
    {ORR_QUANTIZED_FEED, 0, "mlp.down_proj feed_forward.down_proj mixer.down_proj mlp.fc2 mlp.w2"},
    {ORR_QUANTIZED_SHARED, 0,
     "mlp.shared_experts.up_proj mlp.shared_expert.up_proj feed_forward.shared_expert.up_proj "
     "mixer.shared_experts.up_proj block_sparse_moe.shared_experts.up_proj"},
    {ORR_QUANTIZED_SHARED, 0,
     "mlp.shared_experts.down_proj mlp.shared_expert.down_proj "
     "feed_forward.shared_expert.down_proj mixer.shared_experts.down_proj "
     "block_sparse_moe.shared_experts.down_proj"},
    {ORR_QUANTIZED_EXPERTS, 0,
     "mlp.experts.0.up_proj mlp.experts.gate_up_proj block_sparse_moe.experts.0.w1 "
     "feed_forward.experts.0.up_proj feed_forward.experts.gate_up_proj mixer.experts.0.up_proj"},
    {ORR_QUANTIZED_EXPERTS, 0,
     "mlp.experts.0.down_proj mlp.experts.down_proj block_sparse_moe.experts.0.w2 "
     "feed_forward.experts.0.down_proj feed_forward.experts.down_proj mixer.experts.0.down_proj"},
};

static guint mixer_of(const OrrModel *model, OrrLayerKind kind) {
  if (kind.mixer == ORR_MIXER_MAMBA || kind.mixer == ORR_MIXER_LINEAR) return STATE;
  return model->mla.kv_rank > 0 ? LATENT : OTHER;
}

static gboolean has_part(const OrrModel *model, gint64 layer, OrrQuantizedPart part) {
  const OrrLayerKind kind = orr_model_kind(model, orr_model_layer_kind(model, layer));
  if (part == ORR_QUANTIZED_MIXER) return kind.mixer != ORR_MIXER_NONE;
  if (part == ORR_QUANTIZED_FEED) return kind.feed == ORR_FEED_DENSE;
  if (part == ORR_QUANTIZED_SHARED && model->moe.shared_ffn <= 0) return FALSE;
  return kind.feed == ORR_FEED_MOE;
}

/* How many of the matrices of a part @names has; @ret_n: of how many. */
static guint count_named(const Names *names, const OrrModel *model, gint64 layer,
                         OrrQuantizedPart part, guint *ret_n) {
  const guint mixer = mixer_of(model, orr_model_kind(model, orr_model_layer_kind(model, layer)));
  guint n = 0, named = 0;
  for (guint i = 0; i < G_N_ELEMENTS(matrices); i++) {
    if (matrices[i].part != part || (matrices[i].of && !(matrices[i].of & mixer))) continue;
    g_auto(GStrv) spellings = g_strsplit(matrices[i].names, " ", -1);
    gboolean found = FALSE;
    for (char **spelling = spellings; *spelling && !found; spelling++) {
      g_autofree char *name = g_strdup_printf("layers.%ld.%s", layer, *spelling);
      found = has_name(names, layer, name);
    }
    named += found;
    n++;
  }
  *ret_n = n;
  return named;
}

/* --- the reading --- */

typedef struct {
  Names targets;
  OrrQuantization word;
} Group;

typedef struct {
  const OrrNode *config;
  const OrrModel *model;
  GString *notes;
  Names plain;
  Group groups[MOST_GROUPS];
  guint n_groups;
} Reading;

static void G_GNUC_PRINTF(2, 3) note(const Reading *reading, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_string_append(reading->notes, "quantization_config: ");
  g_string_append_vprintf(reading->notes, format, values);
  g_string_append_c(reading->notes, '\n');
  va_end(values);
}

static const char *text_of(const OrrNode *map, const char *key) {
  const char *text = map && map->kind == ORR_NODE_MAP ? orr_node_get_text(map, key) : NULL;
  return text && strcmp(text, "null") != 0 ? text : "";
}

static gint64 number_of(const OrrNode *map, const char *key, gint64 fallback) {
  const char *text = text_of(map, key);
  return *text ? g_ascii_strtoll(text, NULL, 10) : fallback;
}

static gboolean is_true(const OrrNode *map, const char *key) {
  return g_ascii_strcasecmp(text_of(map, key), "true") == 0;
}

static const OrrNode *section_of(const OrrNode *map, const char *key) {
  const OrrNode *node = map && map->kind == ORR_NODE_MAP ? orr_node_get(map, key) : NULL;
  return node && node->kind != ORR_NODE_SCALAR ? node : NULL;
}

static Group *add_group(Reading *reading, OrrQuantization word) {
  if (word == ORR_QUANTIZATION_NONE) return NULL;
  if (reading->n_groups == MOST_GROUPS) {
    note(reading, "more than %d groups: the others are counted in 16 bits", MOST_GROUPS);
    return NULL;
  }
  Group *group = &reading->groups[reading->n_groups++];
  *group = (Group){names_new(), word};
  return group;
}

static void add_all(Reading *reading, OrrQuantization word) {
  Group *group = add_group(reading, word);
  if (group) group->targets.all = TRUE;
}

/* Whole numbers of @bits in groups of @size, which only weights have unless @both. */
static OrrQuantization integers(const Reading *reading, gint64 bits, gint64 size, gboolean has_zero,
                                gboolean both) {
  if (bits == 8) return both ? ORR_QUANTIZATION_INT8 : ORR_QUANTIZATION_INT8_WEIGHTS;
  if (bits != 4) {
    note(reading, "weights of %ld bits are not known: counted in 16", bits);
    return ORR_QUANTIZATION_NONE;
  }
  if (both) note(reading, "products of 4-bit weights and 8-bit inputs are counted in 16 bits");
  if (size == 32 && !has_zero) return ORR_QUANTIZATION_INT4_32;
  if (size != 128 && size > 0) note(reading, "groups of %ld are counted as groups of 128", size);
  return has_zero ? ORR_QUANTIZATION_AWQ : ORR_QUANTIZATION_GPTQ;
}

/* Floating-point weights of @bits in groups of @size; @inputs: bits of the activations, 0 where
 * they are not quantized. */
static OrrQuantization floats(const Reading *reading, gint64 bits, gint64 size, gboolean in_blocks,
                              gint64 inputs) {
  const gboolean both = inputs == bits;
  if (bits == 8 && in_blocks) return ORR_QUANTIZATION_FP8_BLOCK;
  if (bits == 8) return both ? ORR_QUANTIZATION_FP8 : ORR_QUANTIZATION_FP8_WEIGHTS;
  if (bits == 4 && inputs > 0 && !both)
    note(reading, "products of 4-bit weights and %ld-bit inputs are counted in 16 bits", inputs);
  if (bits == 4 && size == 32) return both ? ORR_QUANTIZATION_MXFP4_W4A4 : ORR_QUANTIZATION_MXFP4;
  if (bits == 4) return both ? ORR_QUANTIZATION_NVFP4 : ORR_QUANTIZATION_NVFP4_WEIGHTS;
  note(reading, "floating-point weights of %ld bits are not known: counted in 16", bits);
  return ORR_QUANTIZATION_NONE;
}

/* A group of compressed-tensors. */
static OrrQuantization group_word(const Reading *reading, const OrrNode *group) {
  const OrrNode *weights = section_of(group, "weights");
  const OrrNode *input = section_of(group, "input_activations");
  const gint64 bits = number_of(weights, "num_bits", 8), size = number_of(weights, "group_size", 0);
  if (!weights) return ORR_QUANTIZATION_NONE;
  if (strcmp(text_of(weights, "type"), "float") == 0)
    return floats(reading, bits, size, strcmp(text_of(weights, "strategy"), "block") == 0,
                  input ? number_of(input, "num_bits", bits) : 0);
  return integers(reading, bits, size, strcmp(text_of(weights, "symmetric"), "false") == 0,
                  input != NULL);
}

static void read_groups(Reading *reading) {
  const OrrNode *groups = section_of(reading->config, "config_groups");
  ORR_EACH_ITEM(one, orr_node_as(ORR_NODE_MAP, groups)) {
    const OrrNode *targets = section_of(one, "targets");
    Group *group = add_group(reading, group_word(reading, one));
    if (group && targets) add_list(&group->targets, targets);
    if (group && !targets) group->targets.all = TRUE;
  }
  if (reading->n_groups == 0 && *text_of(reading->config, "format"))
    note(reading, "format %.60s without a known group", text_of(reading->config, "format"));
}

/* ModelOpt's algorithms: modelopt/torch/export/quant_utils.py. */
static OrrQuantization algorithm(const Reading *reading, const char *text) {
  static const struct {
    const char *name;
    OrrQuantization word;
  } known[] = {{"FP8", ORR_QUANTIZATION_FP8},
               {"FP8_PER_CHANNEL_PER_TOKEN", ORR_QUANTIZATION_FP8},
               {"FP8_PB_WO", ORR_QUANTIZATION_FP8_BLOCK},
               {"FP8_PB_REAL", ORR_QUANTIZATION_FP8_BLOCK},
               {"INT8_SQ", ORR_QUANTIZATION_INT8},
               {"W8A8_SQ_PER_CHANNEL", ORR_QUANTIZATION_INT8},
               {"W8A16", ORR_QUANTIZATION_INT8_WEIGHTS},
               {"W4A16", ORR_QUANTIZATION_GPTQ},
               {"W4A16_GPTQ", ORR_QUANTIZATION_GPTQ},
               {"W4A16_AWQ", ORR_QUANTIZATION_AWQ},
               {"NVFP4", ORR_QUANTIZATION_NVFP4},
               {"NVFP4_AWQ", ORR_QUANTIZATION_NVFP4},
               {"NVFP4_SVD", ORR_QUANTIZATION_NVFP4},
               {"W4A16_NVFP4", ORR_QUANTIZATION_NVFP4_WEIGHTS},
               {"MXFP4", ORR_QUANTIZATION_MXFP4},
               {"W4A16_MXFP4", ORR_QUANTIZATION_MXFP4}};
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (g_ascii_strcasecmp(text, known[i].name) == 0) return known[i].word;
  note(reading, "algorithm %.60s is not known: counted in 16 bits", text);
  return ORR_QUANTIZATION_NONE;
}

/* {"model.layers.0.mlp.up_proj": {"quant_algo": "FP8"}, ...}: a group for each algorithm. */
static void read_layers(Reading *reading, const OrrNode *layers) {
  g_autoptr(GHashTable) groups = g_hash_table_new(g_str_hash, g_str_equal);
  ORR_EACH_PAIR(key, value, layers) {
    const char *text = text_of(value, "quant_algo");
    gpointer found = NULL;
    if (!g_hash_table_lookup_extended(groups, text, NULL, &found)) {
      found = add_group(reading, algorithm(reading, text));
      g_hash_table_insert(groups, (char *)text, found);
    }
    if (found) add_name(&((Group *)found)->targets, key->text);
  }
}

static void read_modelopt(Reading *reading) {
  const char *text = text_of(reading->config, "quant_algo");
  const OrrNode *layers = section_of(reading->config, "quantized_layers");
  if (layers)
    read_layers(reading, layers);
  else if (*text)
    add_all(reading, algorithm(reading, text));
  else
    read_groups(reading);
}

/* "fp4", "fp8_e4m3", "int8", "uint4": the bits of a Quark dtype; 0: none. */
static gint64 quark_bits(const OrrNode *tensor) {
  const char *digits = strpbrk(text_of(tensor, "dtype"), "0123456789");
  return digits ? g_ascii_strtoll(digits, NULL, 10) : 0;
}

/* AMD Quark: {"weight": {"dtype": "fp4", "group_size": 32}, "input_tensors": {"dtype": "fp4"}}. */
static void read_quark(Reading *reading) {
  const OrrNode *config = section_of(reading->config, "global_quant_config");
  const OrrNode *weight = section_of(config, "weight");
  const char *dtype = text_of(weight, "dtype");
  const gint64 bits = quark_bits(weight), size = number_of(weight, "group_size", 0);
  const gint64 inputs = quark_bits(section_of(config, "input_tensors"));
  ORR_EACH_KEY(key, section_of(reading->config, "layer_quant_config"))
    note(reading, "layer_quant_config: '%.60s' is counted as the others", key->text);
  if (strstr(dtype, "fp"))
    add_all(reading, floats(reading, bits, size, FALSE, inputs));
  else if (strstr(dtype, "int"))
    add_all(reading, integers(reading, bits, size, dtype[0] == 'u', inputs > 0));
  else
    note(reading, "global_quant_config: weights of dtype '%.60s' are counted in 16 bits", dtype);
}

static void read_fp8(Reading *reading) {
  add_all(reading, section_of(reading->config, "weight_block_size") ? ORR_QUANTIZATION_FP8_BLOCK
                                                                    : ORR_QUANTIZATION_FP8);
}

static void read_integers(Reading *reading) {
  const OrrNode *config = reading->config, *dynamic = section_of(config, "dynamic");
  const gboolean has_zero =
      is_true(config, "zero_point") || strcmp(text_of(config, "sym"), "false") == 0;
  const gint64 bits = number_of(config, "bits", number_of(config, "w_bit", 4));
  const gint64 size = number_of(config, "group_size", number_of(config, "q_group_size", 128));
  add_all(reading, integers(reading, bits, size, has_zero, FALSE));
  ORR_EACH_KEY(key, dynamic) {
    if (g_str_has_prefix(key->text, "-:"))
      add_expression(&reading->plain, key->text + strlen("-:"));
    else
      note(reading, "dynamic: other bits for '%.60s' are counted as the bits of all", key->text);
  }
  if (is_true(config, "lm_head")) note(reading, "lm_head: the output layer is counted in 16 bits");
}

static void read_mxfp4(Reading *reading) { add_all(reading, ORR_QUANTIZATION_MXFP4); }

static void read_bits_and_bytes(Reading *reading) {
  const gboolean narrow =
      is_true(reading->config, "load_in_4bit") || is_true(reading->config, "_load_in_4bit");
  add_all(reading, narrow ? ORR_QUANTIZATION_NF4 : ORR_QUANTIZATION_INT8);
}

static const struct {
  const char *method;
  void (*read)(Reading *reading);
} methods[] = {{"fp8", read_fp8},
               {"fbgemm_fp8", read_fp8},
               {"compressed-tensors", read_groups},
               {"modelopt", read_modelopt},
               {"modelopt_fp4", read_modelopt},
               {"awq", read_integers},
               {"gptq", read_integers},
               {"auto-round", read_integers},
               {"mxfp4", read_mxfp4},
               {"quark", read_quark},
               {"bitsandbytes", read_bits_and_bytes}};

static void read_method(Reading *reading) {
  const char *method = text_of(reading->config, "quant_method");
  if (!*method && *text_of(reading->config, "quant_algo")) method = "modelopt";
  for (guint i = 0; i < G_N_ELEMENTS(methods); i++)
    if (g_ascii_strcasecmp(methods[i].method, method) == 0) {
      methods[i].read(reading);
      return;
    }
  note(reading,
       "method '%.60s' is not known: weights are counted in 16 bits; set workload.quantization",
       method);
}

static void read_plain(Reading *reading) {
  static const char *const keys[] = {"modules_to_not_convert", "ignored_layers",        "ignore",
                                     "exclude_modules",        "llm_int8_skip_modules", "exclude"};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    add_list(&reading->plain, section_of(reading->config, keys[i]));
}

/* --- which part is in which format --- */

static OrrQuantization format_of(const Reading *reading, gint64 layer, OrrQuantizedPart part,
                                 gboolean *ret_partly) {
  guint n = 0;
  const guint plain = count_named(&reading->plain, reading->model, layer, part, &n);
  if (plain == n) return ORR_QUANTIZATION_NONE;
  if (plain > 0) *ret_partly = TRUE;
  for (guint i = 0; i < reading->n_groups; i++)
    if (count_named(&reading->groups[i].targets, reading->model, layer, part, &n) > 0)
      return reading->groups[i].word;
  return ORR_QUANTIZATION_NONE;
}

/* By layer and part; -1: the layer has no such part. */
typedef gint8 LayerFormats[ORR_N_QUANTIZED_PARTS];

static LayerFormats *all_formats(const Reading *reading) {
  const gint64 layers = reading->model->layers;
  LayerFormats *formats = g_new(LayerFormats, layers);
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++) {
    gboolean partly = FALSE;
    for (gint64 layer = 0; layer < layers; layer++)
      formats[layer][part] = has_part(reading->model, layer, part)
                                 ? (gint8)format_of(reading, layer, (OrrQuantizedPart)part, &partly)
                                 : -1;
    if (partly)
      note(reading, "some matrices of %s are in 16 bits: counted as the others",
           orr_quantized_part_words[part]);
  }
  return formats;
}

static gboolean is_plain(const LayerFormats *formats) {
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++)
    if ((*formats)[part] > ORR_QUANTIZATION_NONE) return FALSE;
  return TRUE;
}

/* The format of most layers of [first, end) that have @part; -1: none has. */
static int usual(const Reading *reading, const LayerFormats *formats, guint part, gint64 first,
                 gint64 end) {
  gint64 n[ORR_N_QUANTIZATIONS] = {0}, all = 0;
  int most = ORR_QUANTIZATION_NONE;
  for (gint64 layer = first; layer < end; layer++) {
    if (formats[layer][part] < 0) continue;
    n[formats[layer][part]]++;
    all++;
  }
  for (int word = 0; word < ORR_N_QUANTIZATIONS; word++)
    if (n[word] > n[most]) most = word;
  if (n[most] < all)
    note(reading, "%s is in %s in %ld of %ld layers: counted so in all of them",
         orr_quantized_part_words[part], orr_quantization_words[most], n[most], all);
  return all > 0 ? most : -1;
}

/* The word of the largest part that is narrow. */
static OrrQuantization main_word(const int *words) {
  static const OrrQuantizedPart by_size[] = {ORR_QUANTIZED_EXPERTS, ORR_QUANTIZED_FEED,
                                             ORR_QUANTIZED_SHARED, ORR_QUANTIZED_MIXER};
  for (guint i = 0; i < G_N_ELEMENTS(by_size); i++)
    if (words[by_size[i]] > ORR_QUANTIZATION_NONE) return (OrrQuantization)words[by_size[i]];
  return ORR_QUANTIZATION_NONE;
}

static void write_checkpoint(OrrNode *document, const int *words, gint64 first, gint64 last) {
  static const OrrWeightFormats nothing;
  const OrrQuantization word = main_word(words);
  OrrNode *checkpoint = orr_node_new_map((OrrPlace){0}), *weights = orr_node_new_map((OrrPlace){0});
  orr_huggingface_config_set_text(checkpoint, "quantization", orr_quantization_words[word]);
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++)
    if (words[part] >= 0 && orr_quantized_part(word, &nothing, (OrrQuantizedPart)part) !=
                                orr_quantized((OrrQuantization)words[part]))
      orr_huggingface_config_set_text(weights, orr_quantized_part_words[part],
                                      orr_quantization_words[words[part]]);
  if (first > 0) orr_huggingface_config_set_number(weights, "plain-first", first);
  if (last > 0) orr_huggingface_config_set_number(weights, "plain-last", last);
  if (orr_node_length(weights) > 0)
    orr_node_set(checkpoint, "weights", weights);
  else
    orr_node_free(weights);
  orr_node_set(document, "checkpoint", checkpoint);
}

static void settle(const Reading *reading, OrrNode *document) {
  const gint64 layers = reading->model->layers;
  g_autofree LayerFormats *formats = all_formats(reading);
  gint64 first = 0, end = layers;
  int words[ORR_N_QUANTIZED_PARTS];
  while (first < layers && is_plain(&formats[first])) first++;
  while (end > first && is_plain(&formats[end - 1])) end--;
  if (first == layers) return;
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++)
    words[part] = usual(reading, formats, part, first, end);
  write_checkpoint(document, words, first, layers - end);
}

void orr_huggingface_quantization(const OrrNode *config, const OrrModel *model, OrrNode *document,
                                  GString *notes) {
  const OrrNode *inner = section_of(config, "quantization");
  Reading reading = {
      .config = inner ? inner : config, .model = model, .notes = notes, .plain = names_new()};
  read_plain(&reading);
  read_method(&reading);
  if (reading.n_groups > 0) settle(&reading, document);
  if (reading.plain.left_out > 0)
    note(&reading, "%u entries of its list of modules are not read", reading.plain.left_out);
  if (section_of(reading.config, "kv_cache_scheme") ||
      *text_of(reading.config, "kv_cache_quant_algo"))
    note(&reading, "the cache's format is the server's option here: set workload.kv-dtype");
  names_clear(&reading.plain);
  for (guint i = 0; i < reading.n_groups; i++) names_clear(&reading.groups[i].targets);
}

/*
 * dialect_megatron_model.c - the model of a Megatron launch line, from its dimensions.
 *
 * Defaults are Megatron-LM's (megatron/training/arguments.py): ffn 4 h, or under --swiglu
 * floor(4 h 2/3 / 64) 64; head h / heads; vocabulary padded to a multiple of 128 tp. A model of the
 * library that agrees takes their place (dialect_megatron_library.c).
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_megatron;

#include "sim/import/launch/own_keys.inc"

/* The dimensions that a launch line always decides. 0: unknown. */
typedef struct {
  gint64 layers, hidden, heads, kv_heads, ffn, vocab;
  gint64 experts, topk, expert_ffn, kv_rank;
} Shape;

/* Sets a line from the setting of @key, or with a remark where the input does not have it. */
static void set(OrrLaunchDraft *draft, const char *path, const char *value, const char *key,
                const char *remark) {
  const OrrLaunchSetting *source = key ? find(draft, key) : NULL;
  orr_launch_draft_set(draft, path, value, source, source ? NULL : remark);
}

static void set_number(OrrLaunchDraft *draft, const char *path, gint64 value, const char *key,
                       const char *remark) {
  g_autofree char *text = g_strdup_printf("%ld", value);
  set(draft, path, text, key, remark);
}

/* --- Dimensions --- */

/* Tokens of tokenizers whose size is fixed. 0: not known. */
static gint64 tokenizer_size(OrrLaunchDraft *draft) {
  static const struct {
    const char *name;
    gint64 size;
  } sizes[] = {
      {"gpt2bpetokenizer", 50257}, {"llama2tokenizer", 32000}, {"bertwordpiecelowercase", 30522}};
  const char *type = orr_launch_draft_value(draft, own, "tokenizer-type");
  g_autofree char *lower = type ? g_ascii_strdown(type, -1) : NULL;
  for (guint i = 0; lower && i < G_N_ELEMENTS(sizes); i++)
    if (strcmp(lower, sizes[i].name) == 0) return sizes[i].size;
  return 0;
}

/* Megatron's vocab_size_with_padding. */
static gint64 padded_vocab(OrrLaunchDraft *draft, gint64 size) {
  const gint64 multiple = number(draft, "make-vocab-size-divisible-by", 128) *
                          number(draft, "tensor-model-parallel-size", 1);
  return multiple > 0 ? (size + multiple - 1) / multiple * multiple : size;
}

static gint64 vocab_of(OrrLaunchDraft *draft) {
  const gint64 padded = number(draft, "padded-vocab-size", number(draft, "pad-vocab-size-to", 0));
  if (padded) return padded;
  const gint64 size = number(draft, "vocab-size", 0);
  return padded_vocab(draft, size ? size : tokenizer_size(draft));
}

static gint64 ffn_of(OrrLaunchDraft *draft, gint64 hidden) {
  const gint64 gated = hidden * 8 / 3 / 64 * 64;
  return number(draft, "ffn-hidden-size", is_on(draft, "swiglu") ? gated : 4 * hidden);
}

static Shape shape_of(OrrLaunchDraft *draft) {
  Shape shape = {.layers = number(draft, "num-layers", 0),
                 .hidden = number(draft, "hidden-size", 0),
                 .heads = number(draft, "num-attention-heads", 0),
                 .experts = number(draft, "num-experts", 0),
                 .vocab = vocab_of(draft)};
  if (!shape.layers) shape.layers = orr_dialect_megatron_hybrid_layers(draft);
  shape.kv_heads =
      is_on(draft, "group-query-attention") ? number(draft, "num-query-groups", 1) : shape.heads;
  shape.kv_heads = number(draft, "num-key-value-heads", shape.kv_heads); /* Megatron-DeepSpeed */
  shape.ffn = ffn_of(draft, shape.hidden);
  if (shape.experts > 0) {
    shape.topk = number(draft, "moe-router-topk", 2);
    shape.expert_ffn = number(draft, "moe-ffn-hidden-size", shape.ffn);
  }
  if (is_on(draft, "multi-latent-attention")) shape.kv_rank = number(draft, "kv-lora-rank", 32);
  return shape;
}

static gint64 member(const OrrNode *map, const char *key, gint64 fallback) {
  double value = 0;
  const char *text = map ? orr_node_get_text(map, key) : NULL;
  return text && orr_quantity_parse(text, ORR_UNIT_NONE, &value, NULL) ? (gint64)value : fallback;
}

/* --- Layers with experts --- */

/* A pattern in Python's terms, "([0]*3+[1]*58)": appends 0s and 1s. */
typedef struct {
  const char *at;
  guint depth;
} Pattern;

enum { MOST_LAYERS = 100000 };

static gboolean read_sum(Pattern *pattern, GArray *out);

static void skip(Pattern *pattern) { pattern->at += strspn(pattern->at, " \t"); }

static gboolean read_list(Pattern *pattern, GArray *out) {
  for (pattern->at++; *pattern->at && *pattern->at != ']';) {
    char *end = NULL;
    const gint64 value = g_ascii_strtoll(pattern->at, &end, 10);
    if (end == pattern->at) return FALSE;
    g_array_append_val(out, value);
    pattern->at = end;
    pattern->at += strspn(pattern->at, " ,");
  }
  return *pattern->at++ == ']';
}

static gboolean read_bracket(Pattern *pattern, GArray *out) {
  pattern->at++;
  if (!read_sum(pattern, out)) return FALSE;
  skip(pattern);
  return *pattern->at++ == ')';
}

static gboolean read_product(Pattern *pattern, GArray *out) {
  const guint first = out->len;
  skip(pattern);
  if (++pattern->depth > 32) return FALSE;
  if (*pattern->at != '[' && *pattern->at != '(') return FALSE;
  if (!(*pattern->at == '[' ? read_list(pattern, out) : read_bracket(pattern, out))) return FALSE;
  for (skip(pattern); *pattern->at == '*'; skip(pattern)) {
    char *end = NULL;
    const gint64 times = g_ascii_strtoll(pattern->at + 1, &end, 10);
    const guint n = out->len - first;
    if (times < 1 || times * (gint64)n > MOST_LAYERS) return FALSE;
    g_autofree gint64 *part = g_memdup2(&g_array_index(out, gint64, first), n * sizeof(gint64));
    for (gint64 i = 1; i < times; i++) g_array_append_vals(out, part, n);
    pattern->at = end;
  }
  pattern->depth--;
  return TRUE;
}

static gboolean read_sum(Pattern *pattern, GArray *out) {
  if (!read_product(pattern, out)) return FALSE;
  for (skip(pattern); *pattern->at == '+'; skip(pattern)) {
    pattern->at++;
    if (!read_product(pattern, out)) return FALSE;
  }
  return TRUE;
}

/* "3 attention+dense, 58 attention+moe" from 0s and 1s. */
static char *layout_of(const GArray *layers) {
  GString *text = g_string_new("[");
  for (guint i = 0, n = 0; i < layers->len; i += n) {
    const gint64 is_moe = g_array_index(layers, gint64, i);
    for (n = 1; i + n < layers->len && g_array_index(layers, gint64, i + n) == is_moe;) n++;
    g_string_append_printf(text, "%s%u attention+%s", i ? ", " : "", n, is_moe ? "moe" : "dense");
  }
  g_string_append_c(text, ']');
  return g_string_free(text, FALSE);
}

/* Of each layer of @n_layers whether it has experts, by the setting; NULL: the input does not say
 * so, or in wrong words, which are an error. */
static GArray *moe_layers(OrrLaunchDraft *draft, const OrrLaunchSetting *setting, gint64 n_layers) {
  if (!setting || !setting->value || setting->is_unresolved || n_layers < 1 ||
      n_layers > MOST_LAYERS)
    return NULL;
  g_autoptr(GArray) layers = g_array_new(FALSE, FALSE, sizeof(gint64));
  char *end = NULL;
  const gint64 every = g_ascii_strtoll(setting->value, &end, 10);
  Pattern pattern = {.at = setting->value};
  if (end > setting->value && !*end && every > 0) {
    for (gint64 i = 0; i < n_layers; i++) ORR_APPEND(layers, gint64, i % every == 0);
  } else if (!read_sum(&pattern, layers) || *pattern.at || layers->len != n_layers) {
    orr_launch_draft_bad(draft, setting, "'%s' is neither a number nor a list of %ld layers",
                         setting->value, n_layers);
    return NULL;
  }
  return g_steal_pointer(&layers);
}

/* Whether the layers of @model with experts are @layers. @ret_is_plain: all its mixers are
 * attention, so that `layout_of` can take the layout's place. */
static gboolean has_layers(const OrrNode *model, const GArray *layers, gboolean *ret_is_plain) {
  const OrrNode *list = orr_node_get(model, "layout");
  g_autoptr(GArray) round = g_array_new(FALSE, FALSE, sizeof(gint64)); /* it repeats */
  *ret_is_plain = TRUE;
  ORR_EACH_ITEM(item, list) {
    const char *text = item->text;
    const gint64 is_moe = strstr(text, "moe") != NULL;
    const gint64 n = g_ascii_isdigit(*text) ? g_ascii_strtoll(text, NULL, 10) : 1;
    if (!strstr(text, "attention+")) *ret_is_plain = FALSE;
    for (gint64 k = 0; k < n && k < MOST_LAYERS; k++) g_array_append_val(round, is_moe);
  }
  for (guint i = 0; i < layers->len; i++) {
    const gint64 own_is_moe = round->len ? g_array_index(round, gint64, i % round->len) : 1;
    if (own_is_moe != (g_array_index(layers, gint64, i) != 0)) return FALSE;
  }
  return TRUE;
}

/* Sets the layout of a model whose experts are in every layer where nothing is said. */
static void set_layout(OrrLaunchDraft *draft, gint64 n_layers) {
  const OrrLaunchSetting *setting = find(draft, "moe-layer-freq");
  g_autoptr(GArray) layers = moe_layers(draft, setting, n_layers);
  gboolean is_plain = TRUE;
  g_autoptr(OrrNode) every = orr_node_new_map((OrrPlace){0});
  if (!layers || has_layers(every, layers, &is_plain)) return;
  g_autofree char *text = layout_of(layers);
  orr_launch_draft_set(draft, "model.layout", text, setting, NULL);
}

/* Warns where the launch line has experts in other layers than @model, which something else
 * names. */
static void judge_layout(OrrLaunchDraft *draft, const OrrNode *model) {
  OrrLaunchSetting *setting = find(draft, "moe-layer-freq");
  const gboolean has_experts = member(orr_node_get(model, "moe"), "experts", 0) > 0;
  g_autoptr(GArray) layers = moe_layers(draft, setting, member(model, "layers", 0));
  gboolean is_plain = TRUE;
  if (!layers || (has_experts && has_layers(model, layers, &is_plain))) return;
  if (has_experts)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "layers with experts other than the model's, which stay");
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the model has no experts");
}

/* --- A model of its own --- */

static void set_moe(OrrLaunchDraft *draft, const Shape *shape) {
  const gint64 shared = number(draft, "moe-shared-expert-intermediate-size", 0);
  OrrLaunchSetting *layers = find(draft, "moe-layer-freq");
  if (shape->experts == 0 && layers)
    orr_launch_draft_judge(draft, layers, ORR_LAUNCH_IRRELEVANT, "the model has no experts");
  if (shape->experts == 0) return;
  set_number(draft, "model.moe.experts", shape->experts, "num-experts", NULL);
  set_number(draft, "model.moe.topk", shape->topk, "moe-router-topk", "Megatron's default");
  set_number(draft, "model.moe.ffn", shape->expert_ffn, "moe-ffn-hidden-size",
             "Megatron's default: ffn-hidden-size");
  if (shared)
    set_number(draft, "model.moe.shared-ffn", shared, "moe-shared-expert-intermediate-size", NULL);
  set_layout(draft, shape->layers);
}

static void set_mla(OrrLaunchDraft *draft) {
  static const struct {
    const char *key, *path;
    gint64 fallback;
  } ranks[] = {{"q-lora-rank", "model.mla.q-lora-rank", 0},
               {"kv-lora-rank", "model.mla.kv-lora-rank", 32},
               {"qk-head-dim", "model.mla.qk-nope-head-dim", 128},
               {"qk-pos-emb-head-dim", "model.mla.qk-rope-head-dim", 64},
               {"v-head-dim", "model.mla.v-head-dim", 128}};
  if (!is_on(draft, "multi-latent-attention")) return;
  for (guint i = 0; i < G_N_ELEMENTS(ranks); i++)
    set_number(draft, ranks[i].path, number(draft, ranks[i].key, ranks[i].fallback), ranks[i].key,
               "Megatron's default");
}

static const char *position_of(OrrLaunchDraft *draft) {
  static const OrrLaunchWordPair types[] = {{"rope", "rope"},   {"mrope", "rope"}, {"yarn", "rope"},
                                            {"alibi", "alibi"}, {"none", "none"},  {NULL, NULL}};
  const char *type = orr_launch_draft_value(draft, own, "position-embedding-type");
  const char *ours = orr_launch_config_word(types, type);
  if (is_on(draft, "use-rotary-position-embeddings")) return "rope";
  if (is_on(draft, "no-position-embedding")) return "none";
  return ours ? ours : "learned";
}

static void set_kinds(OrrLaunchDraft *draft) {
  const char *norm = orr_launch_draft_value(draft, own, "normalization");
  const char *position = position_of(draft);
  const gboolean is_gated = is_on(draft, "swiglu"),
                 is_geglu = is_on(draft, "quick-geglu") || is_on(draft, "geglu");
  set(draft, "model.activation",
      is_gated                       ? "swiglu"
      : is_geglu                     ? "geglu"
      : is_on(draft, "squared-relu") ? "squared-relu"
                                     : "gelu",
      is_gated ? "swiglu" : "squared-relu", "Megatron's default");
  set(draft, "model.norm",
      norm && g_ascii_strcasecmp(norm, "rmsnorm") == 0 ? "rmsnorm" : "layernorm", "normalization",
      "Megatron's default");
  set(draft, "model.position", position, "position-embedding-type",
      strcmp(position, "learned") == 0 ? "Megatron's default" : "a switch of the launch line");
  set(draft, "model.tied-embeddings",
      is_on(draft, "untie-embeddings-and-output-weights") ? "false" : "true",
      "untie-embeddings-and-output-weights", "Megatron's default");
  set(draft, "model.bias", is_on(draft, "disable-bias-linear") ? "false" : "true",
      "disable-bias-linear", "Megatron's default");
  if (is_on(draft, "add-qkv-bias")) set(draft, "model.qkv-bias", "true", "add-qkv-bias", NULL);
  if (is_on(draft, "qk-layernorm")) set(draft, "model.qk-norm", "true", "qk-layernorm", NULL);
}

static void set_dimensions(OrrLaunchDraft *draft, const Shape *shape) {
  const gint64 channels = number(draft, "kv-channels", 0), mtp = number(draft, "mtp-num-layers", 0);
  const gint64 sequence = MAX(number(draft, "seq-length", 0), 1); /* slime's have none */
  set(draft, "model.name", "from-the-launch-line", NULL, NULL);
  set_number(draft, "model.layers", shape->layers, "num-layers", NULL);
  set_number(draft, "model.hidden", shape->hidden, "hidden-size", NULL);
  set_number(draft, "model.heads", shape->heads, "num-attention-heads", NULL);
  if (shape->kv_heads != shape->heads)
    set_number(draft, "model.kv-heads", shape->kv_heads, "num-query-groups", NULL);
  if (channels) set_number(draft, "model.head-dim", channels, "kv-channels", NULL);
  set_number(draft, "model.ffn", shape->ffn, "ffn-hidden-size", "Megatron's default");
  if (shape->vocab)
    set_number(draft, "model.vocab", shape->vocab, "vocab-size", "of the tokenizer, padded");
  set_number(draft, "model.context", number(draft, "max-position-embeddings", sequence),
             "max-position-embeddings", "seq-length");
  if (mtp) set_number(draft, "model.mtp-layers", mtp, "mtp-num-layers", NULL);
}

/* Says where the launch line has other dimensions than @model, which a setting names. */
static void judge_dimensions(OrrLaunchDraft *draft, const OrrNode *model, const char *name) {
  static const char *const pairs[][2] = {
      {"num-layers", "layers"}, {"hidden-size", "hidden"}, {"num-attention-heads", "heads"}};
  if (draft->options->model) return; /* who asks knows */
  for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
    OrrLaunchSetting *setting = find(draft, pairs[i][0]);
    const gint64 theirs = member(model, pairs[i][1], 0);
    if (setting && theirs > 0 && number(draft, pairs[i][0], theirs) != theirs)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "%s, which the input names, has %ld", name, theirs);
  }
}

/* The model that something else names: --model, or a recipe. TRUE: there is one. */
static gboolean has_named_model(OrrLaunchDraft *draft) {
  const char *name = orr_launch_draft_options(draft)->model;
  if (!name) name = orr_launch_draft_get(draft, "model");
  if (!name) name = orr_launch_draft_get(draft, "model.base");
  g_autofree char *path =
      name ? orr_library_path(orr_launch_draft_library(draft), "model", name) : NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const OrrNode *model = path ? orr_library_borrow(orr_launch_draft_library(draft), "model", name,
                                                   (OrrPlace){0}, ignored)
                              : NULL;
  if (model) judge_layout(draft, model);
  if (model) judge_dimensions(draft, model, name);
  return name != NULL;
}

void orr_dialect_megatron_model(OrrLaunchDraft *draft) {
  Shape shape = shape_of(draft);
  if (has_named_model(draft)) return;
  const gboolean is_bare = !shape.layers && !shape.hidden && !shape.heads;
  if (is_bare && !draft->options->strict) return; /* it names no model: one is assumed */
  if (!shape.layers || !shape.hidden || !shape.heads) {
    draft->asks_model = TRUE;
    orr_launch_draft_ask(draft, "which model? The launch line lacks --num-layers, --hidden-size or "
                                "--num-attention-heads: add --model NAME");
    return;
  }
  set_dimensions(draft, &shape);
  set_kinds(draft);
  set_mla(draft);
  set_moe(draft, &shape);
  orr_dialect_megatron_hybrid(draft);
  if (orr_dialect_megatron_library(draft) || shape.vocab) return;
  orr_launch_draft_assume_count(draft, "model.vocab", padded_vocab(draft, 50257),
                                "GPT-2's 50,257 padded, since the input has no size of its "
                                "vocabulary",
                                "how large is the vocabulary? The input does not say: add --model "
                                "NAME, or --vocab-size to the line");
}

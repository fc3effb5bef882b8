/*
 * model.c - a model's document: its fields, their defaults, and the checks.
 *
 * Invariant: after orr_model_settle without a finding, kv_heads, head_dim, ffn and moe.ffn are
 * positive, kv_heads divides heads, and every kind of layer in `settled` has the section it needs.
 */
#include "models/model.h"

const char *const orr_recompute_words[] = {"none", "selective", "full", "operators", NULL};
const char *const orr_activation_words[] = {"gelu", "swiglu",       "geglu",
                                            "relu", "squared-relu", NULL};

static const char *const norm_words[] = {"layernorm", "rmsnorm", NULL};
const char *const orr_position_words[] = {"learned", "rope", "alibi", "none", NULL};
static const char *const linear_words[] = {"lightning", "gated-delta", "kimi-delta", "rwkv-7",
                                           NULL};

#define SIZE(type_, name_, member_, fallback_, most_, sentence_)                                   \
  ORR_FIELD_INT(type_, name_, member_, fallback_, sentence_, .min = 0, .max = most_)
#define NEEDED(type_, name_, member_, most_, sentence_)                                            \
  ORR_FIELD_INT(type_, name_, member_, NULL, sentence_, .min = 1, .max = most_)
#define PART(name_, member_, table_, sentence_)                                                    \
  ORR_FIELD_SECTION(OrrModel, name_, member_, &table_, "{}", sentence_)
#define COUNT(name_, member_, sentence_)                                                           \
  ORR_FIELD_REAL(OrrModel, name_, member_, ORR_UNIT_NONE, "0", sentence_,                          \
                 .flags = ORR_FIELD_UNSIGNED)

static const OrrFieldTable mla_table = ORR_FIELDS(
    "mla",
    "Multi-head latent attention (DeepSeek-V2); with `q-lora-rank` alone, attention whose "
    "queries are made from a compressed form (Step-3).",
    OrrMla,
    SIZE(OrrMla, "q-lora-rank", q_rank, "0", 1e6,
         "Width of the compressed query; 0: queries are not compressed."),
    SIZE(OrrMla, "kv-lora-rank", kv_rank, "0", 1e6,
         "Width of the compressed key and value; 0: keys and values are not compressed."),
    SIZE(OrrMla, "qk-nope-head-dim", nope_dim, "128", 1e5,
         "Width of the part of a head's query and key without position."),
    SIZE(OrrMla, "qk-rope-head-dim", rope_dim, "64", 1e5,
         "Width of the part with position: of a head's query, and of the one key of all heads."),
    SIZE(OrrMla, "v-head-dim", value_dim, "128", 1e5, "Width of a head's value."));

static const OrrFieldTable moe_table = ORR_FIELDS(
    "moe", "A mixture of experts in place of an MLP.", OrrMoe,
    SIZE(OrrMoe, "experts", experts, "0", 1e5, "Routed experts per layer; 0: the model has none."),
    SIZE(OrrMoe, "topk", topk, "1", 1e4, "Routed experts to which a token goes."),
    SIZE(OrrMoe, "ffn", ffn, "0", 1e8, "Inner width of one routed expert; 0: the model's `ffn`."),
    SIZE(OrrMoe, "shared-ffn", shared_ffn, "0", 1e8,
         "Inner width of all shared experts together, which every token passes; 0: none."),
    ORR_FIELD_BOOL(OrrMoe, "shared-gate", shared_gate, "false",
                   "Whether a gate of its own scales the shared experts' result."),
    ORR_FIELD_BOOL(OrrMoe, "clamp", clamp, "false",
                   "Whether gate and value of a routed expert are limited before the activation."),
    SIZE(OrrMoe, "latent", latent, "0", 1e6,
         "Width that routed experts work in, between a projection down and one up; 0: the "
         "residual stream's."),
    SIZE(OrrMoe, "zero-experts", zero_experts, "0", 1e5,
         "Experts that compute nothing, which the router scores too; `topk` counts the others, "
         "in the mean."));

static const OrrFieldTable window_table = ORR_FIELDS(
    "window", "Attention with a limited range.", OrrWindow,
    SIZE(OrrWindow, "size", size, "0", 1e8,
         "Tokens that a layer with the mixer `window` sees; 0: the model has no such layers."),
    ORR_FIELD_BOOL(
        OrrWindow, "chunked", chunked, "false",
        "Whether a token sees only its own chunk (Llama 4) instead of the last tokens."));

static const OrrFieldTable mamba_table =
    ORR_FIELDS("mamba", "State-space layers (Mamba-2).", OrrMamba,
               SIZE(OrrMamba, "heads", heads, "0", 1e5,
                    "Heads of a Mamba-2 layer; 0: the model has no such layers."),
               SIZE(OrrMamba, "head-dim", head_dim, "64", 1e5, "Width of a head."),
               SIZE(OrrMamba, "state", state, "128", 1e5, "States per channel."),
               SIZE(OrrMamba, "groups", groups, "8", 1e5, "Groups of heads that share B and C."),
               SIZE(OrrMamba, "conv", conv, "4", 1e3, "Taps of the causal convolution."),
               SIZE(OrrMamba, "chunk", chunk, "128", 1e5,
                    "Tokens that the scan's kernels compute as one product."));

static const OrrFieldTable linear_table = ORR_FIELDS(
    "linear-attention", "Attention with a state instead of a cache.", OrrLinear,
    ORR_FIELD_WORD(OrrLinear, "kind", kind, linear_words, "lightning",
                   "Lightning attention (MiniMax-01), the gated delta rule (Qwen3-Next), Kimi "
                   "Delta Attention, or RWKV-7's time mixing."),
    SIZE(OrrLinear, "key-heads", key_heads, "0", 1e5,
         "Heads of queries and keys; 0: the model has no such layers."),
    SIZE(OrrLinear, "value-heads", value_heads, "0", 1e5, "Heads of values; 0: same as key-heads."),
    SIZE(OrrLinear, "key-dim", key_dim, "128", 1e5, "Width of a query and a key."),
    SIZE(OrrLinear, "value-dim", value_dim, "128", 1e5, "Width of a value."),
    SIZE(OrrLinear, "conv", conv, "0", 1e3,
         "Taps of the causal convolution over q, k and v; 0: none."),
    SIZE(OrrLinear, "chunk", chunk, "64", 1e5, "Tokens that kernels compute as one product."),
    SIZE(OrrLinear, "low-rank", low_rank, "0", 1e6,
         "Inner widths of the low-rank projections that make decays, rates and gates, added up."),
    ORR_FIELD_BOOL(OrrLinear, "full-gate", full_gate, "true",
                   "Whether the output gate is a whole matrix; false: it is one of the low-rank "
                   "projections, or there is none."));

static const OrrFieldTable sparse_table = ORR_FIELDS(
    "sparse-attention", "Attention to the entries that score best.", OrrSparse,
    SIZE(OrrSparse, "topk", topk, "0", 1e8,
         "Entries of the cache to which a query attends; 0: the model has no such layers."),
    SIZE(OrrSparse, "block", block, "1", 1e6, "Tokens that are chosen together."),
    SIZE(OrrSparse, "index-heads", index_heads, "0", 1e4,
         "Heads of the indexer that scores the entries; 0: the means of blocks' keys do (MoBA)."),
    SIZE(OrrSparse, "index-head-dim", index_dim, "128", 1e5,
         "Width of the indexer's key, stored in fp8 for each entry."));

static const OrrFieldTable compressed_table = ORR_FIELDS(
    "compressed-attention",
    "Attention over entries that each represent several tokens (DeepSeek-V4).", OrrCompressed,
    SIZE(OrrCompressed, "ratio", ratio, "0", 1e6,
         "Tokens of an entry in layers `csa`; 0: the model has no compressed attention."),
    SIZE(OrrCompressed, "heavy-ratio", heavy, "128", 1e6, "Tokens of an entry in layers `hca`."),
    SIZE(OrrCompressed, "q-lora-rank", q_rank, "1024", 1e6, "Width of the compressed query."),
    SIZE(OrrCompressed, "qk-rope-head-dim", rope_dim, "64", 1e5,
         "Part of a head's width with position."),
    SIZE(OrrCompressed, "o-groups", groups, "1", 1e4,
         "Groups of heads, each with a projection of its own to `o-lora-rank`."),
    SIZE(OrrCompressed, "o-lora-rank", rank, "1024", 1e6, "Width of a group's projection."));

static const OrrFieldTable cross_table =
    ORR_FIELDS("cross-attention", "Cross-attention to an encoder's output.", OrrCross,
               SIZE(OrrCross, "tokens", tokens, "0", 1e8,
                    "Tokens of the encoder's result; 0: the model has no such layers."),
               SIZE(OrrCross, "width", width, "0", 1e7,
                    "Width of one of them; 0: the encoder's hidden, or the decoder's."));

static const OrrFieldTable encoder_table = ORR_FIELDS(
    "encoder", "A tower (ViT, or an encoder of sounds) before the decoder.", OrrEncoder,
    SIZE(OrrEncoder, "layers", layers, "0", 1e5, "Layers of the encoder; 0: the model has none."),
    SIZE(OrrEncoder, "hidden", hidden, "0", 1e7, "Width of its residual stream."),
    SIZE(OrrEncoder, "heads", heads, "1", 1e5, "Attention heads, each hidden / heads wide."),
    SIZE(OrrEncoder, "ffn", ffn, "0", 1e8, "Inner width of its MLP; 0: 4 * hidden."),
    SIZE(OrrEncoder, "tokens", tokens, "0", 1e8, "Tokens of an input; 0: the patches of an image."),
    SIZE(OrrEncoder, "values", values, "0", 1e8,
         "Numbers that one product turns into an input's token; 0: a patch's pixels."),
    SIZE(OrrEncoder, "patch", patch, "14", 1e5, "Pixels along a patch."),
    SIZE(OrrEncoder, "image", image, "336", 1e6, "Pixels along an image."),
    SIZE(OrrEncoder, "frames", frames, "1", 1e4,
         "Frames that a patch spans; a still image is repeated."),
    SIZE(OrrEncoder, "images", images, "1", 1e6, "Images per sequence."),
    SIZE(OrrEncoder, "merge", merge, "1", 100,
         "Patches along the side of a square that becomes one token of the decoder."),
    SIZE(OrrEncoder, "extra-tokens", extra_tokens, "0", 1e5,
         "Tokens in addition to the patches (a class token)."),
    SIZE(OrrEncoder, "projector", projector, "0", 1e8,
         "Inner width of the projector, two layers before the decoder; 0: the decoder's hidden."),
    ORR_FIELD_WORD(OrrEncoder, "activation", activation, orr_activation_words, "gelu",
                   "Its MLP's non-linearity."),
    ORR_FIELD_WORD(OrrEncoder, "norm", norm, norm_words, "layernorm", "Its norms."),
    ORR_FIELD_BOOL(OrrEncoder, "learned-positions", learned_positions, "true",
                   "Whether each of its tokens has a learned position."));

const OrrFieldTable orr_model_table = ORR_FIELDS(
    "model", "The dimensions of a transformer, or of another stack of the same parts.", OrrModel,
    ORR_FIELD_TEXT(OrrModel, "name", name, "unnamed", "Name of the model in results."),
    ORR_COLUMN_TEXT(OrrModel, "source", source, "Source of the dimensions."),
    ORR_FIELD_TEXTS(
        OrrModel, "aliases", aliases, "[]",
        "Other names, such as its id on Hugging Face; a format after a blank (`ID fp8`) is "
        "that checkpoint's `quantization`, for serving workloads that do not give one."),
    ORR_FIELD_SECTION(
        OrrModel, "checkpoint", checkpoint, &orr_released_table, "{}",
        "The format in which its checkpoint is published: the default of serving workloads "
        "that give neither precision nor quantization."),
    NEEDED(OrrModel, "layers", layers, 1e5, "Layers of the decoder."),
    NEEDED(OrrModel, "hidden", hidden, 1e7, "Width of the residual stream."),
    NEEDED(OrrModel, "heads", heads, 1e5, "Attention (query) heads."),
    SIZE(OrrModel, "kv-heads", kv_heads, "0", 1e5,
         "Key and value heads of grouped-query attention; 0: same as heads."),
    SIZE(OrrModel, "head-dim", head_dim, "0", 1e6, "Width of a head; 0: hidden / heads."),
    SIZE(OrrModel, "ffn", ffn, "0", 1e8, "Inner width of the MLP; 0: 4 * hidden."),
    NEEDED(OrrModel, "vocab", vocab, 1e8, "Rows of the token embedding, padding included."),
    NEEDED(OrrModel, "context", context, 1e8,
           "Longest sequence in tokens: rows of a learned position embedding, and the default "
           "sequence length."),
    ORR_FIELD_WORD(OrrModel, "activation", activation, orr_activation_words, "gelu",
                   "The MLP's non-linearity; swiglu and geglu are gated and have a third matrix."),
    ORR_FIELD_WORD(OrrModel, "norm", norm, norm_words, "layernorm",
                   "Normalisation before each block."),
    ORR_FIELD_WORD(
        OrrModel, "position", position, orr_position_words, "learned",
        "Position encoding: a learned embedding, rotary (RoPE) on queries and keys, a slope on "
        "scores, or none."),
    ORR_FIELD_BOOL(OrrModel, "yarn", yarn, "false",
                   "Whether rotary embeddings are stretched for longer contexts as in YaRN."),
    ORR_FIELD_BOOL(OrrModel, "tied-embeddings", tied_embeddings, "true",
                   "Whether the output layer's weights are the token embedding's."),
    ORR_FIELD_BOOL(OrrModel, "bias", bias, "true", "Whether linear layers and norms have a bias."),
    ORR_FIELD_BOOL(OrrModel, "qkv-bias", qkv_bias, "false",
                   "Whether QKV has a bias even if other linear layers have none."),
    ORR_FIELD_BOOL(OrrModel, "qk-norm", qk_norm, "false",
                   "Whether each head's query and key are normed."),
    ORR_FIELD_BOOL(OrrModel, "output-gate", output_gate, "false",
                   "Whether attention's result is multiplied by a gate as wide as itself."),
    ORR_FIELD_BOOL(OrrModel, "post-norms", post_norms, "false",
                   "Whether a norm follows each block too."),
    ORR_FIELD_BOOL(
        OrrModel, "parallel-blocks", parallel, "false",
        "Whether attention and MLP read the same norm and add to the residual stream together."),
    PART("mla", mla, mla_table, "Multi-head latent attention instead of key and value heads."),
    PART("moe", moe, moe_table, "Experts instead of an MLP."),
    PART("window", window, window_table, "Layers whose attention has a limited range."),
    PART("mamba", mamba, mamba_table, "State-space layers."),
    PART("linear-attention", linear, linear_table, "Linear attention layers."),
    PART("sparse-attention", sparse, sparse_table,
         "Layers whose queries attend to a choice of keys."),
    PART("compressed-attention", compressed, compressed_table,
         "Layers over a compressed cache, and the projections that they have."),
    PART("cross-attention", cross, cross_table, "Layers that attend to an encoder's result."),
    PART("encoder", encoder, encoder_table, "A tower before the decoder."),
    SIZE(OrrModel, "mtp-layers", mtp_layers, "0", 64,
         "Layers of multi-token prediction after the last one, each with the output layer again "
         "(DeepSeek-V3)."),
    ORR_FIELD_TEXTS(
        OrrModel, "layout", layout, "[]",
        "Kinds of layers in order, each `[COUNT] MIXER+FEED-FORWARD` or one of both: "
        "attention, window, mamba, linear, sparse (chooses keys), shared (uses an "
        "earlier layer's choice), csa, hca, cross; dense, moe. `dense:WIDTH` has an inner width of "
        "its own. The list repeats to the last layer. Empty: attention+moe where there are "
        "experts, else attention+dense."),
    ORR_FIELD_TEXTS(OrrModel, "not-modelled", not_modelled, NULL,
                    "Features of the model that no key can express, each with the answers that it "
                    "makes wrong: every answer warns of them.",
                    .flags = ORR_FIELD_OPTIONAL),
    COUNT(
        "parameters", parameters,
        "Published number of parameters, against which the dimensions are checked; 0: not given."),
    COUNT("active-parameters", active_parameters,
          "Published number of active parameters per token, checked likewise; 0: not given."));

/* Published counts are rounded (175B is 174.6) and count padding differently, but are never off
 * by more than this. */
#define COUNT_TOLERANCE 0.05

static void check_count(double count, double published, const char *key, const char *what,
                        OrrPlace place, OrrDiags *diags) {
  if (published > 0 && fabs(count - published) > COUNT_TOLERANCE * published)
    orr_diags_warning(diags, place, "these dimensions make %.4g %s, but '%s' is %.4g", count, what,
                      key, published);
}

/* Published active parameters count both tables of the vocabulary, one, or none: the nearest is
 * compared. */
static double nearest_active(const OrrModel *model) {
  double count = orr_model_active_parameters(model), table = (double)model->vocab * model->hidden,
         nearest = count;
  for (int tables = 1; tables <= (model->tied_embeddings ? 1 : 2); tables++)
    if (fabs(count - tables * table - model->active_parameters) <
        fabs(nearest - model->active_parameters))
      nearest = count - tables * table;
  return nearest;
}

/* Key @what is to be a multiple of key @of. */
typedef struct {
  const char *what;
  gint64 value;
  const char *of;
  gint64 divisor;
  const char *advice;
} Multiple;

static void check_multiple(const Multiple *multiple, OrrPlace place, OrrDiags *diags) {
  if (multiple->divisor > 0 && multiple->value % multiple->divisor)
    orr_diags_error(diags, place, "'%s' %ld is not a multiple of '%s' %ld: %s", multiple->what,
                    multiple->value, multiple->of, multiple->divisor, multiple->advice);
}

static void settle_heads(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  if (!model->head_dim && !model->mla.kv_rank)
    check_multiple(&(Multiple){"hidden", model->hidden, "heads", model->heads,
                               "change one of them, or give 'head-dim'"},
                   place, diags);
  if (!model->kv_heads) model->kv_heads = model->heads;
  check_multiple(&(Multiple){"heads", model->heads, "kv-heads", model->kv_heads,
                             "each key-value head serves equally many query heads"},
                 place, diags);
  if (!model->head_dim) model->head_dim = MAX(1, model->hidden / model->heads);
}

static void settle_moe(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  OrrMoe *moe = &model->moe;
  if (!moe->experts) return;
  if (!moe->ffn) moe->ffn = model->ffn;
  if (moe->topk < 1 || moe->topk > moe->experts)
    orr_diags_error(diags, place,
                    "'moe.topk' is %ld, but there are %ld experts: a token goes to 1 or more of "
                    "them, to each once",
                    moe->topk, moe->experts);
}

/* One for each result of the low-rank projections. */
#define LEAST_LOW_RANK 4

static void settle_states(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  OrrLinear *linear = &model->linear;
  check_multiple(&(Multiple){"mamba.heads", model->mamba.heads, "mamba.groups", model->mamba.groups,
                             "each group serves equally many heads"},
                 place, diags);
  if (!linear->value_heads) linear->value_heads = linear->key_heads;
  check_multiple(&(Multiple){"linear-attention.value-heads", linear->value_heads,
                             "linear-attention.key-heads", linear->key_heads,
                             "each key head serves equally many value heads"},
                 place, diags);
  const gboolean is_low = linear->kind >= ORR_LINEAR_KIMI_DELTA;
  if (linear->key_heads > 0 && (is_low ? linear->low_rank < LEAST_LOW_RANK : linear->low_rank > 0))
    orr_diags_error(diags, place, "'linear-attention.low-rank' is %ld: of kind %s it is %s",
                    linear->low_rank, linear_words[linear->kind],
                    is_low ? "4 or more, the inner widths of decays, rates and gates"
                           : "0, since no low-rank projections make its gates");
}

static void settle_compressed(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  const OrrCompressed *compressed = &model->compressed;
  if (model->sparse.topk && model->sparse.block < 1)
    orr_diags_error(diags, place, "'sparse-attention.block' wants 1 or more tokens");
  if (!compressed->ratio) return;
  if (model->output_gate)
    orr_diags_error(diags, place,
                    "'output-gate' and 'compressed-attention' exclude each other: no layer of "
                    "compressed attention has such a gate");
  if (compressed->heavy < 1 || compressed->groups < 1 || compressed->rank < 1 ||
      compressed->q_rank < 1)
    orr_diags_error(diags, place,
                    "'compressed-attention' wants 'heavy-ratio', 'q-lora-rank', 'o-groups' and "
                    "'o-lora-rank' of 1 or more");
  check_multiple(&(Multiple){"heads", model->heads, "compressed-attention.o-groups",
                             compressed->groups, "each group has equally many heads"},
                 place, diags);
}

static void settle_encoder(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  OrrEncoder *encoder = &model->encoder;
  if (!model->cross.width) model->cross.width = encoder->hidden ? encoder->hidden : model->hidden;
  if (model->cross.tokens > 0 && encoder->layers > 0 &&
      (double)model->cross.tokens != orr_encoder_tokens(model))
    orr_diags_error(diags, place,
                    "'cross-attention.tokens' is %ld, but the encoder makes %.0f of an input",
                    model->cross.tokens, orr_encoder_tokens(model));
  if (!encoder->layers) return;
  if (!encoder->ffn) encoder->ffn = 4 * encoder->hidden;
  if (!encoder->projector) encoder->projector = model->hidden;
  if (encoder->hidden < 1 || encoder->heads < 1 || encoder->patch < 1 || encoder->merge < 1)
    orr_diags_error(diags, place,
                    "'encoder' wants 'hidden', 'heads', 'patch' and 'merge' of 1 or more");
  check_multiple(&(Multiple){"encoder.hidden", encoder->hidden, "encoder.heads", encoder->heads,
                             "change one of them"},
                 place, diags);
  check_multiple(&(Multiple){"encoder.image", encoder->image, "encoder.patch", encoder->patch,
                             "an image is whole patches"},
                 place, diags);
}

void orr_model_settle(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  if (model->layers < 1 || model->hidden < 1 || model->heads < 1)
    return; /* the field table has already reported it */
  settle_heads(model, place, diags);
  if (!model->ffn) model->ffn = 4 * model->hidden;
  settle_moe(model, place, diags);
  settle_states(model, place, diags);
  settle_compressed(model, place, diags);
  settle_encoder(model, place, diags);
  orr_model_settle_layout(model, place, diags);
  check_count(orr_model_parameters(model), model->parameters, "parameters", "parameters", place,
              diags);
  check_count(nearest_active(model), model->active_parameters, "active-parameters",
              "active parameters", place, diags);
}

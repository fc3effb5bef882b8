/*
 * model.c - a decoder transformer's document, parameters and FLOPs.
 *
 * Invariants:
 *  1. After orr_model_settle without a finding, kv_heads, head_dim and ffn are positive and kv_heads divides heads.
 *  2. Parameters are counted exactly: matrices, biases, norms, embeddings (Megatron's layout).
 *  3. FLOPs are those of matrix products alone, a multiply-add as two; attention without the causal half.
 *
 * With q = heads * head_dim, kv = kv_heads * head_dim, f = ffn, a layer's matrices hold
 *     h (q + 2 kv) + q h + (2 or, gated, 3) h f      parameters,
 * each of which costs 2 FLOPs a token and pass; attention adds 4 s q (scores and context). For GPT (q = kv = h, f = 4h)
 * that is 12 h^2 and 4 s h, whence Narayanan et al., SC21 (arXiv 2104.04473), eq. 2 and 3.
 */
#include "models/model.h"

#include <math.h>

const char *const orr_recompute_words[] = {"none", "selective", "full", NULL};

static const char *const activation_words[] = {"gelu", "swiglu", NULL};
static const char *const norm_words[] = {"layernorm", "rmsnorm", NULL};
static const char *const position_words[] = {"learned", "rope", NULL};

#define WHERE(member_) .offset = offsetof(OrrModel, member_)

static const OrrField fields[] = {
    {.name = "name", .kind = ORR_FIELD_TEXT, WHERE(name), .sentence = "What results call the model.",
     .fallback = "unnamed"},
    {.name = "source", .kind = ORR_FIELD_TEXT, WHERE(source), .sentence = "Where the dimensions are from.",
     .flags = ORR_FIELD_OPTIONAL},
    {.name = "layers", .kind = ORR_FIELD_INT, WHERE(layers), .sentence = "Transformer layers.", .min = 1, .max = 1e5},
    {.name = "hidden", .kind = ORR_FIELD_INT, WHERE(hidden), .sentence = "Width of the residual stream.", .min = 1,
     .max = 1e7},
    {.name = "heads", .kind = ORR_FIELD_INT, WHERE(heads), .sentence = "Attention (query) heads.", .min = 1,
     .max = 1e5},
    {.name = "kv-heads", .kind = ORR_FIELD_INT, WHERE(kv_heads),
     .sentence = "Key and value heads of grouped-query attention; 0: as many as heads.", .fallback = "0", .min = 0,
     .max = 1e5},
    {.name = "head-dim", .kind = ORR_FIELD_INT, WHERE(head_dim), .sentence = "Width of a head; 0: hidden / heads.",
     .fallback = "0", .min = 0, .max = 1e6},
    {.name = "ffn", .kind = ORR_FIELD_INT, WHERE(ffn), .sentence = "Inner width of the MLP; 0: 4 * hidden.",
     .fallback = "0", .min = 0, .max = 1e8},
    {.name = "vocab", .kind = ORR_FIELD_INT, WHERE(vocab),
     .sentence = "Rows of the token embedding, padding included.", .min = 1, .max = 1e8},
    {.name = "context", .kind = ORR_FIELD_INT, WHERE(context),
     .sentence = "Longest sequence in tokens: rows of a learned position embedding, and the default sequence length.",
     .min = 1, .max = 1e8},
    {.name = "activation", .kind = ORR_FIELD_WORD, WHERE(activation),
     .sentence = "The MLP's non-linearity; swiglu is gated and has a third matrix.", .fallback = "gelu",
     .words = activation_words},
    {.name = "norm", .kind = ORR_FIELD_WORD, WHERE(norm), .sentence = "Normalisation before each block.",
     .fallback = "layernorm", .words = norm_words},
    {.name = "position", .kind = ORR_FIELD_WORD, WHERE(position),
     .sentence = "Position encoding: a learned embedding, or rotary (RoPE) on queries and keys.", .fallback = "learned",
     .words = position_words},
    {.name = "tied-embeddings", .kind = ORR_FIELD_BOOL, WHERE(tied_embeddings),
     .sentence = "Whether the output layer's weights are the token embedding's.", .fallback = "true"},
    {.name = "bias", .kind = ORR_FIELD_BOOL, WHERE(bias), .sentence = "Whether linear layers and norms have a bias.",
     .fallback = "true"},
    {.name = "parameters", .kind = ORR_FIELD_REAL, WHERE(parameters),
     .sentence = "The published number of parameters, to check the dimensions by; 0: not given.", .fallback = "0",
     .flags = ORR_FIELD_UNSIGNED, .unit = ORR_UNIT_NONE},
};

const OrrFieldTable orr_model_table =
    ORR_FIELD_TABLE("model", "A dense decoder transformer: its dimensions.", OrrModel, fields);

/* Published counts are rounded (175B is 174.6) and count padding differently, but are never this far off. */
#define COUNT_TOLERANCE 0.05

static void check_count(const OrrModel *model, OrrPlace place, OrrDiags *diags) {
  double count = orr_model_parameters(model);
  if (model->parameters > 0 && fabs(count - model->parameters) > COUNT_TOLERANCE * model->parameters)
    orr_diags_warning(diags, place, "these dimensions make %.4g parameters, but 'parameters' says %.4g", count,
                      model->parameters);
}

void orr_model_settle(OrrModel *model, OrrPlace place, OrrDiags *diags) {
  if (model->layers < 1 || model->hidden < 1 || model->heads < 1)
    return; /* the field table has already said so */
  if (!model->head_dim && model->hidden % model->heads)
    orr_diags_error(diags, place,
                    "'hidden' %" G_GINT64_FORMAT " is no multiple of 'heads' %" G_GINT64_FORMAT
                    ": change one of them, or give 'head-dim'",
                    model->hidden, model->heads);
  if (!model->kv_heads)
    model->kv_heads = model->heads;
  if (model->heads % model->kv_heads)
    orr_diags_error(diags, place,
                    "'heads' %" G_GINT64_FORMAT " is no multiple of 'kv-heads' %" G_GINT64_FORMAT
                    ": each key-value head serves equally many query heads",
                    model->heads, model->kv_heads);
  if (!model->head_dim)
    model->head_dim = MAX(1, model->hidden / model->heads);
  if (!model->ffn)
    model->ffn = 4 * model->hidden;
  check_count(model, place, diags);
}

/* --- size --- */

static double query_width(const OrrModel *model) {
  return (double)model->heads * model->head_dim;
}

/* Parameters of a layer's matrices, by which its GEMMs' FLOPs go. */
static double layer_weights(const OrrModel *model) {
  double h = model->hidden, q = query_width(model), kv = (double)model->kv_heads * model->head_dim;
  double mlp_matrices = model->activation == ORR_ACTIVATION_SWIGLU ? 3 : 2;
  return h * (q + 2 * kv) + q * h + mlp_matrices * h * model->ffn;
}

static double layer_biases(const OrrModel *model) {
  double h = model->hidden, q = query_width(model), kv = (double)model->kv_heads * model->head_dim;
  double fc1_width = (model->activation == ORR_ACTIVATION_SWIGLU ? 2.0 : 1.0) * model->ffn;
  return model->bias ? q + 2 * kv + h + fc1_width + h : 0;
}

double orr_model_norm_parameters(const OrrModel *model) {
  return (model->norm == ORR_NORM_LAYERNORM && model->bias ? 2.0 : 1.0) * model->hidden;
}

guint orr_model_n_layer_kinds(const OrrModel *model) {
  (void)model;
  return 1;
}

guint orr_model_layer_kind(const OrrModel *model, gint64 layer) {
  (void)model;
  (void)layer;
  return 0;
}

double orr_model_layer_parameters(const OrrModel *model, guint kind) {
  (void)kind;
  return layer_weights(model) + layer_biases(model) + 2 * orr_model_norm_parameters(model);
}

double orr_model_embedding_parameters(const OrrModel *model) {
  double tokens = (double)model->vocab * model->hidden;
  double positions = model->position == ORR_POSITION_LEARNED ? (double)model->context * model->hidden : 0;
  return (model->tied_embeddings ? 1 : 2) * tokens + positions + orr_model_norm_parameters(model);
}

double orr_model_parameters(const OrrModel *model) {
  return model->layers * orr_model_layer_parameters(model, 0) + orr_model_embedding_parameters(model);
}

/* --- FLOPs of one forward pass --- */

static double attention_core_flops(const OrrModel *model, double batch, double sequence) {
  return model->layers * batch * 4 * sequence * sequence * query_width(model);
}

static double layers_flops(const OrrModel *model, double batch, double sequence) {
  return model->layers * 2 * batch * sequence * layer_weights(model) + attention_core_flops(model, batch, sequence);
}

static double logits_flops(const OrrModel *model, double batch, double sequence) {
  return 2 * batch * sequence * model->hidden * model->vocab;
}

double orr_model_flops(const OrrModel *model, double batch, double sequence) {
  return 3 * (layers_flops(model, batch, sequence) + logits_flops(model, batch, sequence));
}

double orr_model_hardware_flops(const OrrModel *model, double batch, double sequence, OrrRecompute recompute) {
  double flops = orr_model_flops(model, batch, sequence);
  if (recompute == ORR_RECOMPUTE_SELECTIVE)
    flops += attention_core_flops(model, batch, sequence);
  if (recompute == ORR_RECOMPUTE_FULL)
    flops += layers_flops(model, batch, sequence);
  return flops;
}

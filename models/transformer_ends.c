/*
 * transformer_ends.c - the operators of the first and last pipeline stage outside the layers, of
 * multi-token prediction, and of the optimizer.
 *
 * Kernels and their order are NVIDIA/Megatron-LM v2.x's: megatron/model/language_model.py
 * (Embedding), megatron/model/gpt_model.py, megatron/mpu/cross_entropy.py,
 * megatron/optimizer/optimizer.py (Float16Optimizer- WithFloat16Params), apex FusedAdam.
 */
#include "models/transformer_private.h"

/* --- embedding --- */

/* The ends of an encoder: before its layers the projection of the patches; after them the
 * projector's two layers, over one token per `merge` squared, and the placement of its result
 * among the text's tokens. A whole copy on each rank. */
typedef struct {
  gint64 patches, patch_width, hidden; /* of all images */
  gint64 tokens, in, inner;            /* the projector's */
} EncoderEnds;

static EncoderEnds encoder_ends(const OrrTransformerView *view) {
  const OrrModel *model = view->model;
  double images = (double)view->shard->micro_batch * model->encoder.images;
  return (EncoderEnds){
      .patches = (gint64)(images * orr_encoder_patches(model)),
      .patch_width = (gint64)orr_encoder_patch_width(model),
      .hidden = model->encoder.hidden,
      .tokens = MAX(1, (gint64)(images * orr_encoder_decoder_tokens(model))),
      .in = (gint64)orr_encoder_projector_width(model),
      .inner = model->encoder.projector ? model->encoder.projector : model->hidden,
  };
}

static void put_encoder_ends(const OrrTransformerView *view, GArray *operators) {
  EncoderEnds ends = encoder_ends(view);
  if (!view->model->encoder.layers) return;
  orr_transformer_put_plain(view, operators, "patch-embedding", ORR_PASS_FORWARD,
                            (OrrGemmShape){1, ends.patches, ends.hidden, ends.patch_width});
  if (view->model->cross.tokens > 0) return; /* layers `cross` read its result unchanged */
  orr_transformer_put_plain(view, operators, "projector", ORR_PASS_FORWARD,
                            (OrrGemmShape){1, ends.tokens, ends.inner, ends.in});
  orr_transformer_put_memory(view, operators, "gelu", ORR_PASS_FORWARD,
                             (double)ends.tokens * ends.inner, 2, 0);
  orr_transformer_put_plain(view, operators, "projector", ORR_PASS_FORWARD,
                            (OrrGemmShape){1, ends.tokens, view->layer.hidden, ends.inner});
  orr_transformer_put_memory(view, operators, "token-scatter", ORR_PASS_FORWARD,
                             (double)ends.tokens * view->layer.hidden, 2, 0);
}

void orr_transformer_encoder_ends(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  const OrrTransformerView view = orr_transformer_view(model, 0, shard);
  put_encoder_ends(&view, operators);
}

/* Patches are data: their projection has only a gradient by weight, which stands for both here. */
static void put_encoder_ends_backward(const OrrTransformerView *view, GArray *operators) {
  EncoderEnds ends = encoder_ends(view);
  if (!view->model->encoder.layers) return;
  orr_transformer_put_memory(view, operators, "token-scatter", ORR_PASS_DGRAD,
                             (double)ends.tokens * view->layer.hidden, 2, 0);
  orr_transformer_put_plain(view, operators, "projector", ORR_PASS_DGRAD,
                            (OrrGemmShape){1, ends.tokens, view->layer.hidden, ends.inner});
  orr_transformer_put_memory(view, operators, "gelu", ORR_PASS_DGRAD,
                             (double)ends.tokens * ends.inner, 3, 0);
  orr_transformer_put_plain(view, operators, "projector", ORR_PASS_DGRAD,
                            (OrrGemmShape){1, ends.tokens, ends.inner, ends.in});
  if (view->shard->frozen_encoder) return;
  orr_transformer_put_plain(view, operators, "patch-embedding", ORR_PASS_DGRAD,
                            (OrrGemmShape){1, ends.patches, ends.hidden, ends.patch_width});
}

/* The look-up (read, write), setting the rows of other ranks' tokens to 0 (write), the sum over
 * ranks; positions: look-up (read, write), addition (2 reads, write); [b, s, h] -> [s, b, h];
 * dropout. */
void orr_transformer_embedding_forward(const OrrModel *model, const OrrShard *shard,
                                       GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  double all = (double)view.tokens * model->hidden, own = orr_transformer_own_elements(&view);
  orr_transformer_put_memory(&view, operators, "embedding", ORR_PASS_FORWARD, all,
                             shard->tp > 1 ? 3 : 2, 0);
  if (view.sequence_parallel)
    orr_transformer_put_comm(&view, operators, "tp-reduce-scatter", ORR_PASS_FORWARD,
                             ORR_COMM_REDUCE_SCATTER, model->hidden);
  else
    orr_transformer_put_comm(&view, operators, "tp-all-reduce", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_REDUCE, model->hidden);
  if (model->position == ORR_POSITION_LEARNED)
    orr_transformer_put_memory(&view, operators, "position-embedding", ORR_PASS_FORWARD, own, 5, 0);
  orr_transformer_put_memory(&view, operators, "embedding-transpose", ORR_PASS_FORWARD, own, 2, 0);
  if (shard->dropout)
    orr_transformer_put_memory(&view, operators, "embedding-dropout", ORR_PASS_FORWARD, own, 2, 1);
  put_encoder_ends(&view, operators);
}

/* The gradient of a look-up is dense: a table of zeros, then the tokens' rows added to it (read
 * dy, read and write the row), then the whole table added to main-grad. */
static void put_table_grad(const OrrTransformerView *view, GArray *operators, const char *name,
                           double table, double tokens_elements) {
  double moves = table + 3 * tokens_elements;
  if (orr_transformer_is_frozen(view)) return;
  orr_transformer_put_memory(view, operators, name, ORR_PASS_WGRAD, moves, 1, 0);
  orr_transformer_put_main_grad(view, operators, table);
}

void orr_transformer_embedding_backward(const OrrModel *model, const OrrShard *shard,
                                        GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  double all = (double)view.tokens * model->hidden, own = orr_transformer_own_elements(&view);
  put_encoder_ends_backward(&view, operators);
  if (shard->dropout)
    orr_transformer_put_memory(&view, operators, "embedding-dropout", ORR_PASS_DGRAD, own, 2, 1);
  orr_transformer_put_memory(&view, operators, "embedding-transpose", ORR_PASS_DGRAD, own, 2, 0);
  if (model->position == ORR_POSITION_LEARNED)
    put_table_grad(&view, operators, "position-embedding", (double)model->context * model->hidden,
                   own);
  if (view.sequence_parallel)
    orr_transformer_put_comm(&view, operators, "tp-all-gather", ORR_PASS_DGRAD, ORR_COMM_ALL_GATHER,
                             model->hidden);
  put_table_grad(&view, operators, "embedding", (double)view.vocab * model->hidden, all);
}

/* --- head --- */

/* One fp32 number per token from each rank: the maximum, the target's logit, the sum of
 * exponentials. */
static void put_loss_comm(const OrrTransformerView *view, GArray *operators) {
  OrrOperator op = orr_operator_comm("loss-all-reduce", ORR_PASS_FORWARD, ORR_GROUP_TP,
                                     ORR_COMM_ALL_REDUCE, 4.0 * view->tokens);
  if (view->shard->tp > 1) g_array_append_val(operators, op);
}

static void put_logits_pass(const OrrTransformerView *view, GArray *operators, const char *name,
                            OrrPass pass, double bytes_per_logit) {
  double bytes = bytes_per_logit * view->tokens * view->vocab;
  ORR_APPEND(operators, OrrOperator, orr_operator_memory(name, pass, ORR_FP32, bytes, 0));
}

/* Kernels over the logits, in bytes per logit of a 2-byte format. Megatron's
 * _VocabParallelCrossEntropy on output.float(): cast 2 + 4, max 4; subtract 4 + 4, exp 4 + 4,
 * sum 4; divide 4 + 4: 38 in total. PyTorch's on the same: cast 2 + 4, log-softmax 3 times 4 +
 * 4; narrow, log-softmax alone, 3 times 2 + 2. Fused: one read for the maximum and one for the
 * sum. */
static void put_cross_entropy(const OrrTransformerView *view, GArray *operators) {
  if (view->shard->loss == ORR_LOSS_CUT) return; /* in the registers of the product */
  if (view->shard->loss != ORR_LOSS_MEGATRON) {
    const double cast = view->element_bytes + 4, once = view->element_bytes;
    put_logits_pass(view, operators, "cross-entropy", ORR_PASS_FORWARD,
                    view->shard->loss == ORR_LOSS_TORCH          ? cast + 16
                    : view->shard->loss == ORR_LOSS_TORCH_NARROW ? 4 * once
                                                                 : 2 * once);
    for (int i = 0; i < 3; i++) put_loss_comm(view, operators);
    return;
  }
  put_logits_pass(view, operators, "cross-entropy-max", ORR_PASS_FORWARD,
                  view->element_bytes + 4 + 4);
  put_loss_comm(view, operators);
  put_loss_comm(view, operators);
  put_logits_pass(view, operators, "cross-entropy-exp", ORR_PASS_FORWARD, 8 + 8 + 4);
  put_loss_comm(view, operators);
  put_logits_pass(view, operators, "cross-entropy-softmax", ORR_PASS_FORWARD, 8);
}

gint64 orr_transformer_loss_chunk(const OrrTransformerView *view) {
  const gint64 parts = (view->vocab + view->layer.hidden - 1) / MAX(1, view->layer.hidden);
  gint64 rows = 1;
  while (rows * parts < view->tokens) rows *= 2;
  return MIN(rows, view->tokens);
}

/* Liger: for each chunk of tokens the logits, their loss and gradient in place (two reads, a
 * write), and the products by data and by weight. The backward only passes the gradients on. Where
 * none follows, the loss is one read. */
static void put_chunks(const OrrTransformerView *view, GArray *operators) {
  const gint64 chunk = orr_transformer_loss_chunk(view);
  for (gint64 done = 0; done < view->tokens; done += chunk) {
    OrrTransformerView part = *view;
    part.tokens = MIN(chunk, view->tokens - done);
    const OrrGemmShape shape = {1, part.tokens, view->vocab, view->layer.hidden};
    orr_transformer_put_plain(&part, operators, "logits", ORR_PASS_FORWARD, shape);
    put_logits_pass(&part, operators, "cross-entropy", ORR_PASS_FORWARD,
                    (view->shard->forward_only ? 1 : 3) * view->element_bytes);
    if (!view->shard->forward_only)
      orr_transformer_put_plain(&part, operators, "logits", ORR_PASS_DGRAD, shape);
  }
}

void orr_transformer_head_forward(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  orr_transformer_put_norm(&view, operators, ORR_PASS_FORWARD);
  if (view.sequence_parallel)
    orr_transformer_put_comm(&view, operators, "tp-all-gather", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_GATHER, model->hidden);
  if (shard->loss == ORR_LOSS_CHUNKED) return put_chunks(&view, operators);
  orr_transformer_put_plain(&view, operators, "logits", ORR_PASS_FORWARD,
                            (OrrGemmShape){1, view.tokens, view.vocab, model->hidden});
  put_cross_entropy(&view, operators);
}

/* The output layer is column-parallel, in the storage format, and has no adapter. */
static void put_logits_backward(const OrrTransformerView *view, GArray *operators) {
  OrrShard shard = *view->shard;
  OrrTransformerView plain = *view;
  plain.shard = &shard;
  shard.recipe = NULL;
  orr_transformer_put_matrix(
      &plain, operators,
      &(OrrMatrix){.name = "logits", .in = view->layer.hidden, .out = view->vocab}, ORR_PASS_DGRAD);
}

/* softmax - 1 at the target touches one logit per token; times the loss' gradient 4 + 4, cast
 * back 4 + 2. PyTorch's: zeros except at the target 4, log-softmax' backward 8 + 4, cast back 4
 * + 2; narrow 2, 4 + 2. Fused: read and written in their own format. */
static double loss_backward_bytes(const OrrTransformerView *view) {
  const double cast_back = 4 + view->element_bytes;
  if (view->shard->loss == ORR_LOSS_FUSED) return 2 * view->element_bytes;
  if (view->shard->loss == ORR_LOSS_TORCH_NARROW) return 4 * view->element_bytes;
  return (view->shard->loss == ORR_LOSS_TORCH ? 4 + 8 + 4 : 8) + cast_back;
}

void orr_transformer_head_backward(const OrrModel *model, const OrrShard *shard,
                                   GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  if (shard->loss == ORR_LOSS_CUT) /* the tiles of logits again */
    orr_transformer_put_plain(&view, operators, "logits", ORR_PASS_FORWARD,
                              (OrrGemmShape){1, view.tokens, view.vocab, model->hidden});
  else if (shard->loss != ORR_LOSS_CHUNKED)
    put_logits_pass(&view, operators, "cross-entropy", ORR_PASS_DGRAD, loss_backward_bytes(&view));
  if (shard->loss != ORR_LOSS_CHUNKED) put_logits_backward(&view, operators);
  orr_transformer_put_norm(&view, operators, ORR_PASS_DGRAD);
}

/* --- multi-token prediction --- */

static void put_mtp_projection(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const gint64 h = view->layer.hidden;
  orr_transformer_put_matrix(
      view, operators, &(OrrMatrix){.name = "mtp-projection", .in = 2 * h, .out = h / view->tp},
      pass);
}

/* The look-up of the next token, both norms, their concatenation (2 reads, 2 writes), their
 * projection. */
static void put_mtp_begin(const OrrTransformerView *view, GArray *operators) {
  double own = orr_transformer_own_elements(view), all = (double)view->tokens * view->layer.hidden;
  orr_transformer_put_memory(view, operators, "embedding", ORR_PASS_FORWARD, all, 2, 0);
  orr_transformer_put_norm(view, operators, ORR_PASS_FORWARD);
  orr_transformer_put_norm(view, operators, ORR_PASS_FORWARD);
  orr_transformer_put_memory(view, operators, "mtp-concat", ORR_PASS_FORWARD, own, 4, 0);
  if (view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_GATHER, 2 * view->layer.hidden);
  put_mtp_projection(view, operators, ORR_PASS_FORWARD);
  orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_FORWARD, ORR_COMM_ALL_GATHER,
                           view->layer.hidden);
}

void orr_transformer_mtp_body_forward(const OrrModel *model, const OrrShard *shard,
                                      GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  put_mtp_begin(&view, operators);
  orr_transformer_layer_forward(model, orr_model_layer_kind(model, model->layers - 1), shard,
                                operators);
}

void orr_transformer_mtp_forward(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_mtp_body_forward(model, shard, operators);
  orr_transformer_head_forward(model, shard, operators);
}

void orr_transformer_mtp_backward(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_head_backward(model, shard, operators);
  orr_transformer_mtp_body_backward(model, shard, operators);
}

void orr_transformer_mtp_body_backward(const OrrModel *model, const OrrShard *shard,
                                       GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  orr_transformer_layer_backward(model, orr_model_layer_kind(model, model->layers - 1), shard,
                                 operators);
  orr_transformer_put_comm(&view, operators, "tp-reduce-scatter", ORR_PASS_DGRAD,
                           ORR_COMM_REDUCE_SCATTER, view.layer.hidden);
  put_mtp_projection(&view, operators, ORR_PASS_DGRAD);
  orr_transformer_put_memory(&view, operators, "mtp-concat", ORR_PASS_DGRAD,
                             orr_transformer_own_elements(&view), 4, 0);
  orr_transformer_put_norm(&view, operators, ORR_PASS_DGRAD);
  orr_transformer_put_norm(&view, operators, ORR_PASS_DGRAD);
  put_table_grad(&view, operators, "embedding", (double)view.vocab * model->hidden,
                 (double)view.tokens * model->hidden);
}

/* --- optimizer --- */

/* One kernel over all parameters: bytes per parameter, by the format of the gradients. */
typedef struct {
  const char *name;
  double fp16, bf16, fp32;
} OptimizerPass;

/* fp16: gradients summed in fp16, scaled by the loss scale. bf16: summed in fp32, no scale.
 * fp32: no mixed precision. 0: not run. */
static const OptimizerPass optimizer_passes[] = {
    {"gradient-average", 2 + 2, 4 + 4, 4 + 4}, /* local DDP divides by dp before it reduces */
    {"gradient-to-fp32", 2 + 4, 0, 0},         /* main_grad.float() */
    {"gradient-unscale", 4 + 4, 0, 0},         /* and the search for inf and NaN */
    {"gradient-norm", 4, 4, 4},                /* multi_tensor_l2norm */
    {"gradient-clip", 4 + 4, 4 + 4, 4 + 4}, /* multi_tensor_scale; run where the norm is above 1 */
    {"adam", 4 * 4 + 3 * 4, 4 * 4 + 3 * 4, 4 * 4 + 3 * 4}, /* reads g, p, m, v; writes p, m, v */
    {"parameters-to-half", 4 + 2, 4 + 2, 0},               /* master weights to model weights */
    {"gradient-zero", 2, 4, 4},                            /* main-grad for the next step */
};

/* The table is for fp32 masters and moments: Adam reads and writes one and two of them, 4 bytes
 * each. Weights that are their own masters are updated in place, and not copied. */
static double update_bytes(const OptimizerPass *pass, double bytes, OrrDtype dtype,
                           OrrAdamBytes adam) {
  const gboolean own = adam.master == 0;
  if (strcmp(pass->name, "parameters-to-half") == 0) return own ? 0 : bytes;
  if (strcmp(pass->name, "adam") != 0) return bytes;
  return bytes - 2 * 2 * (4 - adam.moment) - (own ? 2 * (4 - orr_dtype_bytes(dtype)) : 0);
}

void orr_transformer_optimizer(double parameters, OrrDtype dtype, OrrAdamBytes adam,
                               GArray *operators) {
  for (guint i = 0; i < G_N_ELEMENTS(optimizer_passes); i++) {
    const OptimizerPass *pass = &optimizer_passes[i];
    double bytes = dtype == ORR_FP16             ? pass->fp16
                   : orr_dtype_bytes(dtype) == 4 ? pass->fp32
                                                 : pass->bf16;
    bytes = update_bytes(pass, bytes, dtype, adam);
    OrrOperator op =
        orr_operator_memory(pass->name, ORR_PASS_OPTIMIZER, ORR_FP32, parameters * bytes, 0);
    if (bytes > 0) g_array_append_val(operators, op);
  }
}

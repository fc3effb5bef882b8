/*
 * transformer_check.c - the rules by which a model can be split; each message names its values.
 *
 * The rules come from Megatron-Core: arguments.py and transformer_config.py, for training.
 */
#include "models/transformer_private.h"

typedef struct {
  const OrrModel *model;
  const OrrShard *shard;
  OrrPlace place;
  OrrDiags *diags;
} Check;

static void check_divides(const Check *check, gint64 value, const char *what, const char *by,
                          gint64 size) {
  if (size > 0 && value % size)
    orr_diags_error(check->diags, check->place,
                    "%ld %s cannot be split over %s = %ld: %s must divide them", value, what, by,
                    size, by);
}

static gboolean check_sizes(const Check *check) {
  const OrrShard *shard = check->shard;
  if (shard->tp >= 1 && shard->micro_batch >= 1 && shard->sequence >= 1) return TRUE;
  orr_diags_error(check->diags, check->place,
                  "tp %ld, micro-batch %ld, sequence %ld: each must be 1 or more", shard->tp,
                  shard->micro_batch, shard->sequence);
  return FALSE;
}

/* With fewer key-value heads than ranks, each is copied tp / kv-heads times. */
static void check_heads(const Check *check) {
  const OrrModel *model = check->model;
  gint64 tp = check->shard->tp, kv = MAX(1, model->kv_heads);
  check_divides(check, model->heads, "attention heads", "tp", tp);
  check_divides(check, model->ffn, "columns of the MLP", "tp", tp);
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++)
    check_divides(check, orr_model_kind(model, kind).ffn, "columns of an MLP", "tp", tp);
  if (model->compressed.ratio > 0)
    check_divides(check, model->compressed.groups, "groups of the output projection", "tp", tp);
  if (!model->mla.kv_rank && (tp <= kv || tp % kv))
    check_divides(check, kv, "key-value heads", "tp", tp);
  if (model->mamba.heads)
    check_divides(check, model->mamba.heads, "heads of Mamba layers", "tp", tp);
  if (model->mamba.heads)
    check_divides(check, model->mamba.groups, "groups of Mamba layers", "tp", tp);
  if (model->linear.key_heads)
    check_divides(check, model->linear.key_heads, "key heads of linear attention", "tp", tp);
  if (model->encoder.layers)
    check_divides(check, model->encoder.heads, "attention heads of the encoder", "tp", tp);
}

static void check_sequence(const Check *check) {
  const OrrModel *model = check->model;
  const OrrShard *shard = check->shard;
  gint64 cp = MAX(1, shard->cp);
  if (cp > 1) check_divides(check, shard->sequence, "tokens of a sequence", "2 * cp", 2 * cp);
  if (shard->sequence_parallel)
    check_divides(check, shard->sequence / cp, "tokens of a sequence (sequence parallelism)", "tp",
                  shard->tp);
  if (model->position == ORR_POSITION_LEARNED && shard->sequence > model->context)
    orr_diags_error(check->diags, check->place,
                    "sequence %ld is longer than the model's %ld learned positions",
                    shard->sequence, model->context);
  if (model->encoder.layers &&
      orr_encoder_decoder_tokens(model) * model->encoder.images > (double)shard->sequence)
    orr_diags_error(check->diags, check->place,
                    "%ld images make %.0f tokens, more than the sequence's %ld",
                    model->encoder.images,
                    orr_encoder_decoder_tokens(model) * model->encoder.images, shard->sequence);
}

static void check_hierarchy(const Check *check, gint64 cp, gint64 tp) {
  gint64 inner = MAX(1, check->shard->cp_inner);
  if (check->shard->context != ORR_CONTEXT_HIERARCHICAL) return;
  if (inner == 1 || inner >= cp || cp % inner != 0)
    return orr_diags_error(check->diags, check->place,
                           "context: hierarchical needs a context-inner that divides cp = %ld and "
                           "is neither 1 nor cp itself, found %ld",
                           cp, inner);
  check_divides(check, check->model->heads, "attention heads (hierarchical context parallelism)",
                "tp * context-inner", tp * inner);
}

/* All-to-all exchanges heads, so its ranks must divide them. */
static void check_context(const Check *check) {
  const OrrShard *shard = check->shard;
  gint64 cp = MAX(1, shard->cp), tp = MAX(1, shard->tp);
  if (cp == 1) return;
  if (shard->attention == ORR_ATTENTION_UNFUSED)
    orr_diags_error(check->diags, check->place, "cp = %ld wants fused attention", cp);
  if (shard->context == ORR_CONTEXT_ALL_TO_ALL)
    check_divides(check, check->model->heads, "attention heads (all-to-all context parallelism)",
                  "tp * cp", tp * cp);
  check_hierarchy(check, cp, tp);
  if (check->model->window.size > 0 && shard->context != ORR_CONTEXT_ALL_TO_ALL)
    orr_diags_error(check->diags, check->place,
                    "cp = %ld and windows of %ld tokens: attention that does not reach all tokens "
                    "cannot be split by sequence "
                    "here; set context to all-to-all, which splits heads, or cp to 1",
                    cp, check->model->window.size);
}

static void check_sparse(const Check *check) {
  const OrrModel *model = check->model;
  if (model->cross.tokens > 0)
    orr_diags_error(check->diags, check->place,
                    "model %s has cross-attention, which training does not support yet",
                    model->name);
  if (model->sparse.topk > 0 && MAX(1, check->shard->cp) > 1)
    orr_diags_error(check->diags, check->place,
                    "cp = %ld and sparse attention: a choice of %ld keys cannot be split by "
                    "sequence here; set cp to 1",
                    check->shard->cp, model->sparse.topk);
  if (model->sparse.topk > 0 && check->shard->attention == ORR_ATTENTION_UNFUSED)
    orr_diags_error(check->diags, check->place,
                    "attention: unfused does not support sparse attention: use attention: fused");
  if (model->compressed.ratio > 0 && model->sparse.topk == 0 && MAX(1, check->shard->cp) > 1)
    orr_diags_error(
        check->diags, check->place,
        "cp = %ld and compressed attention, which cannot be split by sequence here: set cp to 1",
        check->shard->cp);
  if (model->compressed.ratio > 0 && check->shard->attention == ORR_ATTENTION_UNFUSED)
    orr_diags_error(
        check->diags, check->place,
        "attention: unfused does not support compressed attention: use attention: fused");
}

static void check_experts(const Check *check) {
  const OrrMoe *moe = &check->model->moe;
  const OrrShard *shard = check->shard;
  gint64 ep = MAX(1, shard->ep), etp = MAX(1, shard->etp), tp = MAX(1, shard->tp);
  if (!moe->experts) {
    if (ep > 1 || etp > 1)
      orr_diags_error(check->diags, check->place,
                      "ep = %ld, etp = %ld, but the model has no experts: set both to 1, or choose "
                      "a model with 'moe'",
                      ep, etp);
    return;
  }
  if (ep > moe->experts)
    orr_diags_error(check->diags, check->place,
                    "ep = %ld is more than the model's %ld experts: each rank holds at least one",
                    ep, moe->experts);
  else
    check_divides(check, moe->experts, "experts", "ep", ep);
  check_divides(check, moe->ffn ? moe->ffn : check->model->ffn, "columns of an expert", "etp", etp);
  check_divides(check, moe->shared_ffn, "columns of the shared experts", "tp", tp);
  if (tp > 1 && !shard->sequence_parallel && ep * etp != tp)
    orr_diags_error(
        check->diags, check->place,
        "tp = %ld with experts wants sequence-parallel: true, as Megatron does (or ep * etp "
        "= tp, found %ld * %ld)",
        tp, ep, etp);
}

static void check_kernels(const Check *check) {
  const OrrShard *shard = check->shard;
  if (shard->attention != ORR_ATTENTION_UNFUSED) return;
  if (check->model->window.size > 0 && check->model->window.size < shard->sequence)
    orr_diags_error(
        check->diags, check->place,
        "attention: unfused knows no windows, the model's are of %ld tokens: use attention: fused",
        check->model->window.size);
  if (check->model->mla.kv_rank)
    orr_diags_error(check->diags, check->place,
                    "attention: unfused does not support latent attention: use attention: fused");
}

static void check_loss(const Check *check) {
  const OrrShard *shard = check->shard;
  if (orr_loss_is_linear(shard->loss) && MAX(1, shard->tp) > 1)
    orr_diags_error(check->diags, check->place,
                    "loss: %s computes all logits of a token on one GPU: set tp to 1, or loss to "
                    "fused",
                    orr_loss_words[shard->loss]);
}

void orr_transformer_check(const OrrModel *model, const OrrShard *shard, OrrPlace place,
                           OrrDiags *diags) {
  const Check check = {model, shard, place, diags};
  if (!check_sizes(&check)) return;
  check_heads(&check);
  check_sequence(&check);
  check_context(&check);
  check_sparse(&check);
  check_experts(&check);
  check_kernels(&check);
  check_loss(&check);
}

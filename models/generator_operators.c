/*
 * generator_operators.c - a block of a generator as operators of one GPU.
 *
 * Tokens are split over ulysses * ring GPUs outside attention. Inside, DeepSpeed-Ulysses (Jacobs et
 * al. 2023) gives each GPU all tokens of heads / ulysses heads; a ring (Liu et al. 2023) leaves its
 * queries and passes keys and values around. Both together are USP (Fang, Zhao 2024). Of t tokens,
 * batch b, width d:
 *
 *   Ulysses  four all-to-alls of b t/s d elements in each attention: q, k, v, and the result
 *   ring     ring - 1 sends of 2 b t/ring d/ulysses elements, each under a part of the attention
 *   tensor   an all-reduce of b t/s d elements after attention and after the feed-forward
 *
 * A call on one of `patches` (PipeFusion: Fang, Zhao et al. 2024, arXiv 2405.14430) has the queries
 * of that part of the picture and the keys and values of all of it: the step before left the other
 * patches'. Text is computed with each patch.
 *
 * With `displaced` patches (DistriFusion: Li et al. 2024, arXiv 2402.19481) GPUs compute one each
 * at the same time. After a layer's keys and values, and before a convolution, they gather what the
 * others need of it in the next step (distrifuser: pp/attn.py, pp/conv2d.py): of a layer of width
 * d, b pictures of n positions and rows of w positions,
 *
 *   attention     keys and values, 2 b n d elements, and a copy that joins them
 *   convolution   the first and last row of each of N patches, 2 N b w d elements
 *
 * Text that its GPUs cannot split evenly is computed on each of them (xDiT,
 * split_text_embed_in_sp): Stable Diffusion 3's 77 + 256 tokens.
 *
 * Pointwise work is a table (pointwise): kernels and bytes per element of PyTorch's eager kernels
 * in diffusers (models/normalization.py, attention_processor.py, embeddings.py), and of one fused
 * kernel. Norms of heads and rotations go through fp32, so they move more than their 4 bytes.
 */
#include "models/generator.h"

typedef struct {
  const char *name;
  double kernels, bytes; /* per element, eager */
  double fused_bytes;    /* one kernel */
} Pointwise;

enum { NORM, MODULATE, HEAD_NORM, ROPE, GATE, ADD, ACTIVATION, GATED, GROUP_NORM, SILU, CONCAT };

/* norm: read, write. modulate: x (1 + scale), then + shift. head norm: to fp32, square, mean,
 * product, back, times weight. rope: to fp32, rotate by stack, two products, sum, back. gate:
 * product, then sum with the stream. */
static const Pointwise pointwise[] = {
    [NORM] = {"layer-norm", 1, 4, 4},
    [MODULATE] = {"modulate", 2, 8, 0},
    [HEAD_NORM] = {"qk-norm", 6, 34, 4},
    [ROPE] = {"rope", 6, 30, 0},
    [GATE] = {"gate", 2, 10, 6},
    [ADD] = {"residual", 1, 6, 6},
    [ACTIVATION] = {"activation", 1, 4, 4},
    [GATED] = {"gated-activation", 2, 10, 6},
    [GROUP_NORM] = {"group-norm", 2, 6, 6},
    [SILU] = {"silu", 1, 4, 0},
    [CONCAT] = {"concatenate", 1, 4, 4},
};

typedef struct {
  const OrrBlock *block;
  const OrrGeneratorShape *shape;
  GArray *operators;
} Out;

/* Of the picture's positions, what a call computes. */
static double called(const Out *out, double picture) {
  return out->shape->patches > 1 ? ceil(picture / (double)out->shape->patches) : picture;
}

static double split(const Out *out) { return (double)(out->shape->ulysses * out->shape->ring); }

double orr_generator_positions(const OrrBlock *block, const OrrGeneratorShape *shape) {
  const double down = ceil((double)shape->height / block->scale);
  const double across = ceil((double)shape->width / block->scale);
  return down * across * (floor((double)(shape->frames - 1) / block->every) + 1);
}

static void put(const Out *out, OrrOperator op, double times, double dispatches) {
  if (!out->shape->compiled) op.kernels = ORR_KERNELS_EAGER;
  ORR_APPEND(out->operators, OrrBlockOperator, {op, times, dispatches});
}

/* A linear layer: a view, and the product with its bias. */
static void put_matrix(const Out *out, const char *name, double rows, double n, double k) {
  const OrrGemmShape shape = {.batch = 1,
                              .m = (gint64)fmax(1, ceil(rows)),
                              .n = (gint64)fmax(1, ceil(n)),
                              .k = (gint64)fmax(1, ceil(k))};
  put(out, orr_operator_gemm(name, ORR_PASS_FORWARD, out->shape->dtype, shape), 1, 1);
}

static void put_pointwise(const Out *out, guint which, double elements) {
  const Pointwise *p = &pointwise[which];
  const gboolean fused =
      out->shape->compiled || (out->shape->fused_heads && (which == HEAD_NORM || which == ROPE));
  const double kernels = fused ? 1 : p->kernels, bytes = fused ? p->fused_bytes : p->bytes;
  if (bytes > 0)
    put(out,
        orr_operator_memory(p->name, ORR_PASS_FORWARD, ORR_BF16, elements * bytes / kernels, 0),
        kernels, kernels);
}

/* Dispatches around NCCL's call: reshape, transpose, contiguous before it and after it. */
#define EXCHANGE_DISPATCHES 12

static void put_comm(const Out *out, const char *name, OrrOperatorGroup group, OrrOperatorComm comm,
                     double bytes, double times) {
  put(out, orr_operator_comm(name, ORR_PASS_FORWARD, group, comm, bytes), times,
      times * EXCHANGE_DISPATCHES);
}

/* Of a gather that kernels do not wait for: a copy into a buffer, the call, the views of the result
 * (assumed; distrifuser joins the calls of several layers). */
#define DISPLACED_DISPATCHES 3

static void put_displaced(const Out *out, const char *name, double bytes) {
  if (out->shape->displaced > 1)
    put(out, orr_operator_comm(name, ORR_PASS_FORWARD, ORR_GROUP_CP, ORR_COMM_ALL_GATHER, bytes), 1,
        DISPLACED_DISPATCHES);
}

/* Dispatches of a part of a ring: a batch of sends and receives, the kernel, the merge of results
 * by their log-sum-exps. Without a ring yunchang calls the same function with one part. */
#define RING_DISPATCHES 22

/* FlashAttention-2 has kernels for these sizes of heads; others take the next one. */
static gint64 head_dim_of(const Out *out) {
  static const gint64 sizes[] = {32, 64, 96, 128, 192, 256};
  const gint64 size = out->block->head_dim;
  guint i = 0;
  if (out->shape->flash == ORR_FLASH_AS_MEASURED) return size;
  while (i < G_N_ELEMENTS(sizes) && sizes[i] < size) i++;
  return i < G_N_ELEMENTS(sizes) ? sizes[i] : size;
}

static gboolean splits_text(const Out *out) {
  return out->shape->text_tokens % (out->shape->ulysses * out->shape->ring) == 0;
}

/* A GPU's rows of @picture positions and @text tokens. */
static double rows_of(const Out *out, double picture, double text) {
  return (double)out->shape->batch *
         (ceil(called(out, picture) / split(out)) + (splits_text(out) ? text / split(out) : text));
}

/* Keys and values of all patches. */
static void put_displaced_keys(const Out *out, double picture) {
  const double elements =
      2 * (double)out->shape->batch * picture * (double)(out->block->heads * out->block->head_dim);
  if (out->shape->displaced <= 1) return;
  put_displaced(out, "gather keys and values", 2 * elements);
  put_pointwise(out, CONCAT, elements);
}

/* Attention over @picture positions and @text tokens. A GPU has a part of them. */
static void put_core(const Out *out, double picture, double text) {
  const OrrBlock *block = out->block;
  const OrrGeneratorShape *shape = out->shape;
  const double ring = (double)shape->ring, heads = (double)block->heads / shape->tp;
  const double shared = splits_text(out) ? picture + text : picture;
  const double alone = splits_text(out) ? 0 : text;
  const double asked = shared - picture + called(out, picture);
  const double tokens = asked / ring + alone;
  const double local = shape->batch * asked / split(out) * heads * block->head_dim;
  const gboolean is_ring = shape->ring > 1;
  put_displaced_keys(out, picture);
  OrrAttentionShape attention = {.batch = shape->batch,
                                 .q_length = (gint64)fmax(1, ceil(tokens)),
                                 .kv_length = (gint64)fmax(1, ceil(shared / ring + alone / ring)),
                                 .heads = MAX(1, (gint64)(heads / shape->ulysses)),
                                 .kv_heads = MAX(1, (gint64)(heads / shape->ulysses)),
                                 .head_dim = head_dim_of(out),
                                 .flash = shape->flash};
  if (shape->ulysses > 1)
    put_comm(out, "all-to-all q, k, v", ORR_GROUP_CP_INNER, ORR_COMM_ALL_TO_ALL, 2 * local, 3);
  if (is_ring)
    put(out,
        orr_operator_comm("keys and values", ORR_PASS_FORWARD, ORR_GROUP_CP_OUTER,
                          ORR_COMM_SEND_RECV, 4 * local),
        ring - 1, 0);
  put(out, orr_operator_attention("attention", ORR_PASS_FORWARD, ORR_BF16, attention), ring,
      split(out) > 1 ? ring * RING_DISPATCHES : 2);
  if (is_ring) /* sums in fp32: read two results and their sums, write one */
    put(out, orr_operator_memory("merge", ORR_PASS_FORWARD, ORR_BF16, 12 * local, 0),
        3 * (ring - 1), 0);
  if (shape->ulysses > 1)
    put_comm(out, "all-to-all result", ORR_GROUP_CP_INNER, ORR_COMM_ALL_TO_ALL, 2 * local, 1);
}

/* Queries, keys and values of @rows. */
static void put_inputs(const Out *out, double rows) {
  const OrrBlock *block = out->block;
  const double tp = (double)out->shape->tp, heads = (double)block->heads * block->head_dim / tp,
               kv = (double)block->kv_heads * block->head_dim / tp;
  put_matrix(out, "q", rows, heads, (double)block->width);
  put_matrix(out, "k", rows, kv, (double)block->width);
  put_matrix(out, "v", rows, kv, (double)block->width);
  if (block->qk_norm) put_pointwise(out, HEAD_NORM, rows * (heads + kv));
  if (block->rope) put_pointwise(out, ROPE, rows * (heads + kv));
}

static void put_reduce(const Out *out, double rows) {
  if (out->shape->tp > 1)
    put_comm(out, "all-reduce", ORR_GROUP_TP, ORR_COMM_ALL_REDUCE, 2 * rows * out->block->width, 1);
}

static void put_output(const Out *out, double rows) {
  const OrrBlock *block = out->block;
  put_matrix(out, "output", rows, (double)block->width,
             (double)block->heads * block->head_dim / out->shape->tp);
  put_reduce(out, rows);
  put_pointwise(out, block->modulated ? GATE : ADD, rows * block->width);
}

static void put_norm(const Out *out, double rows) {
  put_pointwise(out, NORM, rows * out->block->width);
  if (out->block->modulated) put_pointwise(out, MODULATE, rows * out->block->width);
}

static void put_feed(const Out *out, double rows) {
  const OrrBlock *block = out->block;
  const double inner = (double)block->ffn / out->shape->tp;
  if (block->ffn == 0) return;
  put_norm(out, rows);
  put_matrix(out, "up", rows, block->gated ? 2 * inner : inner, (double)block->width);
  put_pointwise(out, block->gated ? GATED : ACTIVATION, rows * inner);
  put_matrix(out, "down", rows, (double)block->width, inner);
  put_reduce(out, rows);
  put_pointwise(out, block->modulated ? GATE : ADD, rows * block->width);
}

/* Each GPU has its own queries and all of the text. */
static void put_cross(const Out *out, double rows) {
  const OrrBlock *block = out->block;
  const OrrGeneratorShape *shape = out->shape;
  const double heads = (double)block->heads * block->head_dim / shape->tp;
  const double text = (double)(shape->batch * shape->text_tokens);
  const OrrAttentionShape attention = {.batch = shape->batch,
                                       .q_length = (gint64)fmax(1, rows / shape->batch),
                                       .kv_length = shape->text_tokens,
                                       .heads = MAX(1, block->heads / shape->tp),
                                       .kv_heads = MAX(1, block->heads / shape->tp),
                                       .head_dim = head_dim_of(out),
                                       .flash = shape->flash};
  put_pointwise(out, NORM, rows * block->width);
  put_matrix(out, "cross-q", rows, heads, (double)block->width);
  put_matrix(out, "cross-k", text, heads, (double)block->cross);
  put_matrix(out, "cross-v", text, heads, (double)block->cross);
  if (block->qk_norm) put_pointwise(out, HEAD_NORM, (rows + text) * heads);
  put(out, orr_operator_attention("cross-attention", ORR_PASS_FORWARD, ORR_BF16, attention), 1, 2);
  put_matrix(out, "cross-output", rows, (double)block->width, heads);
  put_reduce(out, rows);
  put_pointwise(out, ADD, rows * block->width);
}

static void put_transformer(const Out *out) {
  const OrrBlock *block = out->block;
  const double picture = orr_generator_positions(block, out->shape);
  const double tokens = block->tokens > 0 ? (double)block->tokens : picture;
  const double text = block->joint ? (double)out->shape->text_tokens : 0;
  const double rows = rows_of(out, tokens, text);
  put_norm(out, rows);
  put_inputs(out, rows);
  put_core(out, tokens, text);
  put_output(out, rows);
  if (block->cross > 0) put_cross(out, rows);
  put_feed(out, rows);
}

static void put_double(const Out *out) {
  const double picture = orr_generator_positions(out->block, out->shape);
  const double text = (double)out->shape->text_tokens;
  const double rows[] = {rows_of(out, picture, 0), rows_of(out, 0, text)};
  const OrrBlock words = orr_generator_text_block(out->block);
  const Out streams[] = {*out, {&words, out->shape, out->operators}};
  for (guint i = 0; i < 2; i++) {
    put_norm(&streams[i], rows[i]);
    put_inputs(&streams[i], rows[i]);
  }
  put_pointwise(out, CONCAT,
                3 * (rows[0] + rows[1]) * out->block->heads * out->block->head_dim /
                    (double)out->shape->tp);
  put_core(out, picture, text);
  for (guint i = 0; i < 2; i++) put_output(&streams[i], rows[i]);
  if (out->block->dual) {
    put_inputs(out, rows[0]);
    put_core(out, picture, 0);
    put_output(out, rows[0]);
  }
  for (guint i = 0; i < 2; i++) put_feed(&streams[i], rows[i]);
}

static void put_single(const Out *out) {
  const OrrBlock *block = out->block;
  const double picture = orr_generator_positions(block, out->shape),
               text = (double)out->shape->text_tokens;
  const double rows = rows_of(out, picture, text), tp = (double)out->shape->tp,
               heads = (double)block->heads * block->head_dim / tp, inner = (double)block->ffn / tp;
  put_norm(out, rows);
  put_inputs(out, rows);
  put_matrix(out, "up", rows, block->gated ? 2 * inner : inner, (double)block->width);
  put_pointwise(out, block->gated ? GATED : ACTIVATION, rows * inner);
  put_core(out, picture, text);
  put_pointwise(out, CONCAT, rows * (heads + inner));
  put_matrix(out, "output", rows, (double)block->width, heads + inner);
  put_reduce(out, rows);
  put_pointwise(out, GATE, rows * block->width);
}

/* A convolution reads its input once and writes its result once; the product knows nothing of the
 * overlap of its rows, so its bytes are set. */
static void put_convolution(const Out *out, double positions, double in, double kernel,
                            double depth) {
  const double taps = in * kernel * kernel * depth;
  put_matrix(out, "convolution", positions, (double)out->block->width, taps);
  OrrOperator *op = &g_array_index(out->operators, OrrBlockOperator, out->operators->len - 1).op;
  op->bytes = 2 * (positions * (in + out->block->width) + taps * out->block->width);
}

/* The first and last row of each patch. */
static void put_displaced_rows(const Out *out, double channels) {
  const OrrGeneratorShape *shape = out->shape;
  const double row = ceil((double)shape->width / out->block->scale);
  if (out->block->kernel > 1)
    put_displaced(out, "gather rows",
                  2 * 2 * (double)(shape->displaced * shape->batch) * row * channels);
}

static void put_convolutions(const Out *out) {
  const OrrBlock *block = out->block;
  const double positions = ceil(out->shape->batch * orr_generator_positions(block, out->shape) /
                                (double)out->shape->shards);
  const double in = (double)(block->in ? block->in : block->width), width = (double)block->width;
  if (block->kind == ORR_BLOCK_RESNET) {
    put_pointwise(out, GROUP_NORM, positions * in);
    put_pointwise(out, SILU, positions * in);
  }
  put_displaced_rows(out, in);
  put_convolution(out, positions, in, (double)block->kernel, (double)block->depth);
  if (block->kind == ORR_BLOCK_CONV) return;
  put_pointwise(out, GROUP_NORM, positions * width);
  put_pointwise(out, SILU, positions * width);
  put_displaced_rows(out, width);
  put_convolution(out, positions, width, (double)block->kernel, (double)block->depth);
  if (in != width) put_convolution(out, positions, in, 1, 1);
  put_pointwise(out, ADD, positions * width);
}

void orr_generator_operators(const OrrBlock *block, const OrrGeneratorShape *shape,
                             GArray *operators) {
  const Out out = {block, shape, operators};
  if (block->kind == ORR_BLOCK_TRANSFORMER)
    put_transformer(&out);
  else if (block->kind == ORR_BLOCK_DOUBLE)
    put_double(&out);
  else if (block->kind == ORR_BLOCK_SINGLE)
    put_single(&out);
  else
    put_convolutions(&out);
}

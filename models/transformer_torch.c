/*
 * transformer_torch.c - what differs where a layer's modules are torch.nn.Linear under DTensor and
 * torch.compile, as torchtitan writes a Llama (OrrLayers: torch).
 *
 *   products     wq, wk, wv, w1 and w3 are products of their own. The gradients of their common
 *                input are summed: each after the first is read once more
 *   copies       Tensors are [batch, sequence, hidden], and tensor parallelism splits the sequence.
 *                NCCL needs each rank's part in one piece, so with two sequences or more a copy
 *                follows each gather and precedes each scatter (pytorch issue 143985). Slices of
 *                async-tp need none
 *   rope         on complex numbers, which the compiler leaves to PyTorch: to fp32 2 + 4 bytes per
 *                element, the product 4 + 4, back 4 + 2 (torchtitan, apply_rotary_emb)
 *   keys, values are repeated for all query heads before attention (repeat_kv), and so travel
 *                between context-parallel ranks
 *   fp8          torchao's casts, kernels of the compiler. Bytes per element, T: the transposed
 *                operand that the product by weight needs on Hopper
 *
 *                             input, forward    output's gradient     input, backward
 *                  tensor     2; 2 + 1          2; 2 + 1 + 1 T        2 + 1 T    (weights 1 + 1 T)
 *                  row        2 + 1             2 + 1; 2 + 2 + 1 T    2 + 2 + 1 T  (and weights)
 *
 *                A tensor that is gathered is cast before, on its own rank, and turned after it:
 *                1 + 1 T. Rows are scaled after the gather, which carries 16 bits.
 *                `scaled-cast` and `turned-cast` have rates of their own in the profile.
 *
 *   eager        Without torch.compile each elementwise operator is a kernel (`compile: false`). In
 *                bytes per element of 16 bits:
 *                  RMS norm  aten's rms_norm, composed of operators until PyTorch 2.8: to fp32 2 +
 *                            4, square 4 + 4, mean 4, by the root 4 + 4, back 4 + 2, by the weight
 *                            2 + 2; backward ten kernels, 68. Its layer_norm is one kernel
 *                            forward, two backward (transformer.c)
 *                  gate      silu 2 + 2, product 2 + 2 + 2; backward three kernels of 6
 *                  adapters  the input dropped out where lora.dropout is on, 2 + 2 + 1; in fp32
 *                            (lora.fp32, PEFT) cast up 2 + 4, dropped out 4 + 4 + 1, cast down by
 *                            autocast 4 + 2, and the result scaled 2 + 2
 *                  fp8 cast  absolute value 2 + 2, maximum 2, to fp32 2 + 4, scale 4 + 4, clamp 4 +
 *                            4, to fp8 4 + 1, where the compiler's two kernels move 2 + 2 + 1
 *
 * Sources: pytorch/torchtitan, models/llama3/model.py (2024-12 to 2025-06); pytorch/ao,
 * float8_linear.py and float8_tensor_parallel.py; pytorch issue 133242 for the casts.
 */
#include "models/transformer_private.h"

guint orr_transformer_products(const OrrTransformerView *view, const OrrMatrix *matrix,
                               OrrProduct products[3]) {
  guint n = 0;
  products[0] = (OrrProduct){matrix->name, matrix->out};
  if (view->shard->layers != ORR_LAYERS_TORCH) return 1;
  for (; n < 3 && matrix->pieces[n].name; n++) products[n] = matrix->pieces[n];
  return MAX(1, n);
}

gboolean orr_transformer_copies(const OrrTransformerView *view) {
  return view->shard->layers == ORR_LAYERS_TORCH && view->tp > 1 && view->sequences > 1;
}

/* A copy of @bytes before or after a collective. */
void orr_transformer_put_copy(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                              OrrOperatorComm comm, double bytes) {
  const char *name = comm == ORR_COMM_ALL_GATHER ? "gather-copy" : "scatter-copy";
  ORR_APPEND(operators, OrrOperator,
             orr_operator_memory(name, pass, view->shard->dtype, 2 * bytes, 0));
}

void orr_transformer_put_grad_sum(const OrrTransformerView *view, GArray *operators, guint products,
                                  double elements) {
  /* the compiler adds in the kernel that reads the sum: a copy, or the norm's backward */
  const double apart = view->tp > 1 && !orr_transformer_copies(view) ? 2 : 0;
  if (products > 1)
    orr_transformer_put_memory(view, operators, "input-grad-sum", ORR_PASS_DGRAD, elements,
                               products - 1 + apart, 0);
}

static void put_bytes(const OrrTransformerView *view, GArray *operators, const char *name,
                      OrrPass pass, double bytes) {
  const OrrOperator op = orr_operator_memory(name, pass, view->shard->dtype, bytes, 0);
  if (bytes > 0) g_array_append_val(operators, op);
}

/* Elements that this rank casts of @elements; others cast the parts that it gathers. */
static double cast_here(const OrrTransformerView *view, gboolean gathered, double elements) {
  return gathered ? elements / (double)view->tp : elements;
}

static void put_casts_backward(const OrrTransformerView *view, GArray *operators,
                               const OrrMatrix *matrix, double rows) {
  const double inputs = rows * matrix->in, results = rows * matrix->out;
  const double weights = (double)matrix->out * matrix->in;
  const gboolean sums = view->sequence_parallel && matrix->split == ORR_SPLIT_ROW;
  const gboolean gathered = view->sequence_parallel && matrix->split == ORR_SPLIT_COLUMN;
  if (view->shard->recipe->row_scaled) {
    put_bytes(view, operators, "scaled-cast", ORR_PASS_DGRAD, (2 + 1) * results);
    put_bytes(view, operators, "turned-cast", ORR_PASS_DGRAD,
              (2 + 2 + 1) * (results + inputs + weights));
    return;
  }
  const double own = cast_here(view, sums, results);
  put_bytes(view, operators, "scaled-cast", ORR_PASS_DGRAD, own * (sums ? 2 + 2 + 1 : 2));
  put_bytes(view, operators, "turned-cast", ORR_PASS_DGRAD,
            results * (sums ? 1 + 1 : 2 + 1 + 1) + inputs * (gathered ? 1 + 1 : 2 + 1) +
                weights * (1 + 1));
}

#define MOST_EAGER 10
static const double eager_bytes[][2][MOST_EAGER] = {
    [ORR_EAGER_NORM] = {{2 + 4, 4 + 4, 4, 4 + 4, 4 + 2, 2 + 2},
                        {2 + 2, 2 + 2 + 2, 2, 2 + 4, 4 + 4, 4 + 4 + 4, 4, 4 + 4, 4 + 4 + 4, 4 + 2}},
    [ORR_EAGER_GATE] = {{2 + 2, 2 + 2 + 2}, {2 + 2 + 2, 2 + 2 + 2, 2 + 2 + 2}},
};

gboolean orr_transformer_put_torch_eager(const OrrTransformerView *view, GArray *operators,
                                         OrrEagerWork work, const char *name, OrrPass pass,
                                         double elements) {
  if (!view->shard->uncompiled) return FALSE;
  const double *bytes = eager_bytes[work][pass != ORR_PASS_FORWARD];
  for (int i = 0; i < MOST_EAGER; i++) put_bytes(view, operators, name, pass, bytes[i] * elements);
  return TRUE;
}

void orr_transformer_put_torch_adapter(const OrrTransformerView *view, GArray *operators,
                                       OrrPass pass, double in, double out) {
  const OrrLora *lora = &view->shard->lora;
  const double element = lora->fp32 ? 4 : 2;
  if (!view->shard->uncompiled) return;
  if (lora->fp32) put_bytes(view, operators, "lora-cast", pass, (2 + 4) * in);
  if (lora->dropout) put_bytes(view, operators, "lora-dropout", pass, (element + element + 1) * in);
  if (lora->fp32) put_bytes(view, operators, "lora-cast", pass, (4 + 2) * in);
  if (lora->fp32) put_bytes(view, operators, "lora-scale", pass, (2 + 2) * out);
}

/* What casting @elements moves without the compiler, in addition. */
static void put_eager_cast(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                           double elements) {
  const double bytes = 2 + 2 + 2 + 2 + 4 + 4 + 4 + 4 + 4 + 4 + 1 - (2 + 2 + 1);
  if (view->shard->uncompiled) put_bytes(view, operators, "scaled-cast", pass, bytes * elements);
}

void orr_transformer_put_torch_casts(const OrrTransformerView *view, GArray *operators,
                                     const OrrMatrix *matrix, double rows, OrrPass pass) {
  const OrrPrecisionRecipe *recipe = view->shard->recipe;
  const double inputs = rows * matrix->in, weights = (double)matrix->out * matrix->in;
  const gboolean gathered = view->sequence_parallel && matrix->split == ORR_SPLIT_COLUMN;
  if (!orr_precision_casts(recipe)) return;
  put_eager_cast(view, operators, pass,
                 rows * (pass == ORR_PASS_FORWARD ? matrix->in : matrix->out));
  if (pass == ORR_PASS_FORWARD)
    put_bytes(view, operators, "scaled-cast", pass,
              recipe->row_scaled ? (2 + 1) * (inputs + weights)
                                 : (2 + 2 + 1) * cast_here(view, gathered, inputs));
  else
    put_casts_backward(view, operators, matrix, rows);
}

void orr_transformer_drop_end(GArray *operators) {
  guint n = operators->len;
  for (; n > 0; n--) {
    OrrOperator *last = &g_array_index(operators, OrrOperator, n - 1);
    if (last->kind == ORR_OPERATOR_GEMM) break;
    if (last->kind != ORR_OPERATOR_MOE) continue;
    OrrMoeShape shape = last->moe;
    shape.without_last = TRUE; /* the others make what the last product reads */
    *last = orr_operator_moe(last->name, last->pass, last->dtype, shape);
    g_array_set_size(operators, n);
    return;
  }
  if (n > 0) g_array_set_size(operators, n - 1);
}

OrrTransformerView orr_transformer_repeated(const OrrTransformerView *view) {
  OrrTransformerView repeated = *view;
  if (view->shard->layers != ORR_LAYERS_TORCH) return repeated;
  repeated.layer.kv_heads = view->layer.heads;
  repeated.layer.kv = view->layer.q;
  repeated.layer.value = view->layer.context;
  return repeated;
}

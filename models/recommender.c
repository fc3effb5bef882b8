/*
 * recommender.c - the fields of a recommendation model, its counts, and its dense operators.
 *
 * Activations are parts of their products (cuBLASLt's epilogues, as HugeCTR's fused MLP has them).
 * A cross layer's pointwise kernel reads x0, U V x and x and writes x; backwards it reads the
 * gradient, x0 and U V x, and writes or adds three gradients. The concatenation copies a sample's
 * vectors once each way.
 */
#include "models/recommender.h"

static const char *const interaction_words[] = {"cross", "dot", NULL};

#define COUNT(type_, name_, member_, fallback_, least_, most_, sentence_)                          \
  ORR_FIELD_INT(type_, name_, member_, fallback_, sentence_, .min = least_, .max = most_)

static const OrrFieldTable table_table = ORR_FIELDS(
    "embedding-table", "A table of vectors.", OrrEmbeddingTable,
    COUNT(OrrEmbeddingTable, "rows", rows, NULL, 1, 1e12, "Rows of the table."),
    COUNT(OrrEmbeddingTable, "hot", hot, "1", 1, 1e5, "Rows of it that a sample looks up."),
    ORR_FIELD_BOOL(OrrEmbeddingTable, "pooled", pooled, "true",
                   "Whether their vectors are summed; false: each is sent, as a "
                   "history's items are."));

static const OrrFieldTable sequence_table = ORR_FIELDS(
    "recommender-sequence", "A generative recommender's layers (HSTU).", OrrRecommenderSequence,
    COUNT(OrrRecommenderSequence, "layers", layers, "0", 0, 1e4,
          "Layers over the history; 0: the vectors meet in the interaction."),
    COUNT(OrrRecommenderSequence, "tokens", tokens, "1", 1, 1e7, "Tokens of a sample's history."),
    COUNT(OrrRecommenderSequence, "heads", heads, "1", 1, 1e4, "Attention heads."),
    COUNT(OrrRecommenderSequence, "head-dim", head_dim, "64", 1, 1e5,
          "Width of a head's query, key, value and gate."));

const OrrFieldTable orr_recommender_table = ORR_FIELDS(
    "recommender", "A recommendation model.", OrrRecommender,
    ORR_FIELD_TEXT(OrrRecommender, "name", name, NULL, "Name of the model in results."),
    ORR_FIELD_TEXT(OrrRecommender, "source", source, NULL, "Source of the sizes."),
    COUNT(OrrRecommender, "width", width, NULL, 1, 1e5, "Elements of a vector of a table."),
    COUNT(OrrRecommender, "dense", dense, "0", 0, 1e6, "Numbers of a sample."),
    ORR_FIELD_REALS(OrrRecommender, "bottom", bottom, ORR_UNIT_NONE, "[]",
                    "Widths of the bottom MLP's layers; the last one is the tables' width. A "
                    "sequence needs none.",
                    .min = 1),
    ORR_FIELD_WORD(OrrRecommender, "interaction", interaction, interaction_words, "cross",
                   "How the vectors meet: cross layers of DCN v2, or products of all pairs (dot)."),
    COUNT(OrrRecommender, "cross-layers", cross_layers, "3", 1, 100, "Cross layers."),
    COUNT(OrrRecommender, "cross-rank", cross_rank, "512", 1, 1e6,
          "Rank of the matrix of a cross layer."),
    ORR_FIELD_SECTION(OrrRecommender, "sequence", sequence, &sequence_table, "{}",
                      "Layers over a history, instead of an interaction."),
    ORR_FIELD_REALS(OrrRecommender, "top", top, ORR_UNIT_NONE, NULL,
                    "Widths of the top MLP's layers.", .min = 1),
    ORR_FIELD_SECTIONS(OrrRecommender, "tables", tables, &table_table, NULL, "The tables."));

void orr_recommender_check(const OrrRecommender *model, OrrPlace place, OrrDiags *diags) {
  const GArray *bottom = model->bottom;
  const gboolean is_sequence = model->sequence.layers > 0;
  if (model->tables->len == 0) orr_diags_error(diags, place, "the model has no tables");
  if (is_sequence && (bottom->len > 0 || model->dense > 0))
    orr_diags_error(diags, place,
                    "'sequence' reads tables alone: leave out 'dense' and 'bottom' (numbers of a "
                    "history are not simulated)");
  ORR_EACH_POINTER(const OrrEmbeddingTable, table, model->tables)
    if (!is_sequence && !table->pooled)
      orr_diags_error(diags, place, "a table is not pooled, but the model has no 'sequence'");
  if (model->top->len == 0) orr_diags_error(diags, place, "'top' has no layers");
  if (is_sequence) return;
  if (model->dense < 1) orr_diags_error(diags, place, "'dense' wants 1 or more numbers");
  if (bottom->len == 0 || g_array_index(bottom, double, bottom->len - 1) != (double)model->width)
    orr_diags_error(diags, place, "the last layer of 'bottom' must have the tables' width, %ld",
                    model->width);
}

/* --- Counts --- */

static double vectors(const OrrRecommender *model) { return (double)model->tables->len + 1; }

/* Width of what the interaction reads, and of its result. */
static double joined(const OrrRecommender *model) { return vectors(model) * (double)model->width; }
static double interacted(const OrrRecommender *model) {
  const double n = vectors(model);
  if (model->sequence.layers > 0) return (double)model->width;
  return model->interaction == ORR_INTERACTION_CROSS ? joined(model)
                                                     : n * (n - 1) / 2 + (double)model->width;
}

static double mlp_parameters(const GArray *widths, double in) {
  double sum = 0;
  ORR_EACH_VALUE(const double, out, widths) {
    sum += in * out + out;
    in = out;
  }
  return sum;
}

static double sequence_width(const OrrRecommender *model) {
  return (double)(model->sequence.heads * model->sequence.head_dim);
}

double orr_recommender_dense_parameters(const OrrRecommender *model) {
  if (model->sequence.layers > 0)
    return (double)model->sequence.layers * 5 * (double)model->width * sequence_width(model) +
           mlp_parameters(model->top, interacted(model));
  const double cross = model->interaction == ORR_INTERACTION_CROSS
                           ? (double)model->cross_layers *
                                 (2 * joined(model) * (double)model->cross_rank + joined(model))
                           : 0;
  return mlp_parameters(model->bottom, (double)model->dense) + cross +
         mlp_parameters(model->top, interacted(model));
}

double orr_recommender_table_parameters(const OrrRecommender *model) {
  double rows = 0;
  for (guint t = 0; t < model->tables->len; t++)
    rows += (double)((const OrrEmbeddingTable *)model->tables->pdata[t])->rows;
  return rows * (double)model->width;
}

/* --- Operators --- */

typedef struct {
  double samples;
  OrrDtype dtype;
  gboolean backward;
  GArray *operators;
} Out;

static void put_gemm(const Out *out, const char *name, OrrPass pass, double m, double n, double k) {
  const OrrGemmShape shape = {
      .batch = 1, .m = (gint64)fmax(1, m), .n = (gint64)fmax(1, n), .k = (gint64)fmax(1, k)};
  ORR_APPEND(out->operators, OrrOperator, orr_operator_gemm(name, pass, out->dtype, shape));
}

static void put_matrix(const Out *out, const char *name, double to, double from) {
  if (!out->backward) return put_gemm(out, name, ORR_PASS_FORWARD, out->samples, to, from);
  put_gemm(out, name, ORR_PASS_DGRAD, out->samples, from, to);
  put_gemm(out, name, ORR_PASS_WGRAD, to, from, out->samples);
}

static void put_memory(const Out *out, const char *name, double bytes) {
  ORR_APPEND(out->operators, OrrOperator,
             orr_operator_memory(name, out->backward ? ORR_PASS_DGRAD : ORR_PASS_FORWARD,
                                 out->dtype, out->samples * bytes, 0));
}

static void put_mlp(const Out *out, const char *name, const GArray *widths, double in) {
  ORR_EACH_VALUE(const double, to, widths) {
    put_matrix(out, name, to, in);
    in = to;
  }
}

void orr_recommender_bottom(const OrrRecommender *model, double samples, OrrDtype dtype,
                            gboolean backward, GArray *operators) {
  const Out out = {samples, dtype, backward, operators};
  put_mlp(&out, "bottom", model->bottom, (double)model->dense);
}

static void put_cross(const Out *out, const OrrRecommender *model) {
  const double bytes = orr_dtype_bytes(out->dtype);
  for (gint64 i = 0; i < model->cross_layers; i++) {
    put_matrix(out, "cross-down", (double)model->cross_rank, joined(model));
    put_matrix(out, "cross-up", joined(model), (double)model->cross_rank);
    put_memory(out, "cross", (out->backward ? 8 : 4) * bytes * joined(model));
  }
}

static void put_dot(const Out *out, const OrrRecommender *model) {
  const double flops = 2 * vectors(model) * vectors(model) * (double)model->width;
  OrrOperator op =
      orr_operator_memory("dot", out->backward ? ORR_PASS_DGRAD : ORR_PASS_FORWARD, out->dtype,
                          out->samples * orr_dtype_bytes(out->dtype) *
                              ((out->backward ? 2 : 1) * joined(model) + interacted(model)),
                          out->samples * flops * (out->backward ? 2 : 1));
  g_array_append_val(out->operators, op);
}

/* The gates' and queries' SiLU is the product's epilogue; attention's is inside its kernel. The
 * norm reads the result and the gate and writes one. Backwards half more bytes. */
static void put_sequence(const Out *out, const OrrRecommender *model) {
  const OrrRecommenderSequence *sequence = &model->sequence;
  const OrrAttentionShape attention = {.batch = (gint64)fmax(1, out->samples),
                                       .q_length = sequence->tokens,
                                       .kv_length = sequence->tokens,
                                       .heads = sequence->heads,
                                       .kv_heads = sequence->heads,
                                       .head_dim = sequence->head_dim,
                                       .causal = TRUE};
  const Out rows = {out->samples * (double)sequence->tokens, out->dtype, out->backward,
                    out->operators};
  const double q = sequence_width(model), width = (double)model->width,
               moved = orr_dtype_bytes(out->dtype) * (out->backward ? 1.5 : 1);
  for (gint64 layer = 0; layer < sequence->layers; layer++) {
    put_matrix(&rows, "sequence-in", 4 * q, width);
    ORR_APPEND(out->operators, OrrOperator,
               orr_operator_attention("attention",
                                      out->backward ? ORR_PASS_DGRAD : ORR_PASS_FORWARD, out->dtype,
                                      attention));
    put_memory(&rows, "norm-gate", 3 * q * moved);
    put_matrix(&rows, "sequence-out", width, q);
    put_memory(&rows, "residual", 3 * width * moved);
  }
}

void orr_recommender_top(const OrrRecommender *model, double samples, OrrDtype dtype,
                         gboolean backward, GArray *operators) {
  const Out out = {samples, dtype, backward, operators};
  if (model->sequence.layers == 0)
    put_memory(&out, "concatenate", 2 * orr_dtype_bytes(dtype) * joined(model));
  if (model->sequence.layers > 0)
    put_sequence(&out, model);
  else if (model->interaction == ORR_INTERACTION_CROSS)
    put_cross(&out, model);
  else
    put_dot(&out, model);
  put_mlp(&out, "top", model->top, interacted(model));
}

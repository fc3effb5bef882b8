/*
 * recommender.h - the document of a recommendation model (DLRM, HSTU), and its dense operators.
 *
 * Documents: models/recommenders/NAME.yaml (`schema: recommender/1`). A sample has `dense` numbers
 * and, for each table, `hot` rows to look up, whose vectors are summed (pooled):
 *
 *   numbers --> bottom MLP --+
 *                            +--> interaction --> top MLP --> a probability
 *   rows --> pooled vectors -+
 *
 * With T tables of width d, n = (T + 1) d:
 *
 *   cross   DCN v2 (Wang et al. 2021, arXiv 2008.13535), low rank r: x <- x0 (U (V x)) + x,
 *           `cross-layers` times; V is n -> r, U is r -> n; the result has width n
 *   dot     DLRM (Naumov et al. 2019, arXiv 1906.00091): products of all pairs; the result has
 *           width T (T + 1) / 2 + d
 *
 * A generative recommender (HSTU: Zhai et al. 2024, arXiv 2402.17152) reads a history of N tokens,
 * whose vectors are not pooled, with layers of its own instead of the interaction. With q = heads
 * head_dim:
 *
 *   U, V, Q, K = SiLU(X Win)          Win: d -> 4 q
 *   Y = norm(SiLU(Q K^T) V) * U       causal, without a softmax
 *   X <- X + Y Wout                   Wout: q -> d
 *
 *   forward, FLOPs of a sample = layers (10 N d q + 2 N^2 q), attention with the causal half
 */
#pragma once

#include "models/operator.h"
#include "sim/base/field.h"

typedef enum { ORR_INTERACTION_CROSS, ORR_INTERACTION_DOT } OrrInteraction;

typedef struct {
  gint64 rows, hot;
  gboolean pooled; /* FALSE: each of the `hot` vectors goes its own way */
} OrrEmbeddingTable;

typedef struct {
  gint64 layers; /* 0: no sequence, but an interaction */
  gint64 tokens; /* of a sample's history */
  gint64 heads, head_dim;
} OrrRecommenderSequence;

typedef struct {
  char *name, *source;
  gint64 width, dense;
  GArray *bottom, *top; /* of double: widths of the layers' results */
  int interaction;      /* OrrInteraction */
  gint64 cross_layers, cross_rank;
  OrrRecommenderSequence sequence;
  GPtrArray *tables; /* of OrrEmbeddingTable */
} OrrRecommender;

extern const OrrFieldTable orr_recommender_table;

/* Findings at @place: the last layer of the bottom MLP has another width than the tables, ... */
void orr_recommender_check(const OrrRecommender *model, OrrPlace place, OrrDiags *diags);

double orr_recommender_dense_parameters(const OrrRecommender *model);
double orr_recommender_table_parameters(const OrrRecommender *model);

/* Appends (OrrOperator) the forward of @samples: of the bottom MLP; and of interaction or sequence
 * and top MLP, backwards with their products by data and by weight. */
void orr_recommender_bottom(const OrrRecommender *model, double samples, OrrDtype dtype,
                            gboolean backward, GArray *operators);
void orr_recommender_top(const OrrRecommender *model, double samples, OrrDtype dtype,
                         gboolean backward, GArray *operators);

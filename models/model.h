/*
 * model.h - a dense decoder transformer as a document, its size and its FLOPs.
 *
 * Documents: models/zoo/NAME.yaml (`schema: model/1`).
 */
#ifndef ORR_MODEL_H
#define ORR_MODEL_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef enum { ORR_ACTIVATION_GELU, ORR_ACTIVATION_SWIGLU } OrrActivation;
typedef enum { ORR_NORM_LAYERNORM, ORR_NORM_RMSNORM } OrrNorm;
typedef enum { ORR_POSITION_LEARNED, ORR_POSITION_ROPE } OrrPosition;

typedef struct {
  char *name;
  char *source;
  gint64 layers;
  gint64 hidden;
  gint64 heads;
  gint64 kv_heads; /* 0: as heads (MHA) */
  gint64 head_dim; /* 0: hidden / heads */
  gint64 ffn;      /* inner size of the MLP; 0: 4 * hidden */
  gint64 vocab;
  gint64 context; /* longest sequence: rows of a learned position embedding; also the default sequence length */
  int activation; /* OrrActivation */
  int norm;       /* OrrNorm */
  int position;   /* OrrPosition */
  gboolean tied_embeddings;
  gboolean bias;       /* linear layers and norms have one (GPT: yes; Llama: no) */
  double parameters;   /* the published count, for the check against orr_model_parameters; 0: not given */
} OrrModel;

extern const OrrFieldTable orr_model_table;

/* Fills the members that default to others (kv_heads, head_dim, ffn) and checks divisibility; findings at @place. */
void orr_model_settle(OrrModel *model, OrrPlace place, OrrDiags *diags);

/* Layers of one kind are alike in all that costs or takes memory: a kind is a mixer (attention of one form, or what
 * stands for it) and a feed-forward. Kinds count from 0 in the order of the first layer of each; a dense transformer
 * has one. */
guint orr_model_n_layer_kinds(const OrrModel *model);
guint orr_model_layer_kind(const OrrModel *model, gint64 layer); /* of 0 .. layers - 1 */

double orr_model_layer_parameters(const OrrModel *model, guint kind); /* one layer of that kind */
/* Token (once when tied) and position embeddings, output layer when untied, final norm. */
double orr_model_embedding_parameters(const OrrModel *model);
double orr_model_norm_parameters(const OrrModel *model);      /* one norm: hidden, twice that with a bias */
double orr_model_parameters(const OrrModel *model);           /* exact count */

/* Model FLOPs of one forward and backward pass over @batch sequences of @sequence tokens, without recomputation:
 * Megatron's formula, generalised to GQA and gated MLPs. For GPT: 72 B s l h^2 (1 + s/(6h) + V/(12 l h))
 * (Narayanan et al., SC21, eq. 3 less recompute; attention counted without the causal half, as Megatron does). */
double orr_model_flops(const OrrModel *model, double batch, double sequence);

/* The same plus recomputation: @recompute none adds nothing, selective the attention core's forward, full one forward
 * of all layers (SC21: 96 B s l h^2 (1 + s/(6h) + V/(16 l h))). */
typedef enum { ORR_RECOMPUTE_NONE, ORR_RECOMPUTE_SELECTIVE, ORR_RECOMPUTE_FULL } OrrRecompute;
extern const char *const orr_recompute_words[]; /* "none", "selective", "full", NULL */
double orr_model_hardware_flops(const OrrModel *model, double batch, double sequence, OrrRecompute recompute);

G_END_DECLS

#endif

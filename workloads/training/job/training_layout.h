/*
 * training_layout.h - the model cut into the blocks of a pipeline.
 *
 * Here a layer is anything that a block lists: the embedding, a transformer layer, a
 * multi-token-prediction layer, the head. Equal layers share a spec, and so their operators, costs,
 * parameters and activations: whatever is computed for layers is computed once per spec.
 */
#ifndef ORR_TRAINING_LAYOUT_H
#define ORR_TRAINING_LAYOUT_H

#include "workloads/training/training_params.h"

G_BEGIN_DECLS

typedef enum {
  ORR_LAYER_EMBEDDING,
  ORR_LAYER_TRANSFORMER,
  ORR_LAYER_MTP,
  ORR_LAYER_HEAD
} OrrLayerType;

typedef struct {
  OrrLayerType type;
  guint kind;    /* TRANSFORMER: orr_model_layer_kind */
  guint modules; /* TRANSFORMER, MTP: what is recomputed before the backward, ORR_MODULE_* */
} OrrLayerSpec;

typedef struct {
  GArray *specs;   /* of OrrLayerSpec, all different, in the order of their first layer */
  GArray **blocks; /* by block, NULL-terminated: of guint, each layer's spec in forward order */
} OrrLayout;

/* How many transformer layers each of @n_blocks blocks holds (@ret_layers, n_blocks of them).
 * FALSE with the broken rule. */
gboolean orr_layout_cut(const OrrTraining *params, const OrrModel *model,
                        const OrrPipelineShape *shape, gint64 n_blocks, gint64 *ret_layers,
                        GError **error);

/* The modules that recomputation replays (ORR_MODULE_*). FALSE, naming an unknown word. */
gboolean orr_layout_modules(const OrrTraining *params, guint *ret_modules, GError **error);

/* After FALSE, too, the layout can be cleared. */
gboolean orr_layout_init(OrrLayout *layout, const OrrTraining *params, const OrrModel *model,
                         const OrrPipelineShape *shape, gint64 n_blocks, GError **error);
void orr_layout_clear(OrrLayout *layout);

G_END_DECLS

#endif

/*
 * huggingface_pairs.c - layers with one set of experts for text and one for images (ERNIE 4.5 VL).
 *
 *   moe_intermediate_size: [3584, 1536]     text's, images'
 *   moe_num_experts: [64, 64]               or one number for both, as the keys below
 *   moe_layer_start_index: [3, 3]           the first layer that has them
 *   moe_layer_end_index: [53, 53]           the last one
 *
 * The text's value takes the place of each pair. The images' experts are left out, which is
 * reported with their parameters: layers * experts * three matrices of hidden * width.
 */
#include "models/import_huggingface.h"

enum { WIDTH, EXPERTS, FIRST, LAST, N_KEYS };

static const char *const keys[] = {"moe_intermediate_size", "moe_num_experts",
                                   "moe_layer_start_index", "moe_layer_end_index"};

/* The text's node of @node, a number or a list of two; writes the images' number. NULL: neither, an
 * error where it is read. */
static const OrrNode *split(const OrrNode *node, double *ret_images) {
  const gboolean is_pair = node && node->kind == ORR_NODE_LIST && orr_node_length(node) == 2;
  const OrrNode *images = is_pair ? node->items->pdata[1] : node;
  if (!images || images->kind != ORR_NODE_SCALAR) return NULL;
  *ret_images = g_ascii_strtod(images->text, NULL);
  return is_pair ? node->items->pdata[0] : node;
}

const char *orr_huggingface_pairs_take(const OrrHuggingfaceConfig *config,
                                       const OrrHuggingfaceType *type, OrrNode *decoder) {
  double images[N_KEYS] = {0};
  if (!(type->flags & ORR_HF_VISION_EXPERTS)) return NULL;
  for (guint i = 0; i < N_KEYS; i++) {
    const OrrNode *text = split(orr_node_get(decoder, keys[i]), &images[i]);
    if (!text) return NULL;
    orr_node_set(decoder, keys[i], orr_node_copy(text));
  }
  const double layers = (double)orr_huggingface_config_number(config, "num_hidden_layers", 0),
               hidden = (double)orr_huggingface_config_number(config, "hidden_size", 0);
  const double last = images[LAST] < 0 ? layers - 1 : MIN(images[LAST], layers - 1);
  g_autofree char *effect = g_strdup_printf(
      "images have experts of their own, which are left out: weights are understated by %.3g "
      "parameters, and tokens of images are computed by the text's experts",
      MAX(0, last - images[FIRST] + 1) * images[EXPERTS] * 3 * hidden * images[WIDTH]);
  return g_intern_string(effect);
}

/*
 * huggingface_tower.c - converts the vision_config of a multi-modal config to a model's `encoder`.
 *
 *   clip_vision_model      CLIP's ViT before a decoder, which does not receive the class token
 *                          (LLaVA)
 *   qwen2_vl               a ViT with 2-dimensional RoPE; `merge` squared tokens become one
 *   qwen2_5_vl             the same with RMSNorm and SwiGLU. All but four of its layers attend
 *                          within windows, which is reported: here all attend to the whole image
 *   qwen3_vl, qwen3_5      and their _moe: learned positions. Projectors of layers between
 *                          (deepstack) are reported
 *
 * Qwen's images have any size: 32 x 32 patches are assumed. Other towers are not converted, which
 * the importer reports.
 */
#include "models/import_huggingface.h"

typedef struct {
  const char *model_type; /* the vision_config's */
  gboolean is_clip, has_positions, is_gated;
} Tower;

static const Tower towers[] = {
    {"clip_vision_model", .is_clip = TRUE, .has_positions = TRUE},
    {"qwen2_5_vl", .is_gated = TRUE},
    {"qwen2_vl", .is_clip = FALSE},
    {"qwen3_5", .has_positions = TRUE},
    {"qwen3_5_moe", .has_positions = TRUE},
    {"qwen3_vl", .has_positions = TRUE},
    {"qwen3_vl_moe", .has_positions = TRUE},
};

/* Patches along each side of an image, where no config states its size. */
#define ANY_SIDE 32

static OrrNode *clip(const OrrHuggingfaceConfig *config) {
  static const OrrHuggingfacePair pairs[] = {
      {"layers", "num_hidden_layers"}, {"hidden", "hidden_size"}, {"heads", "num_attention_heads"},
      {"ffn", "intermediate_size"},    {"patch", "patch_size"},   {"image", "image_size"}};
  OrrNode *encoder = orr_huggingface_config_section(config, pairs, G_N_ELEMENTS(pairs));
  orr_huggingface_config_set_number(encoder, "extra-tokens", 1);
  orr_huggingface_config_find(config, "vocab_size|hidden_act"); /* CLIP's keys for its text half */
  return encoder;
}

/* In Qwen2-VL, embed_dim is the tower's width and hidden_size the width of its output to the
 * decoder. */
static OrrNode *qwen(const OrrHuggingfaceConfig *config, const Tower *tower) {
  static const OrrHuggingfacePair pairs[] = {{"layers", "depth"},
                                             {"heads", "num_heads"},
                                             {"patch", "patch_size|spatial_patch_size"},
                                             {"frames", "temporal_patch_size"},
                                             {"merge", "spatial_merge_size"}};
  OrrNode *encoder = orr_huggingface_config_section(config, pairs, G_N_ELEMENTS(pairs));
  const gint64 hidden = MAX(1, orr_huggingface_config_number(config, "embed_dim|hidden_size", 1));
  const gint64 merge = MAX(1, orr_huggingface_config_number(config, "spatial_merge_size", 1));
  const gint64 ratio = MAX(1, orr_huggingface_config_number(config, "mlp_ratio", 4));
  orr_huggingface_config_set_number(encoder, "hidden", hidden);
  orr_huggingface_config_set_number(
      encoder, "ffn", orr_huggingface_config_number(config, "intermediate_size", ratio * hidden));
  orr_huggingface_config_set_number(encoder, "projector",
                                    MIN(merge * merge, ORR_HUGGINGFACE_MOST) * hidden);
  orr_huggingface_config_set_number(
      encoder, "image",
      ANY_SIDE *
          MAX(1, orr_huggingface_config_number(config, "patch_size|spatial_patch_size", 14)));
  orr_huggingface_config_set_flag(encoder, "learned-positions", tower->has_positions);
  if (tower->is_gated) {
    orr_huggingface_config_set_text(encoder, "activation", "swiglu");
    orr_huggingface_config_set_text(encoder, "norm", "rmsnorm");
  }
  orr_huggingface_config_find(
      config, "hidden_act|in_channels|in_chans|out_hidden_size|tokens_per_second|hidden_size|"
              "num_position_embeddings");
  return encoder;
}

OrrNode *orr_huggingface_tower(const OrrHuggingfaceConfig *config, const char *whole) {
  const char *type = orr_huggingface_config_text(config, "model_type");
  if (!type) type = whole; /* Qwen2-VL's first configs have no model_type here */
  for (guint i = 0; i < G_N_ELEMENTS(towers); i++)
    if (strcmp(towers[i].model_type, type) == 0)
      return towers[i].is_clip ? clip(config) : qwen(config, &towers[i]);
  return NULL;
}

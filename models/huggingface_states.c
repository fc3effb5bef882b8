/*
 * huggingface_states.c - layers with a state, by the keys that configs have for them.
 *
 *   mamba_num_heads, ssm_state_size ...   Mamba-2 (Nemotron-H, Bamba)
 *   linear_num_key_heads ...              gated delta nets (Qwen3-Next)
 *   attn_type_list                        lightning attention (MiniMax-01)
 *   linear_attn_config                    Kimi Delta Attention: num_heads, head_dim,
 *                                         use_full_rank_gate
 *   decay_low_rank_dim, a_low_rank_dim, v_low_rank_dim, gate_low_rank_dim
 *                                         RWKV-7; head_dim is a head's width
 */
#include "models/import_huggingface.h"

static gint64 number(const OrrHuggingfaceConfig *config, const char *keys, gint64 fallback) {
  return orr_huggingface_config_number(config, keys, fallback);
}

/* Decays come from a projection as narrow as a head, and so do gates without a full matrix. */
static OrrNode *kimi_delta(const OrrHuggingfaceConfig *config, const OrrNode *map) {
  static const OrrHuggingfacePair pairs[] = {{"key-heads", "num_heads"},
                                             {"key-dim", "head_dim"},
                                             {"value-dim", "head_dim"},
                                             {"conv", "short_conv_kernel_size"}};
  const OrrHuggingfaceConfig inner = {map, config->used, config->diags};
  OrrNode *linear = orr_huggingface_config_section(&inner, pairs, G_N_ELEMENTS(pairs));
  const gboolean is_full = orr_huggingface_config_flag(&inner, "use_full_rank_gate", FALSE);
  orr_huggingface_config_set_text(linear, "kind", "kimi-delta");
  orr_huggingface_config_set_number(linear, "low-rank",
                                    (is_full ? 1 : 2) * number(&inner, "head_dim", 0));
  orr_huggingface_config_set_flag(linear, "full-gate", is_full);
  return linear;
}

/* BLOCK of MiniMax-Text-01's lightning attention is 256 tokens. */
static OrrNode *lightning(const OrrHuggingfaceConfig *config) {
  OrrNode *linear = orr_node_new_map((OrrPlace){0});
  const gint64 width = number(config, "head_dim", 128);
  orr_huggingface_config_set_text(linear, "kind", "lightning");
  orr_huggingface_config_set_number(linear, "key-heads", number(config, "num_attention_heads", 1));
  orr_huggingface_config_set_number(linear, "key-dim", width);
  orr_huggingface_config_set_number(linear, "value-dim", width);
  orr_huggingface_config_set_number(linear, "chunk", 256);
  return linear;
}

gboolean orr_huggingface_states_is_rwkv(const OrrHuggingfaceConfig *config) {
  const OrrNode *node = orr_node_get(config->map, "decay_low_rank_dim");
  return node && !(node->kind == ORR_NODE_SCALAR && strcmp(node->text, "null") == 0);
}

/* Values of all layers are as wide as the layers. */
static void check_values(const OrrHuggingfaceConfig *config, gint64 hidden) {
  const OrrNode *node = orr_huggingface_config_find(config, "value_dim");
  if (node && number(config, "value_dim", hidden) != hidden)
    orr_diags_error(config->diags, node->place,
                    "'value_dim' differs from hidden_size, which is not simulated");
}

static OrrNode *rwkv(const OrrHuggingfaceConfig *config) {
  static const char *const ranks[] = {"decay_low_rank_dim", "a_low_rank_dim", "v_low_rank_dim",
                                      "gate_low_rank_dim"};
  OrrNode *linear = orr_node_new_map((OrrPlace){0});
  const gint64 width = number(config, "head_dim", 64), hidden = number(config, "hidden_size", 0);
  gint64 rank = 0;
  for (guint i = 0; i < G_N_ELEMENTS(ranks); i++) rank += number(config, ranks[i], 0);
  check_values(config, hidden);
  g_hash_table_remove(config->used, ranks[0]); /* so that its effect is reported */
  orr_huggingface_config_set_text(linear, "kind", "rwkv-7");
  orr_huggingface_config_set_number(linear, "key-heads", hidden / MAX(1, width));
  orr_huggingface_config_set_number(linear, "key-dim", width);
  orr_huggingface_config_set_number(linear, "value-dim", width);
  orr_huggingface_config_set_number(linear, "low-rank", rank);
  orr_huggingface_config_set_flag(linear, "full-gate", FALSE);
  return linear;
}

static OrrNode *gated_delta(const OrrHuggingfaceConfig *config) {
  static const OrrHuggingfacePair pairs[] = {{"key-heads", "linear_num_key_heads"},
                                             {"value-heads", "linear_num_value_heads"},
                                             {"key-dim", "linear_key_head_dim"},
                                             {"value-dim", "linear_value_head_dim"},
                                             {"conv", "linear_conv_kernel_dim"}};
  OrrNode *linear = orr_huggingface_config_section(config, pairs, G_N_ELEMENTS(pairs));
  orr_huggingface_config_set_text(linear, "kind", "gated-delta");
  return linear;
}

static void map_mamba(const OrrHuggingfaceConfig *config, OrrNode *model) {
  static const OrrHuggingfacePair pairs[] = {
      {"heads", "mamba_num_heads|mamba_n_heads"},
      {"head-dim", "mamba_head_dim|mamba_d_head"},
      {"state", "ssm_state_size|mamba_state_dim|mamba_d_state"},
      {"groups", "n_groups|mamba_num_groups|mamba_n_groups"},
      {"conv", "conv_kernel|mamba_d_conv"},
      {"chunk", "chunk_size|mamba_chunk_size"}};
  if (number(config, "mamba_num_heads|mamba_n_heads", 0) <= 0) return;
  orr_huggingface_config_find(config, "expand|mamba_expand|use_mamba_kernels|use_conv_bias|"
                                      "mamba_proj_bias|mamba_conv_bias|use_bias|mlp_bias");
  orr_node_set(model, "mamba", orr_huggingface_config_section(config, pairs, G_N_ELEMENTS(pairs)));
}

void orr_huggingface_states_map(const OrrHuggingfaceConfig *config, OrrNode *model) {
  const OrrNode *delta = orr_huggingface_config_map(config, "linear_attn_config");
  OrrNode *linear = NULL;
  map_mamba(config, model);
  if (delta)
    linear = kimi_delta(config, delta);
  else if (orr_huggingface_states_is_rwkv(config))
    linear = rwkv(config);
  else if (number(config, "linear_num_key_heads", 0) > 0)
    linear = gated_delta(config);
  else if (orr_huggingface_config_list(config, "attn_type_list"))
    linear = lightning(config);
  if (linear) orr_node_set(model, "linear-attention", linear);
}

/*
 * huggingface_types.c - the known model types of the transformers library, and keys of configs that
 * affect neither time nor memory.
 *
 * To add a type: a line below (alphabetical), with flags for what its configs do not state, and a
 * config in tests/models/test_import_huggingface.c. Source: transformers,
 * src/transformers/models/TYPE/modeling_TYPE.py, 4.57.
 */
#include <string.h>

#include "models/import_huggingface.h"

#define LLAMA (ORR_HF_GATED | ORR_HF_RMS_NORM)
#define GPT (ORR_HF_BIAS | ORR_HF_TIED)

/* Defaults of configuration classes (configuration_TYPE.py), for those that occur inside other
 * configs. */
#define GEMMA3                                                                                     \
  "{vocab_size: 262208, hidden_size: 2304, intermediate_size: 9216, num_hidden_layers: 26, "       \
  "num_attention_heads: 8, "                                                                       \
  "num_key_value_heads: 4, head_dim: 256, max_position_embeddings: 131072, sliding_window: 4096, " \
  "hidden_activation: 'gelu_pytorch_tanh', sliding_window_pattern: 6}"
#define LLAMA_7B                                                                                   \
  "{vocab_size: 32000, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "       \
  "num_attention_heads: 32, "                                                                      \
  "max_position_embeddings: 2048}"
#define MISTRAL_7B                                                                                 \
  "{vocab_size: 32000, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, "       \
  "num_attention_heads: 32, "                                                                      \
  "num_key_value_heads: 8, max_position_embeddings: 131072, sliding_window: 4096}"
#define QWEN2_7B                                                                                   \
  "{vocab_size: 151936, hidden_size: 4096, intermediate_size: 22016, num_hidden_layers: 32, "      \
  "num_attention_heads: 32, "                                                                      \
  "num_key_value_heads: 32, max_position_embeddings: 32768}"

static const OrrHuggingfaceType types[] = {
    {"bloom", GPT, ORR_POSITION_ALIBI},
    {"cohere", ORR_HF_GATED | ORR_HF_TIED | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"cohere2", ORR_HF_GATED | ORR_HF_TIED | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"deepseek_v2", LLAMA, ORR_POSITION_ROPE},
    {"deepseek_v3", LLAMA, ORR_POSITION_ROPE},
    {"deepseek_v32", LLAMA, ORR_POSITION_ROPE},
    {"gemma", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"gemma2", LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS | ORR_HF_ALTERNATES, ORR_POSITION_ROPE},
    {"gemma3", LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"gemma3_text", LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS | ORR_HF_QK_NORM, ORR_POSITION_ROPE,
     GEMMA3},
    {"glm4", LLAMA | ORR_HF_POST_NORMS, ORR_POSITION_ROPE},
    {"glm4_moe", LLAMA, ORR_POSITION_ROPE},
    {"glm_moe_dsa", LLAMA, ORR_POSITION_ROPE},
    {"gpt2", GPT, ORR_POSITION_LEARNED},
    {"gpt_neox", ORR_HF_BIAS | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"gpt_oss", LLAMA | ORR_HF_BIAS | ORR_HF_ALTERNATES, ORR_POSITION_ROPE},
    {"gptj", ORR_HF_BIAS | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"granite", LLAMA, ORR_POSITION_ROPE},
    {"granitemoe", LLAMA, ORR_POSITION_ROPE},
    {"granitemoehybrid", LLAMA, ORR_POSITION_NONE},
    {"granitemoeshared", LLAMA, ORR_POSITION_ROPE},
    {"grok-1", LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS, ORR_POSITION_ROPE},
    {"kimi_k2", LLAMA, ORR_POSITION_ROPE},
    {"kimi_k25", LLAMA, ORR_POSITION_ROPE},
    {"llama", LLAMA, ORR_POSITION_ROPE, LLAMA_7B},
    {"llama4", LLAMA, ORR_POSITION_ROPE},
    {"llama4_text", LLAMA, ORR_POSITION_ROPE},
    {"llava", LLAMA, ORR_POSITION_ROPE},
    {"minimax", LLAMA, ORR_POSITION_ROPE},
    {"minimax_m2", LLAMA, ORR_POSITION_ROPE},
    {"minimax_text_01", LLAMA, ORR_POSITION_ROPE},
    {"mistral", LLAMA, ORR_POSITION_ROPE, MISTRAL_7B},
    {"mistral3", LLAMA, ORR_POSITION_ROPE},
    {"mixtral", LLAMA, ORR_POSITION_ROPE},
    {"mpt", ORR_HF_TIED, ORR_POSITION_LEARNED},
    {"nemotron", 0, ORR_POSITION_ROPE},
    {"nemotron_h", ORR_HF_RMS_NORM, ORR_POSITION_NONE},
    {"olmo2", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"olmo3", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"olmoe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"opt", GPT, ORR_POSITION_LEARNED},
    {"phi", ORR_HF_BIAS | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"phi3", LLAMA, ORR_POSITION_ROPE},
    {"phimoe", ORR_HF_GATED, ORR_POSITION_ROPE},
    {"qwen2", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE, QWEN2_7B},
    {"qwen2_5_vl", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen2_5_vl_text", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen2_moe", LLAMA | ORR_HF_QKV_BIAS | ORR_HF_SHARED_GATE, ORR_POSITION_ROPE},
    {"qwen2_vl", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen3", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_moe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_next", LLAMA | ORR_HF_QK_NORM | ORR_HF_SHARED_GATE, ORR_POSITION_ROPE},
    {"qwen3_vl", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_vl_moe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_vl_moe_text", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_vl_text", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"seed_oss", LLAMA, ORR_POSITION_ROPE},
    {"smollm3", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"starcoder2", ORR_HF_BIAS | ORR_HF_TIED, ORR_POSITION_ROPE},
};

/* Numerics, tokens, bookkeeping, initialisation, dropout rates, how a router scores. */
static const char *const harmless[] = {"_attn_implementation",
                                       "_attn_implementation_autoset",
                                       "_name_or_path",
                                       "architectures",
                                       "attention_dropout",
                                       "attention_multiplier",
                                       "attention_probs_dropout_prob",
                                       "attention_softmax_in_fp32",
                                       "attn_logit_softcapping",
                                       "attn_pdrop",
                                       "attn_scale",
                                       "attn_temperature_tuning",
                                       "auto_map",
                                       "aux_loss_alpha",
                                       "begin_suppress_tokens",
                                       "boi_token_id",
                                       "boi_token_index",
                                       "bos_token_id",
                                       "cache_implementation",
                                       "chunk_size_feed_forward",
                                       "classifier_dropout",
                                       "clip_qkv",
                                       "cross_attention_hidden_size",
                                       "dtype",
                                       "emb_pdrop",
                                       "embd_pdrop",
                                       "embedding_multiplier",
                                       "embedding_multiplier_scale",
                                       "eoi_token_id",
                                       "eoi_token_index",
                                       "eos_token_id",
                                       "ep_size",
                                       "final_logit_softcapping",
                                       "floor_scale",
                                       "for_llm_compressor",
                                       "full_attn_mod",
                                       "gradient_checkpointing",
                                       "hidden_dropout",
                                       "hidden_dropout_prob",
                                       "hidden_dropout_rate",
                                       "id2label",
                                       "ignore_index",
                                       "image_token_id",
                                       "image_token_index",
                                       "init_std",
                                       "initial_context_length",
                                       "initializer_factor",
                                       "initializer_range",
                                       "input_jitter_noise",
                                       "interpolate_factor",
                                       "is_decoder",
                                       "is_encoder_decoder",
                                       "label2id",
                                       "layer_norm_eps",
                                       "layer_norm_epsilon",
                                       "layer_switch",
                                       "layernorm_alpha",
                                       "lm_head_bias",
                                       "logit_scale",
                                       "logits_scaling",
                                       "mamba_dt_init_floor",
                                       "mamba_dt_limit",
                                       "mamba_dt_max",
                                       "mamba_dt_min",
                                       "mamba_dt_rank",
                                       "mamba_hidden_act",
                                       "mamba_ssm_cache_dtype",
                                       "masked_softmax_fusion",
                                       "max_window_layers",
                                       "mm_tokens_per_image",
                                       "model_type",
                                       "moe_dtype",
                                       "n_group",
                                       "no_rope_layer_interval",
                                       "norm_eps",
                                       "norm_epsilon",
                                       "norm_topk_prob",
                                       "num_experts_per_group",
                                       "num_logits_to_keep",
                                       "offset_alibi",
                                       "order_of_interleaved_layers",
                                       "original_max_position_embeddings",
                                       "output_attentions",
                                       "output_hidden_states",
                                       "output_router_logits",
                                       "pad_token_id",
                                       "partial_rotary_factor",
                                       "position_embedding_type",
                                       "pretraining_tp",
                                       "projection_dim",
                                       "projector_hidden_act",
                                       "query_pre_attn_scalar",
                                       "rescale_prenorm_residual",
                                       "resid_pdrop",
                                       "residual_dropout",
                                       "residual_in_fp32",
                                       "residual_multiplier",
                                       "return_dict",
                                       "rms_norm_eps",
                                       "rope_interleave",
                                       "rope_local_base_freq",
                                       "rope_parameters",
                                       "rope_ratio",
                                       "rope_scaling",
                                       "rope_theta",
                                       "rope_traditional",
                                       "rotary_dim",
                                       "rotary_emb_base",
                                       "rotary_pct",
                                       "routed_scaling_factor",
                                       "router_aux_loss_coef",
                                       "router_jitter_noise",
                                       "scoring_func",
                                       "sep_token_id",
                                       "seq_aux",
                                       "slow_but_exact",
                                       "special_token_ids",
                                       "swiglu_limit",
                                       "task_specific_params",
                                       "time_step_floor",
                                       "time_step_limit",
                                       "time_step_max",
                                       "time_step_min",
                                       "time_step_rank",
                                       "tokenizer_class",
                                       "topk_group",
                                       "topk_method",
                                       "torch_dtype",
                                       "transformers_version",
                                       "use_cache",
                                       "use_return_dict",
                                       "use_sliding_window",
                                       "video_token_id",
                                       "vision_end_token_id",
                                       "vision_feature_layer",
                                       "vision_feature_select_strategy",
                                       "vision_start_token_id",
                                       "vision_token_id",
                                       "word_embed_proj_dim",
                                       "z_loss_coefficient",
                                       NULL};

const OrrHuggingfaceType *orr_huggingface_type(const char *model_type) {
  for (guint i = 0; i < G_N_ELEMENTS(types); i++)
    if (strcmp(types[i].model_type, model_type) == 0) return &types[i];
  return NULL;
}

static const char **names(void) {
  const char **all = g_new0(const char *, G_N_ELEMENTS(types) + 1);
  for (guint i = 0; i < G_N_ELEMENTS(types); i++) all[i] = types[i].model_type;
  return all;
}

char *orr_huggingface_type_names(void) {
  g_autofree const char **all = names();
  return g_strjoinv(", ", (char **)all);
}

const char *orr_huggingface_types_nearest(const char *model_type) {
  g_autofree const char **all = names();
  return orr_diag_nearest_word(model_type, all);
}

gboolean orr_huggingface_types_is_harmless(const char *key) {
  return g_strv_contains(harmless, key);
}

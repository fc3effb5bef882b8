/*
 * huggingface_types.c - the known model types of the transformers library, and keys of configs that
 * affect neither time nor memory.
 *
 * To add a type: a line below (alphabetical), with flags for what its configs do not state, and a
 * config in tests/models/test_import_huggingface.c. Source: transformers,
 * src/transformers/models/TYPE/modeling_TYPE.py, 4.57.
 */
#include "models/import_huggingface.h"

#define LLAMA (ORR_HF_GATED | ORR_HF_RMS_NORM)
#define GPT (ORR_HF_BIAS | ORR_HF_TIED)
#define QWEN3_NEXT (LLAMA | ORR_HF_QK_NORM | ORR_HF_SHARED_GATE | ORR_HF_OUTPUT_GATE)

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
#define QWEN3_5_LINEAR                                                                             \
  "linear_conv_kernel_dim: 4, linear_key_head_dim: 128, linear_value_head_dim: 128, "              \
  "linear_num_key_heads: 16, linear_num_value_heads: 32, full_attention_interval: 4, "             \
  "head_dim: 256, vocab_size: 248320, max_position_embeddings: 32768, num_attention_heads: 16, "
#define GEMMA4_FLAGS (LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS | ORR_HF_QK_NORM)
#define GEMMA4                                                                                     \
  "{head_dim: 256, num_key_value_heads: 4, max_position_embeddings: 131072, sliding_window: 512, " \
  "vocab_size: 262144, hidden_activation: 'gelu_pytorch_tanh', sliding_window_pattern: 6}"
#define QWEN3_5                                                                                    \
  "{" QWEN3_5_LINEAR "hidden_size: 4096, intermediate_size: 12288, num_hidden_layers: 32, "        \
  "num_key_value_heads: 4}"
#define QWEN3_5_MOE                                                                                \
  "{" QWEN3_5_LINEAR "hidden_size: 2048, num_hidden_layers: 40, num_key_value_heads: 2, "          \
  "moe_intermediate_size: 512, shared_expert_intermediate_size: 512, num_experts_per_tok: 8, "     \
  "num_experts: 256}"

#define STEP3                                                                                      \
  "{hidden_size: 7168, intermediate_size: 18432, num_attention_heads: 64, "                        \
  "num_attention_groups: 1, num_hidden_layers: 61, max_seq_len: 65536, vocab_size: 128815, "       \
  "moe_intermediate_size: 5120, moe_num_experts: 48, moe_top_k: 3, share_expert_dim: 5120, "       \
  "share_q_dim: 2048, head_dim: 256}"

static const OrrHuggingfaceType types[] = {
    {"apertus", ORR_HF_RMS_NORM | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"arcee", ORR_HF_RMS_NORM, ORR_POSITION_ROPE},
    {"baichuan", LLAMA, ORR_POSITION_ROPE},
    {"bailing_moe", LLAMA, ORR_POSITION_ROPE},
    {"bailing_moe_v2", LLAMA, ORR_POSITION_ROPE},
    {"bloom", GPT, ORR_POSITION_ALIBI},
    {"chatglm", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"cohere", ORR_HF_GATED | ORR_HF_TIED | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"cohere2", ORR_HF_GATED | ORR_HF_TIED | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"deepseek_v2", LLAMA, ORR_POSITION_ROPE},
    {"deepseek_v3", LLAMA, ORR_POSITION_ROPE},
    {"deepseek_v32", LLAMA, ORR_POSITION_ROPE},
    {"deepseek_v4", LLAMA, ORR_POSITION_ROPE},
    {"deepseek_vl_v2", LLAMA, ORR_POSITION_ROPE},
    {"dots1", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"ernie4_5", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"ernie4_5_moe", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"ernie4_5_moe_vl", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"exaone", LLAMA, ORR_POSITION_ROPE},
    {"exaone4", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"exaone_moe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"falcon", ORR_HF_TIED | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"gemma", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"gemma2", LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS | ORR_HF_ALTERNATES, ORR_POSITION_ROPE},
    {"gemma3", LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"gemma3_text", LLAMA | ORR_HF_TIED | ORR_HF_POST_NORMS | ORR_HF_QK_NORM, ORR_POSITION_ROPE,
     GEMMA3},
    {"gemma4", GEMMA4_FLAGS, ORR_POSITION_ROPE},
    {"gemma4_text", GEMMA4_FLAGS, ORR_POSITION_ROPE, GEMMA4},
    {"glm", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"glm4", LLAMA | ORR_HF_POST_NORMS, ORR_POSITION_ROPE},
    {"glm4_moe", LLAMA, ORR_POSITION_ROPE},
    {"glm4_moe_lite", LLAMA, ORR_POSITION_ROPE},
    {"glm4v", LLAMA | ORR_HF_POST_NORMS | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"glm4v_moe", LLAMA, ORR_POSITION_ROPE},
    {"glm4v_moe_text", LLAMA, ORR_POSITION_ROPE},
    {"glm4v_text", LLAMA | ORR_HF_POST_NORMS | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
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
    {"helium", LLAMA, ORR_POSITION_ROPE},
    {"hunyuan_v1_dense", LLAMA | ORR_HF_QK_NORM | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"hunyuan_v1_moe", LLAMA | ORR_HF_QK_NORM | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"internlm2", LLAMA, ORR_POSITION_ROPE},
    {"internlm3", LLAMA, ORR_POSITION_ROPE},
    {"internvl", LLAMA, ORR_POSITION_ROPE},
    {"internvl_chat", LLAMA, ORR_POSITION_ROPE},
    {"kimi_k2", LLAMA, ORR_POSITION_ROPE},
    {"kimi_k25", LLAMA, ORR_POSITION_ROPE},
    {"kimi_k3", LLAMA, ORR_POSITION_NONE},
    {"kimi_linear", LLAMA, ORR_POSITION_NONE},
    {"kimi_vl", LLAMA, ORR_POSITION_ROPE},
    {"laguna", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"llama", LLAMA, ORR_POSITION_ROPE, LLAMA_7B},
    {"llama4", LLAMA, ORR_POSITION_ROPE},
    {"llama4_text", LLAMA, ORR_POSITION_ROPE},
    {"llava", LLAMA, ORR_POSITION_ROPE},
    {"llava_next", LLAMA, ORR_POSITION_ROPE},
    {"llava_onevision", LLAMA, ORR_POSITION_ROPE},
    {"longcat_flash", LLAMA | ORR_HF_SHORTCUT, ORR_POSITION_ROPE},
    {"mimo", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"mimo_v2_flash", LLAMA, ORR_POSITION_ROPE},
    {"minicpm", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"minicpm3", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"minimax", LLAMA, ORR_POSITION_ROPE},
    {"minimax_m2", LLAMA, ORR_POSITION_ROPE},
    {"minimax_m3", LLAMA, ORR_POSITION_ROPE},
    {"minimax_m3_vl", LLAMA, ORR_POSITION_ROPE},
    {"minimax_text_01", LLAMA, ORR_POSITION_ROPE},
    {"ministral", LLAMA, ORR_POSITION_ROPE},
    {"ministral3", LLAMA, ORR_POSITION_ROPE},
    {"mistral", LLAMA, ORR_POSITION_ROPE, MISTRAL_7B},
    {"mistral3", LLAMA, ORR_POSITION_ROPE},
    {"mixtral", LLAMA, ORR_POSITION_ROPE},
    {"mpt", ORR_HF_TIED, ORR_POSITION_LEARNED},
    {"nemotron", 0, ORR_POSITION_ROPE},
    {"nemotron-nas", LLAMA, ORR_POSITION_ROPE},
    {"nemotron_h", ORR_HF_RMS_NORM, ORR_POSITION_NONE},
    {"olmo", LLAMA, ORR_POSITION_ROPE},
    {"olmo2", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"olmo3", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"olmoe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"opt", GPT, ORR_POSITION_LEARNED},
    {"phi", ORR_HF_BIAS | ORR_HF_PARALLEL, ORR_POSITION_ROPE},
    {"phi3", LLAMA, ORR_POSITION_ROPE},
    {"phi4_multimodal", LLAMA, ORR_POSITION_ROPE},
    {"phi4mm", LLAMA, ORR_POSITION_ROPE},
    {"phimoe", ORR_HF_GATED, ORR_POSITION_ROPE},
    {"qwen2", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE, QWEN2_7B},
    {"qwen2_5_omni", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen2_5_vl", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen2_5_vl_text", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen2_moe", LLAMA | ORR_HF_QKV_BIAS | ORR_HF_SHARED_GATE, ORR_POSITION_ROPE},
    {"qwen2_vl", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen2_vl_text", LLAMA | ORR_HF_QKV_BIAS, ORR_POSITION_ROPE},
    {"qwen3", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_5", QWEN3_NEXT, ORR_POSITION_ROPE},
    {"qwen3_5_moe", QWEN3_NEXT, ORR_POSITION_ROPE},
    {"qwen3_5_moe_text", QWEN3_NEXT, ORR_POSITION_ROPE, QWEN3_5_MOE},
    {"qwen3_5_text", QWEN3_NEXT, ORR_POSITION_ROPE, QWEN3_5},
    {"qwen3_moe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_next", QWEN3_NEXT, ORR_POSITION_ROPE},
    {"qwen3_omni_moe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_omni_moe_text", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_vl", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_vl_moe", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_vl_moe_text", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"qwen3_vl_text", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"rwkv7", 0, ORR_POSITION_NONE},
    {"seed_oss", LLAMA, ORR_POSITION_ROPE},
    {"smollm3", LLAMA | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"stablelm", ORR_HF_GATED, ORR_POSITION_ROPE},
    {"starcoder2", ORR_HF_BIAS | ORR_HF_TIED, ORR_POSITION_ROPE},
    {"step3_text", LLAMA, ORR_POSITION_ROPE, STEP3},
    {"step3_vl", LLAMA, ORR_POSITION_ROPE},
    {"step3p5", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
    {"step3p7", LLAMA | ORR_HF_QK_NORM, ORR_POSITION_ROPE},
};

/* Keys that are not mapped and change answers: which, and how. A star stands for any ending.
 * Sources: the modeling files of transformers 4.57 and 5.2, and of vLLM 0.19 (models/). */
static const struct {
  const char *keys, *effect;
} weighty[] = {
    {"index_* indexer_*",
     "attention is sparse: an indexer chooses index_topk keys for each query. All keys "
     "are computed here, so long prompts and decoding behind long caches are "
     "overstated; the indexer's own weights, cache and time are left out"},
    {"sparse_attention_config sparse_attn* moba_* nsa_* compress_ratios compress_rope_theta",
     "attention is sparse, or its cache is compressed. All keys are computed and kept here, so "
     "long prompts and caches are overstated"},
    {"gated_attention use_gated_attention gating use_head_wise_attn_gate",
     "each attention layer has an output gate, which is left out: weights and time are slightly "
     "understated"},
    {"vision_config visual vision_tower mm_vision_tower vit_config",
     "the vision tower is left out: its weights, and all the time of images"},
    {"audio_config sound_config speech_config talker_config code2wav_config audio_encoder*",
     "the audio parts are left out: their weights, and all the time of sound"},
    {"num_kv_shared_layers use_kv_sharing cross_layer_attention_*",
     "some layers share the cache of another one: the cache is overstated"},
    {"hidden_size_per_layer_input vocab_size_per_layer_input",
     "the embedding tables of each layer are left out: weights are understated"},
    {"attn_res_*",
     "each block adds weighted results of earlier blocks (attention residuals): their traffic is "
     "left out, so the time between products is understated"},
    {"decay_low_rank_dim",
     "kernels that norm keys, make rates and add the first layer's values are left out, so the "
     "time between products is understated"},
    {"zero_expert_num",
     "each token is taken to choose the mean number of experts that compute; a layer's experts "
     "follow its dense feed-forwards, so the time of dispatch and combine is not hidden"},
    {"altup_* laurel_rank hc_* num_hyper_connections",
     "more than one residual stream, whose matrices and traffic are left out: time is understated"},
    {"swa_num_attention_heads swa_num_key_value_heads swa_head_dim swa_v_head_dim global_head_dim "
     "num_global_key_value_heads attention_other_setting num_attention_heads_per_layer",
     "layers with and without a window have different heads, and all are taken alike: caches and "
     "the time of attention are wrong"},
    {"attention_k_eq_v", "keys serve as values: caches are overstated"},
    {"v_head_dim", "values are not as wide as keys, and the keys' width is taken for both: caches "
                   "are wrong"},
    {"word_embed_proj_dim",
     "embeddings are not as wide as layers, and are taken as wide, without the projections between "
     "the two: their weights and the head's time are wrong"},
    {"use_double_wide_mlp", "the MLPs of layers that share a cache are twice as wide, and all are "
                            "taken as the others': weights and time are understated"},
};

/* What a config has that no layout here says: it is refused, since even its weights would be wrong.
 * A key that is null, false, 0 or empty does not count. Sources: the configuration classes of the
 * models, and vLLM 0.19 (models/). */
static const struct {
  const char *keys, *what;
} foreign[] = {
    {"conv_L_cache", "layers of short convolutions (LFM2)"},
    {"attn_layer_period mamba_dt_rank mamba_d_ssm",
     "layers of Mamba 1, or of Mamba and attention side by side"},
    {"ssm_cfg time_mix_extra_dim rwkv_version attention_hidden_size",
     "layers with a state of another kind (Mamba 1, RWKV)"},
    {"attn.layers", "layers of attention between layers of RWKV"},
    {"attn_config.kv_n_heads", "sections of keys that are not read (DBRX: the library has dbrx)"},
    {"is_encoder_decoder encoder_layers", "an encoder before the decoder"},
    {"layer_group_size", "lightning attention in groups of layers"},
};

/* Classes without an output layer over the vocabulary, unless the second list has them. */
static const char *const headless[] = {"*ForSequenceClassification", "*ForTokenClassification",
                                       "*RewardModel", "*Model"};
static const char *const headed[] = {"*LMHeadModel", "*LMModel", "*ChatModel", "ChatGLMModel"};

/* Numerics, tokens, bookkeeping, initialisation, dropout rates, how a router scores. */
static const char harmless[] =
    " _attn_implementation _attn_implementation_autoset _experts_implementation _name_or_path "
    "activation_situ_beta activation_situ_linear_beta add_cross_attention "
    "add_full_attention_sink_bias add_swa_attention_sink_bias architectures att_impl_type "
    "attention_dropout attention_method attention_multiplier attention_probs_dropout_prob "
    "attention_softmax_in_fp32 attention_value_scale attn_logit_softcapping attn_mode attn_pdrop "
    "attn_scale attn_temperature_tuning audio_token_id auto_map aux_loss_alpha bad_words_ids "
    "begin_suppress_tokens boa_token_id boi_token_id boi_token_index bos_token_id "
    "cache_implementation chunk_size_feed_forward classifier_dropout clip_qkv "
    "cross_attention_hidden_size decoder_start_token_id diversity_penalty do_sample dtype "
    "early_stopping emb_pdrop embd_pdrop embedding_multiplier embedding_multiplier_scale "
    "encoder_no_repeat_ngram_size eoa_token_id eoa_token_index eoi_token_id eoi_token_index "
    "eos_token_id ep_size exponential_decay_length_penalty final_logit_softcapping "
    "finetuning_task floor_scale for_llm_compressor forced_bos_token_id forced_eos_token_id "
    "full_attn_mod fuse_cross_entropy fuse_norm gradient_checkpointing hidden_dropout "
    "hidden_dropout_prob hidden_dropout_rate id2label ignore_index image_token_id "
    "image_token_index init_std initial_context_length initializer_factor initializer_range "
    "input_jitter_noise interpolate_factor is_decoder label2id latent_moe_use_norm layer_norm_eps "
    "layer_norm_epsilon layer_switch layernorm_alpha layernorm_epsilon length_penalty "
    "lm_head_bias logit_scale logits_scaling mamba_dt_init_floor mamba_dt_limit mamba_dt_max "
    "mamba_dt_min mamba_dt_rank mamba_hidden_act mamba_ssm_cache_dtype mamba_ssm_dtype "
    "masked_softmax_fusion max_length max_position_embedding max_seq_len max_window_layers "
    "min_length mla_scale_kv_lora mla_scale_q_lora mla_use_nope mm_tokens_per_image "
    "model_max_length model_type moe_apply_router_weight_on_input moe_dtype moe_gate_act "
    "moe_norm_min moe_renormalize moe_routed_scaling_factor moe_router_activation "
    "moe_router_activation_func moe_router_enable_expert_bias moe_router_scaling_factor "
    "moe_use_aux_free mtp_use_dedicated_embeddings n_group need_fp32_gate no_repeat_ngram_size "
    "no_rope_layer_interval norm_bias norm_eps norm_epsilon norm_expert_weight norm_first "
    "norm_topk_prob num_beam_groups num_beams num_expert_group num_experts_per_group "
    "num_logits_to_keep num_return_sequences offset_alibi order_of_interleaved_layers "
    "original_max_position_embeddings output_attentions output_hidden_states output_router_logits "
    "output_scores pad_token_id partial_rotary_factor partial_rotary_factors "
    "position_embedding_type prefix pretraining_tp problem_type projection_dim "
    "projector_hidden_act pruned_heads qk_norm_type query_pre_attn_scalar remove_invalid_values "
    "repetition_penalty rescale_prenorm_residual resid_pdrop residual_dropout residual_in_fp32 "
    "residual_multiplier return_dict return_dict_in_generate rms_norm_eps rope_interleave "
    "rope_local_base_freq rope_parameters rope_ratio rope_scaling rope_theta rope_traditional "
    "rotary_dim rotary_emb_base rotary_pct routed_scaling_factor router_aux_loss_coef router_bias "
    "router_jitter_noise score_function scoring_func sep_token_id seq_aux slow_but_exact "
    "special_token_ids suppress_tokens swa_rope_theta swiglu_alpha swiglu_limit swiglu_limits "
    "swiglu_limits_shared task_specific_params temperature tf_legacy_loss tie_encoder_decoder "
    "time_step_floor time_step_limit time_step_max time_step_min time_step_rank tokenizer_class "
    "top_k top_p topk_group topk_method torch_dtype torchscript transformers_version typical_p "
    "unsloth_fixed unsloth_version use_bfloat16 use_bidirectional_attention use_cache "
    "use_gemma_norm use_grouped_topk use_moe use_moe_router_bias use_return_dict use_rmsnorm "
    "use_routing_bias use_sliding_window video_token_id video_token_index vision_end_token_id "
    "vision_feature_layer vision_feature_select_strategy vision_start_token_id vision_token_id "
    "yarn_only_types z_loss_coefficient zero_expert_type ";

const OrrHuggingfaceType *orr_huggingface_type(const char *model_type) {
  for (guint i = 0; i < G_N_ELEMENTS(types); i++)
    if (strcmp(types[i].model_type, model_type) == 0) return &types[i];
  return NULL;
}

const OrrHuggingfaceType *orr_huggingface_types_generic(void) {
  static const OrrHuggingfaceType generic = {"a decoder", LLAMA, ORR_POSITION_ROPE, NULL};
  return &generic;
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

const char *orr_huggingface_types_effect(const char *key) {
  for (guint i = 0; i < G_N_ELEMENTS(weighty); i++) {
    g_auto(GStrv) patterns = g_strsplit(weighty[i].keys, " ", -1);
    for (char **pattern = patterns; *pattern; pattern++)
      if (g_pattern_match_simple(*pattern, key)) return weighty[i].effect;
  }
  return NULL;
}

static gboolean is_nothing(const OrrNode *value) {
  static const char *const words[] = {"null", "false", "0", "", NULL};
  return value->kind == ORR_NODE_SCALAR ? g_strv_contains(words, value->text)
                                        : orr_node_length(value) == 0;
}

const char *orr_huggingface_types_foreign(const OrrNode *config) {
  for (guint i = 0; i < G_N_ELEMENTS(foreign); i++) {
    g_auto(GStrv) keys = g_strsplit(foreign[i].keys, " ", -1);
    for (char **key = keys; *key; key++) {
      g_auto(GStrv) levels = g_strsplit(*key, ".", 2);
      const OrrNode *value = orr_node_get(config, levels[0]);
      if (levels[1]) value = value ? orr_node_get(value, levels[1]) : NULL;
      if (value && !is_nothing(value)) return foreign[i].what;
    }
  }
  return NULL;
}

gboolean orr_huggingface_types_is_harmless(const char *key) {
  g_autofree char *word = g_strconcat(" ", key, " ", NULL);
  return !strchr(key, ' ') && strstr(harmless, word) != NULL;
}

static gboolean matches_any(const char *const *patterns, guint n, const char *text) {
  for (guint i = 0; i < n; i++)
    if (g_pattern_match_simple(patterns[i], text)) return TRUE;
  return FALSE;
}

gboolean orr_huggingface_types_lacks_head(const char *name) {
  return matches_any(headless, G_N_ELEMENTS(headless), name) &&
         !matches_any(headed, G_N_ELEMENTS(headed), name);
}

/*
 * huggingface_sparse.c - the indexer of DeepSeek-V3.2 and GLM-5, the compressed caches of
 * DeepSeek-V4.
 *
 *   index_topk, index_n_heads, index_head_dim   the indexer
 *   indexer_types    full, shared               which layers have one (GLM-5.2); absent: all
 *   compress_ratios  tokens of an entry by layer: 0 or 1 a window alone, the smaller ratio with the
 *                    indexer (csa), the larger without (hca); entries beyond the last layer are of
 *                    multi-token prediction
 *   q_lora_rank, o_groups, o_lora_rank, qk_rope_head_dim   its projections
 */
#include "models/import_huggingface.h"

static gint64 number(const OrrHuggingfaceConfig *config, const char *key, gint64 fallback) {
  return orr_huggingface_config_number(config, key, fallback);
}

static const char *item_at(const OrrHuggingfaceConfig *config, const char *key, gint64 i) {
  const OrrNode *list = orr_huggingface_config_list(config, key);
  if (!list || i >= (gint64)orr_node_length(list)) return NULL;
  return ((const OrrNode *)list->items->pdata[i])->text;
}

/* Tokens of an entry of layer @i; 0: not compressed. */
static gint64 ratio_at(const OrrHuggingfaceConfig *config, gint64 i) {
  const char *text = item_at(config, "compress_ratios", i);
  const gint64 ratio = text ? g_ascii_strtoll(text, NULL, 10) : 0;
  return ratio > 1 && ratio <= ORR_HUGGINGFACE_MOST ? ratio : 0;
}

/* The smallest and the largest ratio; 0: none. */
static void ratios_of(const OrrHuggingfaceConfig *config, gint64 *ret_least, gint64 *ret_most) {
  const OrrNode *list = orr_huggingface_config_list(config, "compress_ratios");
  *ret_least = *ret_most = 0;
  for (gint64 i = 0; list && i < (gint64)orr_node_length(list); i++) {
    const gint64 ratio = ratio_at(config, i);
    if (ratio == 0) continue;
    *ret_least = *ret_least ? MIN(*ret_least, ratio) : ratio;
    *ret_most = MAX(*ret_most, ratio);
  }
}

const char *orr_huggingface_sparse_mixer(const OrrHuggingfaceConfig *config, gint64 layer,
                                         const char *plain) {
  gint64 least, most;
  ratios_of(config, &least, &most);
  if (least > 0) {
    const gint64 ratio = ratio_at(config, layer);
    return ratio == 0 ? "window" : ratio == least && least < most ? "csa" : "hca";
  }
  const char *indexer = item_at(config, "indexer_types", layer);
  if (strcmp(plain, "attention") != 0 || number(config, "index_topk", 0) < 1) return plain;
  return indexer && strcmp(indexer, "shared") == 0 ? "shared" : "sparse";
}

/* Ratios other than two are not DeepSeek-V4's. */
static void check_ratios(const OrrHuggingfaceConfig *config, gint64 layers, gint64 least,
                         gint64 most) {
  const OrrNode *list = orr_huggingface_config_list(config, "compress_ratios");
  if (least > 0 && (gint64)orr_node_length(list) < layers)
    orr_diags_error(config->diags, list->place,
                    "'compress_ratios' has %u items: want one for each of the %ld layers",
                    orr_node_length(list), layers);
  for (gint64 i = 0; least > 0 && i < (gint64)orr_node_length(list); i++) {
    const gint64 ratio = ratio_at(config, i);
    if (ratio == 0 || ratio == least || ratio == most) continue;
    orr_diags_error(config->diags, list->place,
                    "'compress_ratios' has more than two ratios above 1, which is not simulated");
    return;
  }
}

static void map_compressed(const OrrHuggingfaceConfig *config, gint64 layers, OrrNode *model) {
  static const OrrHuggingfacePair pairs[] = {{"q-lora-rank", "q_lora_rank"},
                                             {"qk-rope-head-dim", "qk_rope_head_dim"},
                                             {"o-groups", "o_groups"},
                                             {"o-lora-rank", "o_lora_rank"}};
  gint64 least, most;
  ratios_of(config, &least, &most);
  check_ratios(config, layers, least, most);
  if (least == 0) return;
  OrrNode *map = orr_huggingface_config_section(config, pairs, G_N_ELEMENTS(pairs));
  orr_huggingface_config_set_number(map, "ratio", least);
  orr_huggingface_config_set_number(map, "heavy-ratio", most);
  orr_node_set(model, "compressed-attention", map);
  orr_huggingface_config_find(config, "compress_rope_theta");
}

void orr_huggingface_sparse_map(const OrrHuggingfaceConfig *config, gint64 layers, OrrNode *model) {
  static const OrrHuggingfacePair pairs[] = {{"topk", "index_topk"},
                                             {"index-heads", "index_n_heads"},
                                             {"index-head-dim", "index_head_dim"}};
  if (number(config, "index_topk", 0) > 0)
    orr_node_set(model, "sparse-attention",
                 orr_huggingface_config_section(config, pairs, G_N_ELEMENTS(pairs)));
  map_compressed(config, layers, model);
}

void orr_huggingface_sparse_fill(const OrrHuggingfaceConfig *config, guint flags, OrrNode *mla) {
  static const char *const widths[] = {"qk-nope-head-dim", "qk-rope-head-dim", "v-head-dim"};
  const gint64 width = orr_huggingface_config_number(config, "hidden_size", 0),
               heads = orr_huggingface_config_number(config, "num_attention_heads", 1);
  if (flags & ORR_HF_EVEN_VALUES && !orr_node_get(mla, "v-head-dim"))
    orr_huggingface_config_set_number(mla, "v-head-dim", width / MAX(1, heads));
  for (guint i = 0; i < G_N_ELEMENTS(widths); i++)
    if (!orr_node_get(mla, widths[i]) && !(flags & ORR_HF_MLA_WIDTHS))
      orr_diags_error(config->diags, config->map->place,
                      "latent attention lacks the key of %s, whose default is not known",
                      widths[i]);
}

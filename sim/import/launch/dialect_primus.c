/*
 * dialect_primus.c - experiments of AMD's Primus: Megatron-LM's arguments, or torchtitan's keys,
 * laid over a model that has a file of its own.
 *
 * Source: primus/configs and examples of AMD-AGI/Primus, 2025 to 2026.
 *
 *   modules:
 *     pre_trainer:
 *       framework: megatron         or torchtitan; others are refused
 *       model: llama3.1_70B.yaml    the library's model of that name; the file, if it is given
 *       overrides: {micro_batch_size: 1, ...}
 */
#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_private.h"

static const OrrLaunchDialect *const own = &orr_dialect_primus;

#include "sim/import/launch/own_keys.inc"

/* --- The model --- */

/* "llama3.1_70B.yaml" -> "llama-3.1-70b", "mixtral_8x7B_v0.1" -> "mixtral-8x7b". @apart: a hyphen
 * between a name's letters and its number. Newly allocated. */
static char *spelling(const char *name, gboolean apart) {
  static const char *const endings[] = {".yaml", ".yml", "-v0.1"};
  g_autofree char *base = g_path_get_basename(name);
  GString *text = g_string_new(NULL);
  gboolean is_parted = !apart;
  for (const char *c = base; *c; c++) {
    const gboolean begins = g_ascii_isdigit(*c) && c > base && g_ascii_isalpha(c[-1]);
    if (begins && !is_parted) g_string_append_c(text, '-');
    is_parted = is_parted || begins || *c == '_';
    g_string_append_c(text, *c == '_' ? '-' : g_ascii_tolower(*c));
  }
  for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
    if (g_str_has_suffix(text->str, endings[i]))
      g_string_truncate(text, text->len - strlen(endings[i]));
  return g_string_free(text, FALSE);
}

/* Newly allocated; NULL: the library has no such model. */
static char *library_name(OrrLaunchDraft *draft, const char *written) {
  for (int apart = 0; apart < 2; apart++) {
    g_autofree char *name = spelling(written, apart != 0);
    g_autofree char *path = orr_library_path(draft->library, "model", name);
    const char *found = orr_library_alias(draft->library, "model", name, NULL);
    if (path || found) return g_strdup(path ? name : found);
  }
  return NULL;
}

/* Dimensions that the overrides change in a model of the library. */
static void change_model(OrrLaunchDraft *draft, const char *name, const OrrLaunchSetting *source) {
  static const char *const others[] = {"hidden-size",
                                       "ffn-hidden-size",
                                       "num-attention-heads",
                                       "num-query-groups",
                                       "kv-channels",
                                       "num-experts",
                                       "moe-router-topk",
                                       "moe-ffn-hidden-size",
                                       "vocab-size",
                                       "moe-layer-freq",
                                       "multi-latent-attention",
                                       "mtp-num-layers",
                                       "q-lora-rank",
                                       "untie-embeddings-and-output-weights"};
  OrrLaunchSetting *layers = orr_launch_draft_find(draft, &orr_dialect_megatron, "num-layers");
  orr_launch_draft_set(draft, layers ? "model.base" : "model", name, source, NULL);
  if (layers) orr_launch_draft_set(draft, "model.layers", layers->value, layers, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_megatron, others[i]);
    if (setting)
      orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                             "a change of the model: the library's %s is simulated", name);
  }
}

static void set_model(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *setting = find(draft, "model");
  const gboolean has_dimensions =
      orr_launch_draft_find(draft, &orr_dialect_megatron, "hidden-size") != NULL;
  if (!setting || setting->is_unresolved || draft->options->model || has_dimensions) return;
  g_autofree char *name = library_name(draft, setting->value);
  if (name)
    change_model(draft, name, setting);
  else
    orr_launch_draft_ask_model(
        draft,
        "which model is '%s'? The library does not have it: add --model NAME, or "
        "Primus's file of it",
        setting->value);
}

/* --- What Primus's defaults differ from Megatron's in --- */

static void set_default(OrrLaunchDraft *draft, const char *key, const char *value) {
  const OrrLaunchSetting *source = find(draft, "model");
  if (!source || orr_launch_draft_find(draft, &orr_dialect_megatron, key)) return;
  orr_launch_translate_add(draft, key, value, source);
  OrrLaunchSetting *setting = orr_launch_draft_find(draft, &orr_dialect_megatron, key);
  g_free(setting->written);
  setting->written = g_strdup_printf("%s: %s, Primus's default", key, value);
}

static void finish(OrrLaunchDraft *draft) {
  set_model(draft);
  if (!orr_launch_config_has(draft, &orr_dialect_megatron)) return;
  if (!orr_launch_draft_find(draft, &orr_dialect_megatron, "fp16"))
    set_default(draft, "bf16", "true");
  set_default(draft, "use-distributed-optimizer", "true");
  set_default(draft, "attention-dropout", "0"); /* of the files of its models */
  set_default(draft, "hidden-dropout", "0");
}

/* --- Reading --- */

static void add(OrrLaunchDraft *draft, const OrrNode *tree, const OrrLaunchDialect *trainer) {
  const guint first = draft->settings->len;
  if (!tree || tree->kind != ORR_NODE_MAP) return;
  orr_launch_config_add(draft, own, tree, NULL);
  for (guint i = first; i < draft->settings->len; i++)
    orr_launch_translate_adopt(draft->settings->pdata[i], own, trainer);
  orr_launch_translate(draft, own, first);
}

/* The model's own file, where it was given. */
static void add_model_file(OrrLaunchDraft *draft, const char *name,
                           const OrrLaunchDialect *trainer) {
  OrrLaunchSource *source = name ? orr_launch_form_source(draft, name) : NULL;
  if (!source || source->is_used) return;
  source->is_used = TRUE;
  g_autoptr(GPtrArray) trees =
      orr_yaml_foreign_parse(source->text, source->length, source->name, draft->diags);
  if (trees && trees->len > 0) add(draft, trees->pdata[0], trainer);
}

static void read_module(OrrLaunchDraft *draft, const OrrNode *module) {
  const OrrNode *framework = orr_node_get(module, "framework");
  const gboolean is_titan = strcmp(framework->text, "torchtitan") == 0;
  const OrrLaunchDialect *trainer = is_titan ? &orr_dialect_torchtitan : &orr_dialect_megatron;
  if (!is_titan && strcmp(framework->text, "megatron") != 0)
    return orr_diags_error(draft->diags, framework->place,
                           "Primus's framework '%s' is not read: megatron and torchtitan are",
                           framework->text);
  ORR_EACH_PAIR(key, value, module) {
    if (value->kind == ORR_NODE_SCALAR) orr_launch_config_add(draft, own, value, key->text);
  }
  add_model_file(draft, orr_node_get_text(module, "model"), trainer);
  add(draft, orr_node_get(module, "overrides"), trainer);
}

static void read(OrrLaunchDraft *draft, const OrrNode *tree) {
  const OrrNode *modules = orr_node_get(tree, "modules");
  guint n_read = 0;
  ORR_EACH_PAIR(key, value, tree) {
    if (value != modules) orr_launch_config_add(draft, own, value, key->text);
  }
  for (guint i = 0; i < orr_node_length(modules) && n_read == 0; i++) {
    const OrrNode *module = modules->items->pdata[i];
    const OrrNode *framework = orr_node_get(module, "framework");
    if (!framework || framework->kind != ORR_NODE_SCALAR) continue;
    read_module(draft, module);
    n_read++;
  }
  if (n_read == 0)
    orr_diags_error(draft->diags, tree->place, "no module of Primus has a 'framework'");
}

const OrrLaunchDialect orr_dialect_primus = {
    .name = "primus",
    .kind = "training",
    .finish = finish,
    .signs = "modules.pre_trainer modules.post_trainer modules.sft_trainer",
    .read = read,
};

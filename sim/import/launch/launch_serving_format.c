/*
 * launch_serving_format.c - in which format the weights of a server's checkpoint are.
 */
#include "models/import_huggingface.h"
#include "sim/base/quantity.h"
#include "sim/base/yaml.h"
#include "sim/import/launch/launch_serving.h"

/* --- hf_quant_config.json --- */

/* ModelOpt's file with a config.json: {"producer": ..., "quantization": {"quant_algo": ...}}. */
static int recognise(const OrrLaunchSource *source) {
  const char *text = source->text + strspn(source->text, " \t\r\n");
  return *text == '{' && strstr(text, "\"quant_algo\"") && !strstr(text, "\"model_type\"") ? 90 : 0;
}

/* Read when the model is known: orr_launch_serving_settle_format. */
static void read_later(OrrLaunchDraft *draft, OrrLaunchSource *source) {}

const OrrLaunchForm orr_launch_form_quantization = {
    .name = "quantization",
    .sentence = "ModelOpt's hf_quant_config.json with a launch line.",
    .recognise = recognise,
    .read = read_later,
};

static const OrrLaunchSource *quantization_source(OrrLaunchDraft *draft) {
  for (guint i = 0; i < draft->sources->len; i++)
    if (recognise(draft->sources->pdata[i])) return draft->sources->pdata[i];
  return NULL;
}

static void rename_line(OrrLaunchDraft *draft, const char *from, const char *to) {
  ORR_EACH_POINTER(OrrLaunchLine, line, draft->lines) {
    if (strcmp(line->path, from) != 0) continue;
    g_free(line->path);
    line->path = g_strdup(to);
  }
}

static void set_checkpoint(OrrLaunchDraft *draft, const OrrNode *document, const char *notes,
                           const char *source) {
  const OrrNode *checkpoint = orr_node_get(document, "checkpoint");
  g_auto(GStrv) lines = g_strsplit(notes, "\n", -1);
  for (char **line = lines; *line; line++)
    if (**line) orr_launch_draft_remark(draft, "%s: %s", source, *line);
  if (!checkpoint) return;
  g_autofree char *flow = orr_launch_form_flow_text(checkpoint);
  rename_line(draft, "model", "model.base");
  orr_launch_draft_set(draft, "model.checkpoint", flow, NULL, source);
}

static void read_quantization(OrrLaunchDraft *draft, const OrrLaunchSource *source) {
  OrrModel model;
  const OrrNode *named = orr_launch_serving_document(draft);
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* the library's documents are sound */
  const char *file = g_intern_string(source->name);
  g_autoptr(OrrNode) config = orr_yaml_parse(source->text, source->length, file, draft->diags);
  if (!named || !config || config->kind != ORR_NODE_MAP) return;
  g_autoptr(OrrNode) document = orr_node_new_map((OrrPlace){0});
  g_autoptr(GString) notes = g_string_new(NULL);
  if (orr_field_read(&orr_model_table, named, orr_launch_draft_library(draft), ignored, &model)) {
    orr_model_settle(&model, (OrrPlace){0}, ignored);
    orr_huggingface_quantization(config, &model, document, notes);
    set_checkpoint(draft, document, notes->str, source->name);
  }
  orr_field_clear(&orr_model_table, &model);
}

/* --- The format --- */

static const char *checkpoint_word(const OrrNode *checkpoint) {
  const char *word = checkpoint && checkpoint->kind == ORR_NODE_MAP
                         ? orr_node_get_text(checkpoint, "quantization")
                         : NULL;
  return g_intern_string(word ? word : "");
}

const char *orr_launch_serving_format(OrrLaunchDraft *draft) {
  const char *words = NULL, *name = orr_launch_draft_get(draft, "model");
  const char *own = orr_launch_draft_get(draft, "model.checkpoint");
  if (own) {
    g_autoptr(OrrDiags) ignored = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_yaml_parse(own, strlen(own), "checkpoint", ignored);
    return checkpoint_word(tree);
  }
  if (!name) name = orr_launch_draft_get(draft, "model.base");
  if (name) orr_library_alias(orr_launch_draft_library(draft), "model", name, &words);
  if (words && *words) return g_intern_string(words);
  const OrrNode *document = orr_launch_serving_document(draft);
  return checkpoint_word(document ? orr_node_get(document, "checkpoint") : NULL);
}

static gboolean is_local(const char *text) { return strchr("/.~", *text) != NULL; }

static const char *document_name(OrrLaunchDraft *draft, const char *name, const char **ret_words) {
  const char *meant = orr_library_alias(orr_launch_draft_library(draft), "model", name, ret_words);
  return meant ? meant : name;
}

char *orr_launch_serving_served(OrrLaunchDraft *draft, const OrrLaunchSetting *setting,
                                const char *own) {
  const char *value = orr_launch_draft_value(draft, setting->dialect, "served-model-name");
  const char *own_words = "", *words = "";
  if (!value || !is_local(setting->value ? setting->value : "x")) return NULL;
  g_auto(GStrv) names = g_strsplit(value, " ", 2);
  g_autofree char *served = names[0] ? orr_launch_serving_known(draft, names[0]) : NULL;
  if (!served || !own) return g_steal_pointer(&served);
  const char *a = document_name(draft, own, &own_words), *b = document_name(draft, served, &words);
  return strcmp(a, b) == 0 && *words && !*own_words ? g_steal_pointer(&served) : NULL;
}

/* --- What a device does not multiply --- */

/* The rate of @dtype's products on the cluster's device; @ret_device: its name. NAN: not known, or
 * no device of CUDA that multiplies bf16. */
static double products_on(OrrLaunchDraft *draft, const char *dtype, const char **ret_device) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  OrrLibrary *library = orr_launch_draft_library(draft);
  const char *name = orr_launch_draft_options(draft)->cluster;
  const OrrNode *cluster =
      name ? orr_library_borrow(library, "cluster", name, (OrrPlace){0}, ignored) : NULL;
  *ret_device = cluster ? orr_node_get_text(cluster, "device") : NULL;
  const OrrNode *device =
      *ret_device ? orr_library_borrow(library, "device", *ret_device, (OrrPlace){0}, ignored)
                  : NULL;
  const char *platform = device ? orr_node_get_text(device, "platform") : "none";
  if (platform && strcmp(platform, "cuda") != 0) return NAN;
  const char *const keys[] = {"bf16", dtype};
  double rates[G_N_ELEMENTS(keys)] = {0};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    const char *text = orr_node_get_text(device, keys[i]);
    if (text) orr_quantity_parse(text, ORR_UNIT_FLOP_PER_S, &rates[i], NULL);
  }
  return rates[0] > 0 ? rates[1] : NAN;
}

/* vLLM and SGLang run fp8 and nvfp4 checkpoints on older devices with weights alone in them, by
 * Marlin (vLLM: fp8_marlin, "Weight-only FP4 compression will be used leveraging the Marlin
 * kernel"; SGLang: fp8_utils.py). */
static void settle_marlin(OrrLaunchDraft *draft, const char *format) {
  static const char *const words[][3] = {{"fp8", "fp8", "fp8-weights"},
                                         {"fp8-block", "fp8", "fp8-weights"},
                                         {"nvfp4", "fp4", "nvfp4-weights"}};
  const char *device = NULL;
  if (!orr_launch_draft_find(draft, &orr_dialect_vllm, "model") &&
      !orr_launch_draft_find(draft, &orr_dialect_sglang, "model-path"))
    return;
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    if (strcmp(words[i][0], format) != 0 || products_on(draft, words[i][1], &device) != 0) continue;
    g_autofree char *remark =
        g_strdup_printf("weights alone, by Marlin: %s does not multiply %s", device, words[i][1]);
    orr_launch_draft_remark(draft, "%s: %s", words[i][0], remark);
    orr_launch_draft_set(draft, "workload.quantization", words[i][2], NULL, remark);
    return; /* @format may have been the line's own text */
  }
}

void orr_launch_serving_settle_format(OrrLaunchDraft *draft) {
  const OrrLaunchSource *source = quantization_source(draft);
  if (source && !orr_launch_draft_get(draft, "model.checkpoint")) read_quantization(draft, source);
  const char *format = orr_launch_draft_get(draft, "workload.quantization");
  if (!format) format = orr_launch_serving_format(draft);
  if (!*format || strcmp(format, "none") == 0) return;
  settle_marlin(draft, format);
  for (guint i = draft->lines->len; i-- > 0;) {
    const OrrLaunchLine *line = draft->lines->pdata[i];
    if (strcmp(line->path, "workload.precision") == 0) g_ptr_array_remove_index(draft->lines, i);
  }
}

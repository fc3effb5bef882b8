/*
 * launch_serving.c - converters of values that all serving engines have.
 */
#include "sim/import/launch/launch_serving.h"

#include "sim/base/yaml.h"
#include "workloads/stack.h"

/* --- Numbers --- */

/* vLLM's human_readable_int: k, m, g, t are powers of 1,000, K, M, G, T of 1,024. */
static double letter_factor(char letter) {
  static const char letters[] = "kmgt";
  const char *found = strchr(letters, g_ascii_tolower(letter));
  if (letter == '\0' || !found) return 0;
  return pow(letter == *found ? 1e3 : 1024, (double)(found - letters + 1));
}

/* Beyond any size that a line can mean, and within a gint64. */
#define MOST_NUMBER 1e18

gboolean orr_launch_serving_number(const char *text, double *ret_number) {
  char *end = NULL;
  if (!text || !*text) return FALSE;
  double number = g_ascii_strtod(text, &end);
  if (end == text || !isfinite(number) || strpbrk(text, "xXpP")) return FALSE;
  if (*end) {
    number *= letter_factor(*end);
    if (end[1] || number == 0) return FALSE;
  }
  if (fabs(number) > MOST_NUMBER) return FALSE;
  *ret_number = number;
  return TRUE;
}

static const char *text_of(const OrrLaunchSetting *setting) {
  return setting->value ? setting->value : "";
}

void orr_launch_serving_count(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule) {
  static const char *const automatic[] = {"auto", "none", "null", "-1", NULL};
  double number = 0;
  g_autofree char *lower = g_ascii_strdown(text_of(setting), -1);
  const gboolean fits = strcmp(lower, "auto") == 0 || strcmp(lower, "-1") == 0;
  if (fits && strcmp(setting->key, "max-model-len") == 0)
    orr_launch_draft_set_number(draft, rule->path, -1, setting, "what the cache holds");
  else if (g_strv_contains(automatic, lower))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the engine chooses");
  else if (!orr_launch_serving_number(text_of(setting), &number) || number < 0 || number > 1e12)
    orr_launch_draft_bad(draft, setting, "'%s' is not a number of at least 0", text_of(setting));
  else
    orr_launch_draft_set_number(draft, rule->path, (gint64)number, setting, NULL);
}

void orr_launch_serving_fraction(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                 const OrrLaunchRule *rule) {
  double number = 0;
  if (!orr_launch_serving_number(text_of(setting), &number) || number <= 0 || number > 1)
    return orr_launch_draft_bad(draft, setting, "'%s' is not a fraction above 0 and at most 1",
                                text_of(setting));
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  orr_launch_draft_set(draft, rule->path, g_ascii_formatd(text, sizeof text, "%.6g", number),
                       setting, NULL);
}

void orr_launch_serving_static(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                               const OrrLaunchRule *rule) {
  static const char fraction[] = "gpu-memory-utilization";
  g_assert(g_str_has_suffix(rule->path, fraction));
  g_autofree char *engine = g_strndup(rule->path, strlen(rule->path) - strlen(fraction));
  g_autofree char *reserved = g_strconcat(engine, "reserved", NULL);
  orr_launch_serving_fraction(draft, setting, rule);
  orr_launch_draft_set(draft, reserved, "1.4 GiB", setting,
                       "context and communicator; the rest of the memory is outside of it");
}

/* --- Words --- */

/* A scenario's word for a word of an engine. @to NULL: not simulated; "": nothing to set. */
typedef struct {
  const char *from, *to;
} Word;

static const Word *find_word(const Word *words, const char *text) {
  g_autofree char *lower = g_ascii_strdown(text, -1);
  for (char *c = lower; *c; c++)
    if (*c == '-') *c = '_';
  for (; words->from; words++)
    if (strcmp(words->from, lower) == 0) return words;
  return NULL;
}

static void refuse_word(OrrLaunchDraft *draft, const OrrLaunchSetting *setting, const Word *words) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (; words->from; words++) g_ptr_array_add(names, (char *)words->from);
  g_ptr_array_add(names, NULL);
  const char *const *all = (const char *const *)names->pdata;
  const char *near = orr_diag_nearest_word(text_of(setting), all);
  g_autofree char *allowed = g_strjoinv(", ", (char **)names->pdata);
  orr_launch_draft_bad(draft, setting, "unknown '%s'%s%s%s (allowed: %s)", text_of(setting),
                       near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "", allowed);
}

/* The words of --quantization: vllm/model_executor/layers/quantization/__init__.py,
 * sglang/srt/server_args.py. */
static const Word quantizations[] = {
    {"none", ""},
    {"null", ""},
    {"auto", ""},
    {"awq", "awq"},
    {"awq_marlin", "awq"},
    {"gptq", "gptq"},
    {"gptq_marlin", "gptq"},
    {"gptq_marlin_24", NULL},
    {"gptq_bitblas", "gptq"},
    {"moe_wna16", "gptq"},
    {"marlin", "gptq"},
    {"fp8", "fp8"},
    {"fbgemm_fp8", "fp8"},
    {"ptpc_fp8", "fp8"},
    {"w8a8_fp8", "fp8"},
    {"fp8_per_tensor", "fp8"},
    {"fp8_per_block", "fp8-block"},
    {"w8a8_int8", "int8"},
    {"experts_int8", NULL},
    {"blockwise_int8", NULL},
    {"modelopt", ""},
    {"modelopt_fp8", "fp8"},
    {"modelopt_fp4", "nvfp4"},
    {"modelopt_mixed", NULL},
    {"nvfp4", "nvfp4"},
    {"petit_nvfp4", "nvfp4-weights"},
    {"mxfp4", "mxfp4"},
    {"mxfp8", NULL},
    {"compressed_tensors", ""},
    {"bitsandbytes", NULL},
    {"bitblas", NULL},
    {"gguf", NULL},
    {"aqlm", NULL},
    {"auto_round", NULL},
    {"inc", NULL},
    {"auto-round", NULL},
    {"deepspeedfp", NULL},
    {"hqq", NULL},
    {"qoq", NULL},
    {"quark", NULL},
    {"quark_int4fp8_moe", NULL},
    {"rtn", NULL},
    {"squeezellm", NULL},
    {"torchao", NULL},
    {"tpu_int8", NULL},
    {"w4afp8", NULL},
    {"w4a8", NULL},
    {NULL, NULL},
};

/* Formats that engines make of a plain checkpoint as they load it; others it has to have. */
static gboolean is_cast(const char *format) {
  return g_str_has_prefix(format, "fp8") || strcmp(format, "mxfp4") == 0;
}

/* vLLM: "Cannot find the config file for awq", or "Quantization method specified in the model
 * config (fp8) does not match"; SGLang the same. */
static void set_format(OrrLaunchDraft *draft, OrrLaunchSetting *setting, const OrrLaunchRule *rule,
                       const char *own, const char *asked) {
  const char *name = orr_launch_draft_get(draft, "model"), *words = NULL;
  const gboolean is_plain = !*own || strcmp(own, "none") == 0;
  const gboolean is_known =
      name && orr_library_alias(orr_launch_draft_library(draft), "model", name, &words);
  orr_launch_draft_set(draft, rule->path, asked, setting, NULL);
  if (is_plain && (is_cast(asked) || !is_known)) return;
  orr_launch_draft_remark(draft,
                          "--%s %s: the server does not start, since the checkpoint %s is in %s: "
                          "name one in that format",
                          setting->key, text_of(setting), name ? name : "",
                          is_plain ? "16 bits" : own);
}

void orr_launch_serving_quantization(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                     const OrrLaunchRule *rule) {
  const Word *word = find_word(quantizations, text_of(setting));
  const char *own = orr_launch_serving_format(draft);
  if (!word)
    refuse_word(draft, setting, quantizations);
  else if (word->to && *own && (!*word->to || g_str_has_prefix(own, word->to)))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_MAPPED, "the model's own format, %s", own);
  else if (!word->to)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "this format of weights: computed as the model's own");
  else if (*word->to)
    set_format(draft, setting, rule, own, word->to);
  else if (g_str_has_prefix(text_of(setting), "n") || g_str_has_prefix(text_of(setting), "a"))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the checkpoint's own format");
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "the name of the model does not say the format: set "
                           "workload.quantization");
}

static const Word dtypes[] = {
    {"auto", ""},     {"bfloat16", "bf16"}, {"bf16", "bf16"},    {"float16", "fp16"},
    {"half", "fp16"}, {"fp16", "fp16"},     {"float32", "fp32"}, {"float", "fp32"},
    {"fp32", "fp32"}, {NULL, NULL},
};

void orr_launch_serving_dtype(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule) {
  const Word *word = find_word(dtypes, text_of(setting));
  if (!word) {
    refuse_word(draft, setting, dtypes);
  } else if (!*word->to) {
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the model's own format");
  } else {
    orr_launch_draft_set(draft, "workload.precision", word->to, setting, NULL);
    orr_launch_draft_set(draft, "workload.activations", word->to, setting, NULL);
  }
}

static const Word kv_dtypes[] = {
    {"auto", ""},          {"fp8", "fp8"},           {"fp8_e4m3", "fp8"},
    {"fp8_e5m2", "fp8"},   {"fp8_inc", "fp8"},       {"bfloat16", "bf16"},
    {"bf16", "bf16"},      {"float16", "fp16"},      {"fp16", "fp16"},
    {"half", "fp16"},      {"int8", "int8"},         {"nvfp4", "fp4"},
    {"fp8_ds_mla", "fp8"}, {"fp4_e2m1", "fp4"},      {"float32", "fp32"},
    {"turboquant", NULL},  {"fp8_model_opt", "fp8"}, {NULL, NULL},
};

void orr_launch_serving_kv_dtype(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                 const OrrLaunchRule *rule) {
  const Word *word = find_word(kv_dtypes, text_of(setting));
  if (!word)
    refuse_word(draft, setting, kv_dtypes);
  else if (!word->to)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED, "this format of the cache");
  else if (!*word->to)
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the engine's default");
  else
    orr_launch_draft_set(draft, rule->path, word->to, setting, NULL);
}

void orr_launch_serving_all_to_all(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                   const OrrLaunchRule *rule) {
  const char *value = setting->value ? setting->value : "";
  if (strstr(value, "low") && strstr(value, "deepep"))
    orr_launch_draft_set(draft, rule->path, "deepep-low-latency", setting, NULL);
  else if (strstr(value, "deepep"))
    orr_launch_draft_set(draft, rule->path, "deepep", setting, NULL);
  else if (g_str_equal(value, "allgather_reducescatter"))
    orr_launch_draft_set(draft, rule->path, "gather", setting, NULL);
  else
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "this exchange of tokens: computed as DeepEP's");
}

/* --- The model --- */

/* "Qwen3-8B" of a local path, and of a cache's "models--Qwen--Qwen3-8B/snapshots/0a1b". Newly
 * allocated. */
static char *hub_name(const char *path) {
  g_auto(GStrv) parts = g_strsplit(path, "/", -1);
  char *name = NULL;
  for (char **part = parts; *part; part++) {
    if (!g_str_has_prefix(*part, "models--")) continue;
    g_auto(GStrv) levels = g_strsplit(*part + strlen("models--"), "--", 2);
    g_free(name);
    name = g_strjoinv("/", levels);
  }
  if (name) return name;
  g_autofree char *bare = g_strdup(path);
  while (g_str_has_suffix(bare, "/")) bare[strlen(bare) - 1] = '\0';
  const gboolean is_path = strchr("/.~", bare[0]) || strchr(bare, '/') != strrchr(bare, '/');
  return is_path ? g_path_get_basename(bare) : g_strdup(bare);
}

char *orr_launch_serving_known(OrrLaunchDraft *draft, const char *text) {
  OrrLibrary *library = orr_launch_draft_library(draft);
  g_autofree char *name = hub_name(text);
  g_autofree char *path = orr_library_path(library, "model", name);
  if (path || orr_library_alias(library, "model", name, NULL)) return g_steal_pointer(&name);
  return NULL;
}

static void refuse_model(OrrLaunchDraft *draft, const OrrLaunchSetting *setting) {
  g_auto(GStrv) names = orr_library_names(orr_launch_draft_library(draft), "model");
  g_autofree char *name = hub_name(text_of(setting));
  const char *slash = strrchr(name, '/');
  const char *near = orr_diag_nearest_word(slash ? slash + 1 : name, (const char *const *)names);
  orr_launch_draft_bad(draft, setting,
                       "the library has no model '%s'%s%s%s Give its config.json as another FILE, "
                       "or name a known model: --model NAME",
                       name, near ? ": did you mean '" : ".", near ? near : "", near ? "'?" : "");
}

void orr_launch_serving_model(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule) {
  if (orr_launch_draft_options(draft)->model)
    return orr_launch_draft_judge(draft, setting, ORR_LAUNCH_OVERRIDDEN, "--model names another");
  if (orr_launch_draft_get(draft, "model.layers"))
    return orr_launch_draft_judge(draft, setting, ORR_LAUNCH_MAPPED, "its config.json");
  g_autofree char *own = orr_launch_serving_known(draft, text_of(setting));
  g_autofree char *served = orr_launch_serving_served(draft, setting, own);
  const char *name = served ? served : own;
  if (name)
    orr_launch_draft_set(draft, rule->path, name, setting,
                         served ? "the name that it is served by says which" : NULL);
  else
    refuse_model(draft, setting);
}

/* The server says which model; a benchmark alone says it itself. */
void orr_launch_serving_client_model(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                     const OrrLaunchRule *rule) {
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  ORR_EACH_POINTER(const OrrLaunchSetting, other, settings) {
    if (!other->dialect->stack) continue;
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_IRRELEVANT, "the server names the model");
    return;
  }
  orr_launch_serving_model(draft, setting, rule);
}

/* --- JSON --- */

void orr_launch_serving_json(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                             const OrrLaunchRule *rule) {
  orr_launch_draft_judge(draft, setting, ORR_LAUNCH_MAPPED, "its keys follow");
}

static void expand(OrrLaunchDraft *draft, const OrrLaunchSetting *setting) {
  OrrDiags *own = orr_diags_new();
  const char *text = text_of(setting);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), setting->place.file, own);
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  const guint first = settings->len;
  g_autofree char *key = g_strdup(setting->key);
  const OrrPlace place = setting->place;
  if (!tree || tree->kind != ORR_NODE_MAP)
    orr_launch_draft_bad(draft, setting, "'%.60s' is not a JSON object", text);
  else
    orr_launch_tree(draft, setting->dialect, tree, key);
  for (guint i = first; i < settings->len; i++)
    ((OrrLaunchSetting *)settings->pdata[i])->place = place;
  orr_diags_free(own);
}

/* Whether the value of @setting is JSON whose keys have rules. */
static gboolean holds_keys(const OrrLaunchSetting *setting) {
  const OrrLaunchRule *rule = orr_launch_rule_find(setting->dialect, setting->key);
  g_autofree char *below = g_strdup_printf("%s.x", setting->key);
  const char *text = text_of(setting) + strspn(text_of(setting), " \n\t");
  const gboolean is_none = !*text || strcmp(text, "None") == 0 || strcmp(text, "null") == 0;
  if (!rule || setting->is_unresolved || is_none) return FALSE;
  return rule->convert == orr_launch_serving_json ||
         (*text == '{' && orr_launch_rule_find(setting->dialect, below));
}

void orr_launch_serving_expand(OrrLaunchDraft *draft, guint first) {
  const GPtrArray *settings = orr_launch_draft_settings(draft);
  const guint last = settings->len;
  for (guint i = first; i < last; i++) {
    const OrrLaunchSetting *setting = settings->pdata[i];
    if (holds_keys(setting)) expand(draft, setting);
  }
}

/* --- The stack --- */

/* The first release in @text, "0.9.1" of "v0.9.1-cu128": two numbers or more, the first one small,
 * since a month (25.09) and CUDA's release are not the engine's. Newly allocated; NULL: none. */
static char *release_in(const char *text) {
  for (const char *at = text + strcspn(text, "0123456789"); *at;) {
    const gsize length = strspn(at, "0123456789.");
    g_autofree char *version = g_strndup(at, length);
    while (g_str_has_suffix(version, ".")) version[strlen(version) - 1] = '\0';
    if (strchr(version, '.') && g_ascii_strtoull(version, NULL, 10) < 5)
      return g_steal_pointer(&version);
    at += length;
    at += strcspn(at, "0123456789");
  }
  return NULL;
}

gboolean orr_launch_serving_stack(OrrLaunchDraft *draft, const char *family, const char *text,
                                  const OrrLaunchSetting *source) {
  g_autofree char *version = release_in(text);
  if (!version) return FALSE;
  g_autofree char *name = g_strdup_printf("%s-%s", family, version);
  g_autofree char *known = orr_stack_resolve(orr_launch_draft_library(draft), name);
  if (!known) return FALSE;
  orr_launch_draft_set(draft, "workload.stack", known, source, NULL);
  return TRUE;
}

/*
 * launch_form.c - the sources of a draft, and the forms that read them.
 */
#include "sim/import/launch/launch_form.h"

#include "sim/base/file.h"
#include "sim/import/launch/launch_private.h"

static const OrrLaunchForm *const forms[] = {&orr_launch_form_config,
                                             &orr_launch_form_disaggregated,
                                             &orr_launch_form_dockerfile,
                                             &orr_launch_form_huggingface,
                                             &orr_launch_form_manifest,
                                             &orr_launch_form_olmo_core,
                                             &orr_launch_form_quantization,
                                             &orr_launch_form_registry,
                                             &orr_launch_form_shell,
                                             &orr_launch_form_toml,
                                             NULL};

OrrLaunchSource *orr_launch_form_add_text(OrrLaunchDraft *draft, const char *name, const char *text,
                                          gsize length) {
  OrrLaunchSource *source = g_new0(OrrLaunchSource, 1);
  source->name = g_strdup(name);
  source->text = g_strndup(text, length);
  source->length = strlen(source->text);
  g_ptr_array_add(draft->sources, source);
  return source;
}

static gboolean check_text(const char *path, const char *text, gsize length, GError **error) {
  const gboolean is_text = strlen(text) == length && g_utf8_validate(text, (gssize)length, NULL);
  if (is_text && length > 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "%s: %s", path,
                       length == 0 ? "the file is empty"
                                   : "not a text in UTF-8: a launch line or a config was expected");
}

gboolean orr_launch_form_add_file(OrrLaunchDraft *draft, const char *path, GError **error) {
  const gboolean is_stdin = strcmp(path, "-") == 0;
  gsize length = 0;
  g_autofree char *text =
      orr_file_read(is_stdin ? "/dev/stdin" : path, ORR_FILE_MAX_DOCUMENT, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return FALSE;
  }
  if (!check_text(path, text, length, error)) return FALSE;
  orr_launch_form_add_text(draft, path, text, length);
  return TRUE;
}

static OrrLaunchSource *find_source(OrrLaunchDraft *draft, const char *path, gboolean by_base) {
  ORR_EACH_POINTER(OrrLaunchSource, source, draft->sources) {
    g_autofree char *base = g_path_get_basename(source->name);
    if (strcmp(by_base ? base : source->name, path) == 0) return source;
  }
  return NULL;
}

OrrLaunchSource *orr_launch_form_source(OrrLaunchDraft *draft, const char *path) {
  g_autofree char *base = g_path_get_basename(path);
  OrrLaunchSource *source = find_source(draft, path, FALSE);
  return source ? source : find_source(draft, base, TRUE);
}

/* The form that is surest of @source; NULL: none. */
static const OrrLaunchForm *form_of(const OrrLaunchSource *source, int *ret_sure) {
  const OrrLaunchForm *found = NULL;
  *ret_sure = 0;
  for (const OrrLaunchForm *const *form = forms; *form; form++) {
    const int sure = (*form)->recognise(source);
    if (sure <= *ret_sure) continue;
    *ret_sure = sure;
    found = *form;
  }
  return found;
}

/* A guess at the kind of a text that no form recognises, from words in it. The first match counts.
 */
static const struct {
  const char *pattern; /* in multiline mode */
  const char *what;
} looks[] = {
    {"\\{\\{-? *\\.?(Values|Release|include)",
     "a template of Helm: give the output of 'helm template'"},
    {"^model_list:", "a config of LiteLLM's proxy, which starts no engine"},
    {"^schema: ", "a document of Orrery: 'orrery run' and 'orrery check' read it"},
    {"^[ \\t]*(tensor_parallel_size|tensor-parallel-size|max_num_seqs|max-num-seqs|kv_cache_config|"
     "mem-fraction-static|mem_fraction_static):",
     "options of a serving engine: give the launch line that names this file, too"},
    {"vllm|sglang|trtllm|tensorrt",
     "something about serving: a manifest with containers (kind, services), a launch line, or a "
     "config with the line that names it is read"},
    {"^[ \t\"']*--[a-z]", "options without their command: put the program in front, as in "
                          "'torchrun pretrain_gpt.py' or 'vllm serve'"},
    {"learning_rate|batch_size|optimizer|num_layers",
     "settings of a training of no known trainer (known: NeMo, GPT-NeoX, DeepSpeed, Accelerate, "
     "llm-foundry, OLMo, Primus, Megatron-LM's tests, Transformers and those that build on it)"},
};

char *orr_launch_form_looks(const char *text) {
  for (guint i = 0; i < G_N_ELEMENTS(looks); i++)
    if (g_regex_match_simple(looks[i].pattern, text, G_REGEX_MULTILINE, 0))
      return g_strdup_printf("it looks like %s", looks[i].what);
  g_autoptr(GString) read = g_string_new("what is read: ");
  for (const OrrLaunchForm *const *form = forms; *form; form++)
    g_string_append_printf(read, "%s%.*s", form == forms ? "" : "; ",
                           (int)strcspn((*form)->sentence, "."), (*form)->sentence);
  return g_strdup(read->str);
}

static void refuse(OrrLaunchDraft *draft, const OrrLaunchSource *source) {
  g_autofree char *what = orr_launch_form_looks(source->text);
  const OrrPlace place = {.file = g_intern_string(source->name)};
  orr_diags_error(draft->diags, place, "neither a launch line nor a known config: %s", what);
}

static void read_source(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  int sure = 0;
  const OrrLaunchForm *form = form_of(source, &sure);
  source->is_used = TRUE;
  if (form)
    form->read(draft, source);
  else
    refuse(draft, source);
}

void orr_launch_form_read_configs(OrrLaunchDraft *draft, const char *but) {
  ORR_EACH_POINTER(OrrLaunchSource, source, draft->sources) {
    int sure = 0;
    const OrrLaunchForm *form = form_of(source, &sure);
    if (source->is_used || !form || strcmp(form->name, "shell") == 0) continue;
    if (g_strcmp0(form->name, but) != 0) read_source(draft, source);
  }
}

void orr_launch_form_read(OrrLaunchDraft *draft) {
  for (int lines_first = 1; lines_first >= 0; lines_first--)
    for (guint i = 0; i < draft->sources->len; i++) { /* reading may add sources */
      OrrLaunchSource *source = draft->sources->pdata[i];
      int sure = 0;
      const OrrLaunchForm *form = form_of(source, &sure);
      const gboolean is_shell = form && strcmp(form->name, "shell") == 0;
      if (!source->is_used && (is_shell || !lines_first)) read_source(draft, source);
    }
  orr_launch_draft_apply(draft);
}

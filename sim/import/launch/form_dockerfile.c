/*
 * form_dockerfile.c - a Dockerfile whose image starts a server.
 *
 * It becomes a script of as many lines, which the shell's reader walks:
 *
 *   FROM vllm/vllm-openai:v0.9.1        (the image: the stack, and what runs where CMD has only
 *   ENV TP=2                             export TP=2                            options)
 *   RUN pip install vllm==0.9.1          pip install vllm==0.9.1
 *   ENTRYPOINT ["vllm", "serve"]
 *   CMD ["Qwen/Qwen3-8B"]                vllm serve Qwen/Qwen3-8B
 */
#include "sim/base/yaml_foreign.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/shell.h"

typedef struct {
  OrrLaunchDraft *draft;
  const char *file;
  GString *script;
  char *image; /* of the last FROM */
  char *entry; /* words of ENTRYPOINT that no CMD has completed yet */
} Dockerfile;

static int recognise(const OrrLaunchSource *source) {
  g_autofree char *base = g_path_get_basename(source->name);
  const GRegexCompileFlags flags = G_REGEX_MULTILINE;
  if (g_str_has_prefix(base, "Dockerfile") || g_str_has_suffix(base, ".dockerfile")) return 92;
  return g_regex_match_simple("^FROM[ \t]+[a-z0-9$][^ \t\n]*([ \t]+AS[ \t]+\\S+)?[ \t]*$",
                              source->text, flags, 0) &&
                 g_regex_match_simple("^(CMD|ENTRYPOINT|RUN)[ \t]", source->text, flags, 0)
             ? 88
             : 0;
}

/* The words of ["a", "b"], quoted for a shell. NULL: not such a list. */
static char *words_of(Dockerfile *dockerfile, const char *text) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  if (*text != '[') return NULL;
  g_autoptr(GPtrArray) trees =
      orr_yaml_foreign_parse(text, strlen(text), dockerfile->file, ignored);
  const OrrNode *list = trees && trees->len == 1 ? trees->pdata[0] : NULL;
  if (!list || list->kind != ORR_NODE_LIST) return NULL;
  g_autoptr(GString) words = g_string_new(NULL);
  for (guint i = 0; i < orr_node_length(list); i++) {
    const OrrNode *item = list->items->pdata[i];
    g_autofree char *word = item->kind == ORR_NODE_SCALAR ? g_shell_quote(item->text) : NULL;
    if (word) g_string_append_printf(words, "%s%s", i ? " " : "", word);
  }
  return g_strdup(words->str);
}

/* What @text, an instruction with its continuations, becomes in one line; "" for nothing. */
static char *translate(Dockerfile *dockerfile, const char *name, const char *text) {
  if (strcmp(name, "RUN") == 0) {
    while (g_str_has_prefix(text, "--")) text += strcspn(text, " \t"), text += strspn(text, " \t");
    g_autofree char *words = words_of(dockerfile, text);
    return g_strdup(words ? words : text);
  }
  if (strcmp(name, "ENV") == 0 || strcmp(name, "ARG") == 0) {
    const gsize key =
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    if (text[key] == '=') return g_strconcat("export ", text, NULL);
    return *text && text[key] ? g_strdup_printf("export %.*s=\"%s\"", (int)key, text,
                                                text + key + strspn(text + key, " \t"))
                              : g_strdup("");
  }
  const gboolean is_entry = strcmp(name, "ENTRYPOINT") == 0;
  if (!is_entry && strcmp(name, "CMD") != 0) return g_strdup("");
  g_autofree char *words = words_of(dockerfile, text);
  const char *line = words ? words : text;
  if (is_entry) {
    g_free(dockerfile->entry);
    dockerfile->entry = g_strdup(line);
    return g_strdup("");
  }
  g_autofree char *entry = g_steal_pointer(&dockerfile->entry);
  return entry ? g_strconcat(entry, " ", line, NULL) : g_strdup(line);
}

static void add_instruction(Dockerfile *dockerfile, const char *text, guint n_lines) {
  const gsize length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  g_autofree char *small = g_strndup(text, length);
  g_autofree char *name = g_ascii_strup(small, -1);
  const char *rest = text + length + strspn(text + length, " \t");
  if (strcmp(name, "FROM") == 0) {
    while (g_str_has_prefix(rest, "--")) rest += strcspn(rest, " \t"), rest += strspn(rest, " \t");
    g_free(dockerfile->image);
    dockerfile->image = g_strndup(rest, strcspn(rest, " \t"));
  }
  g_autofree char *line = translate(dockerfile, name, rest);
  g_string_append(dockerfile->script, line);
  for (guint i = 0; i < n_lines; i++) g_string_append_c(dockerfile->script, '\n');
}

/* Joins continued lines; comments between them are left out. */
static void translate_all(Dockerfile *dockerfile, const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  g_autoptr(GString) joined = g_string_new(NULL);
  guint n_lines = 0;
  for (char **line = lines; *line; line++) {
    char *stripped = g_strstrip(*line);
    const gsize length = strlen(stripped);
    const gboolean goes_on = length > 0 && stripped[length - 1] == '\\' && stripped[0] != '#';
    n_lines++;
    if (goes_on) stripped[length - 1] = ' ';
    if (stripped[0] != '#') g_string_append(joined, stripped);
    if (goes_on || (stripped[0] == '#' && joined->len > 0)) continue;
    add_instruction(dockerfile, joined->str, n_lines);
    g_string_truncate(joined, 0);
    n_lines = 0;
  }
  if (dockerfile->entry) g_string_append_printf(dockerfile->script, "%s\n", dockerfile->entry);
}

/* --- Commands --- */

static gboolean is_engine(const char *image) {
  return image && (strstr(image, "vllm") || strstr(image, "sglang") || strstr(image, "tensorrt"));
}

/* Options alone belong to the image's own program. */
static gboolean concerns(OrrLaunchCommand *command, const Dockerfile *dockerfile) {
  const OrrLaunchWord *first = command->words->len ? command->words->pdata[0] : NULL;
  const gboolean is_known = orr_launch_server_knows(command);
  const gboolean is_options = first && first->text[0] == '-' && is_engine(dockerfile->image);
  if (!is_known && !is_options) return FALSE;
  if (is_engine(dockerfile->image)) command->image = g_intern_string(dockerfile->image);
  command->image_place = (OrrPlace){.file = dockerfile->file, .line = 1, .column = 1};
  return orr_launch_server_knows(command);
}

static void read_script(Dockerfile *dockerfile) {
  g_autoptr(OrrShell) shell = orr_shell_new(dockerfile->draft);
  g_autoptr(GPtrArray) servers = g_ptr_array_new();
  orr_shell_run(shell, dockerfile->script->str, ORR_SHELL_BEGIN(dockerfile->file));
  const GPtrArray *commands = orr_shell_commands(shell);
  for (guint i = 0; i < commands->len; i++)
    if (concerns(commands->pdata[i], dockerfile)) g_ptr_array_add(servers, commands->pdata[i]);
  if (servers->len > 0)
    orr_launch_server_group_read(dockerfile->draft, servers);
  else if (orr_diags_n_errors(dockerfile->draft->diags) == 0)
    orr_diags_error(dockerfile->draft->diags, (OrrPlace){.file = dockerfile->file},
                    "neither CMD nor ENTRYPOINT starts vLLM, SGLang or TensorRT-LLM");
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(GString) script = g_string_new(NULL);
  Dockerfile dockerfile = {.draft = draft, .file = g_intern_string(source->name), .script = script};
  translate_all(&dockerfile, source->text);
  read_script(&dockerfile);
  ORR_FREE(dockerfile.image, dockerfile.entry);
}

const OrrLaunchForm orr_launch_form_dockerfile = {
    .name = "dockerfile",
    .sentence = "A Dockerfile whose image starts a server.",
    .recognise = recognise,
    .read = read,
};

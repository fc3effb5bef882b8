/*
 * form_registry.c - torchtitan's configs in Python, which took the place of its TOML in 2026-02:
 *
 *   def llama3_8b() -> Trainer.Config:
 *       return Trainer.Config(
 *           model_spec=model_registry("8B"),
 *           training=TrainingConfig(local_batch_size=1, seq_len=8192),
 *           parallelism=ParallelismConfig(tensor_parallel_degree=8),
 *       )
 *   def llama3_8b_float8() -> Trainer.Config:
 *       config = llama3_8b()                        another function of the file
 *       config.training.seq_len = 4096              a setting
 *       return config
 *
 * Nothing is executed: keywords of calls are followed. A setting has the key that its TOML had:
 * `training.seq-len`. The model is the beginning of the function's name and the flavour of
 * model_registry. Of several functions --choose takes one; the first that does not debug is
 * assumed. Other statements of a function (if, for) are named as not seen.
 *
 * Source: torchtitan/models/llama3/config_registry.py and its siblings of pytorch/torchtitan, 2026.
 */
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/python.h"

enum { MOST_DEPTH = 12, MOST_FUNCTIONS = 400, MOST_STEPS = 20000 };

static const OrrLaunchDialect *const titan = &orr_dialect_torchtitan;

typedef struct {
  char *text;
  OrrPlace place;
} Statement;

typedef struct {
  char *name;
  OrrPlace place;
  GArray *statements; /* of Statement */
} Function;

static void clear_statement(gpointer data) { g_free(((Statement *)data)->text); }

static void free_function(gpointer data) {
  Function *function = data;
  g_free(function->name);
  g_array_unref(function->statements);
  g_free(function);
}

static int recognise(const OrrLaunchSource *source) {
  return strstr(source->text, "Trainer.Config(") &&
                 g_regex_match_simple("^def [a-z0-9_]+\\(\\)( -> Trainer.Config)?:", source->text,
                                      G_REGEX_MULTILINE | G_REGEX_RAW, 0)
             ? 92
             : 0;
}

/* --- Functions --- */

static Function *function_of(const char *line, OrrPlace place) {
  if (!g_str_has_prefix(line, "def ") || !strchr(line, '(')) return NULL;
  Function *function = g_new0(Function, 1);
  function->name = g_strndup(line + 4, strcspn(line + 4, "("));
  function->place = place;
  function->statements = g_array_new(FALSE, FALSE, sizeof(Statement));
  g_array_set_clear_func(function->statements, clear_statement);
  return function;
}

static GPtrArray *read_functions(const OrrLaunchSource *source) {
  GPtrArray *functions = g_ptr_array_new_with_free_func(free_function);
  Function *function = NULL;
  const char *file = g_intern_string(source->name);
  int line = 1;
  for (const char *c = source->text; *c && functions->len < MOST_FUNCTIONS;) {
    const OrrPlace place = {.file = file, .line = line, .column = 1};
    g_autofree char *text = orr_python_line(&c, &line);
    const gboolean is_inside = text[0] == ' ' || text[0] == '\t';
    if (!*g_strstrip(text)) continue;
    if (!is_inside) function = function_of(text, place);
    if (!is_inside && function) g_ptr_array_add(functions, function);
    if (!is_inside || !function) continue;
    ORR_APPEND(function->statements, Statement, {g_steal_pointer(&text), place});
  }
  return functions;
}

static const Function *function_named(const GPtrArray *functions, const char *name) {
  for (guint i = functions->len; i-- > 0;) {
    const Function *function = functions->pdata[i];
    if (strcmp(function->name, name) == 0) return function;
  }
  return NULL;
}

/* A function that makes a config: it returns one. */
static gboolean makes_config(const Function *function) {
  ORR_EACH(const Statement, statement, function->statements)
    if (g_str_has_prefix(statement->text, "return ")) return function->name[0] != '_';
  return FALSE;
}

/* --- Settings --- */

typedef struct {
  OrrLaunchDraft *draft;
  const GPtrArray *functions;
  guint depth, n_steps;
} Run;

static void run_function(Run *run, const Function *function);

/* "True", "1_000", "'x'" as a config writes them. Newly allocated. */
static char *plain(const char *text) {
  const gsize n = strlen(text);
  if (strcmp(text, "True") == 0) return g_strdup("true");
  if (strcmp(text, "False") == 0) return g_strdup("false");
  if (strcmp(text, "None") == 0) return g_strdup("null");
  if (n >= 2 && strchr("\"'", text[0]) && text[n - 1] == text[0]) return g_strndup(text + 1, n - 2);
  g_auto(GStrv) groups = g_strsplit(text, "_", -1);
  return g_ascii_isdigit(text[0]) ? g_strjoinv("", groups) : g_strdup(text);
}

static void add(Run *run, const char *key, const char *value, OrrPlace place) {
  OrrLaunchSetting *setting = orr_launch_draft_add(run->draft, titan, key, value, place);
  g_free(setting->written);
  setting->written = g_strdup_printf("%s=%s", key, value);
}

/* Python's name of a key -> the one that its TOML had. Newly allocated. */
static char *key_of(const char *path) {
  static const char *const renamed[][2] = {{"dataloader.", "training.dataloader."},
                                           {"validator.", "validation."},
                                           {"profiler.", "profiling."},
                                           {"hf_assets_path", "model.hf-assets-path"},
                                           {"dump_folder", "job.dump-folder"}};
  for (guint i = 0; i < G_N_ELEMENTS(renamed); i++)
    if (g_str_has_prefix(path, renamed[i][0]))
      return g_strconcat(renamed[i][1], path + strlen(renamed[i][0]), NULL);
  return g_strdup(path);
}

/* Converters are classes: Float8LinearConverter.Config(recipe_name="rowwise"). */
static void add_converter(Run *run, const char *name, char **arguments, OrrPlace place) {
  const gboolean is_mx = g_str_has_prefix(name, "MX"), is_8 = strstr(name, "Float8") != NULL;
  const char *prefix = strstr(name, "Grouped") ? "quantize.grouped-mm" : is_mx ? "mx" : "float8";
  if (!is_mx && !is_8)
    return orr_diags_warning(run->draft->diags, place, "converter %s is not simulated", name);
  if (strcmp(prefix, "quantize.grouped-mm") != 0)
    add(run, "model.converters", is_mx ? "[mx]" : "[float8]", place);
  for (char **argument = arguments; *argument; argument++) {
    const char *equals = orr_python_find(*argument, '=');
    if (!equals) continue;
    g_autofree char *word = g_strndup(*argument, (gsize)(equals - *argument));
    g_autofree char *key = g_strconcat(prefix, ".", g_strstrip(word), NULL);
    g_autofree char *text = g_strdup(equals + 1), *value = plain(g_strstrip(text));
    add(run, key, value, place);
  }
}

/* A bare call where a value stands. */
static void add_call(Run *run, const char *path, const char *name, char **arguments,
                     OrrPlace place) {
  if (strcmp(name, "model_registry") == 0 && arguments[0]) {
    g_autofree char *flavor = plain(arguments[0]);
    add(run, "model.flavor", flavor, place);
    return;
  }
  if (g_str_has_prefix(path, "model_converters.converters"))
    return add_converter(run, name, arguments, place);
  if (g_str_has_prefix(name, "OptimizersInBackward"))
    add(run, "optimizer.early-step-in-backward", "true", place);
}

static void flatten(Run *run, const char *path, const char *text, OrrPlace place);

static void flatten_arguments(Run *run, const char *path, char **arguments, OrrPlace place) {
  for (char **argument = arguments; *argument; argument++) {
    const char *equals = orr_python_find(*argument, '=');
    if (!equals) continue;
    g_autofree char *word = g_strndup(*argument, (gsize)(equals - *argument));
    g_autofree char *below = g_strconcat(path, *path ? "." : "", g_strstrip(word), NULL);
    g_autofree char *value = g_strdup(equals + 1);
    flatten(run, below, g_strstrip(value), place);
  }
}

static gboolean is_list(const char *text) {
  const gsize n = strlen(text);
  return n >= 2 && text[0] == '[' && text[n - 1] == ']';
}

/* The value @text of @path: a call's keywords lie below it. */
static void flatten(Run *run, const char *path, const char *text, OrrPlace place) {
  if (run->depth >= MOST_DEPTH || !orr_launch_draft_draw(run->draft, strlen(text), place)) return;
  run->depth++;
  g_autofree char *inner = NULL, *name = orr_python_call(text, &inner);
  if (name) {
    g_auto(GStrv) arguments = orr_python_parts(inner);
    add_call(run, path, name, arguments, place);
    if (strcmp(name, "model_registry") != 0 &&
        !g_str_has_prefix(path, "model_converters.converters"))
      flatten_arguments(run, path, arguments, place);
  } else if (is_list(text) && strstr(text, ".Config(")) {
    g_autofree char *items = g_strndup(text + 1, strlen(text) - 2);
    g_auto(GStrv) parts = orr_python_parts(items);
    for (char **part = parts; *part; part++) flatten(run, path, *part, place);
  } else {
    g_autofree char *key = key_of(path), *value = plain(text);
    add(run, key, value, place);
  }
  run->depth--;
}

/* "config = f()", "config.a.b = x", "return Trainer.Config(...)". */
static void run_statement(Run *run, const Statement *statement) {
  const char *text = statement->text;
  const gboolean returns = g_str_has_prefix(text, "return ");
  const char *equals = returns ? NULL : orr_python_find(text, '=');
  g_autofree char *left = equals ? g_strndup(text, (gsize)(equals - text)) : g_strdup("");
  g_autofree char *right = g_strdup(returns ? text + strlen("return ") : equals ? equals + 1 : "");
  const char *dot = strchr(g_strstrip(left), '.');
  g_autofree char *inner = NULL, *name = orr_python_call(g_strstrip(right), &inner);
  const Function *other = name ? function_named(run->functions, name) : NULL;
  if (g_str_has_prefix(text, "if ") || g_str_has_prefix(text, "for ") ||
      g_str_has_prefix(text, "del "))
    orr_diags_warning(run->draft->diags, statement->place, "'%.60s' is not followed", text);
  else if (equals && dot)
    flatten(run, dot + 1, right, statement->place);
  else if (other && run->depth < MOST_DEPTH)
    run_function(run, other);
  else if (name && strcmp(name, "model_registry") == 0)
    flatten(run, "model_spec", right, statement->place);
  else if (name && g_str_has_suffix(name, "Trainer.Config"))
    flatten(run, "", right, statement->place);
}

static void run_function(Run *run, const Function *function) {
  run->depth++;
  for (guint i = 0; i < function->statements->len && run->n_steps++ < MOST_STEPS; i++)
    run_statement(run, &g_array_index(function->statements, Statement, i));
  run->depth--;
}

/* --- The choice --- */

/* torchtitan's name of the model: what the function's name begins with. */
static void add_model(OrrLaunchDraft *draft, const Function *function) {
  static const char *const models[] = {"llama3", "llama4", "deepseek_v3", "qwen3", "gpt_oss", NULL};
  const char *const *model = models;
  while (*model && !g_str_has_prefix(function->name, *model)) model++;
  OrrLaunchSetting *setting = orr_launch_draft_add(
      draft, titan, "model.name", *model ? *model : function->name, function->place);
  g_free(setting->written);
  setting->written = g_strdup_printf("def %s()", function->name);
}

static gboolean is_small(const char *name) {
  return strstr(name, "debug") || strstr(name, "test") || strstr(name, "sft");
}

static const Function *choose(OrrLaunchDraft *draft, const GPtrArray *functions) {
  const OrrLaunchOptions *options = orr_launch_draft_options(draft);
  g_autoptr(GString) names = g_string_new(NULL);
  const Function *first = NULL, *chosen = NULL;
  guint n = 0;
  ORR_EACH_POINTER(const Function, function, functions) {
    if (!makes_config(function)) continue;
    n++;
    g_string_append_printf(names, "; %u: %s", n, function->name);
    if (options->choice == n) chosen = function;
    if (!first || (is_small(first->name) && !is_small(function->name))) first = function;
  }
  if (chosen || (options->choice == 0 && n == 1)) return chosen ? chosen : first;
  if (options->choice == 0 && first && !options->strict) {
    orr_launch_draft_remark(draft, "assumed: config %s, of %u; --choose N says another%s",
                            first->name, n, names->str);
    return first;
  }
  orr_launch_draft_ask(draft, "which config? Add --choose N%s", names->str);
  return NULL;
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(GPtrArray) functions = read_functions(source);
  const Function *function = choose(draft, functions);
  Run run = {.draft = draft, .functions = functions};
  if (!function) return;
  add_model(draft, function);
  run_function(&run, function);
}

const OrrLaunchForm orr_launch_form_registry = {
    .name = "registry",
    .sentence = "torchtitan's configs in Python.",
    .recognise = recognise,
    .read = read,
};

/*
 * form_olmo_core.c - OLMo-core's training scripts, in Python:
 *
 *   SEQUENCE_LENGTH = 8192
 *   GLOBAL_BATCH_SIZE = 1024 * 4096                       tokens
 *   config = TransformerConfig.olmo2_7B(n_kv_heads=8)     the model, and what differs from it
 *   config.block.attention.use_flash = True               the same
 *   TransformerTrainModuleConfig(
 *       rank_microbatch_size=2 * SEQUENCE_LENGTH,         tokens
 *       dp_config=TransformerDataParallelConfig(name=DataParallelType.hsdp, shard_degree=32))
 *
 * Nothing is executed: keywords of the calls below are followed, with the arithmetic of constants.
 * A keyword is a setting: `train.dp-config.name`. dialect_olmo_core.c makes a scenario of them.
 *
 * Source: src/scripts/train and src/olmo_core/train/train_module of allenai/OLMo-core, 1.8 to 2.4.
 */
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/python.h"

enum { MOST_DEPTH = 12, MOST_STEPS = 20000 };

static const OrrLaunchDialect *const own = &orr_dialect_olmo_core;

/* Calls whose keywords are settings, by how their names end, and the first level of the keys. */
static const struct {
  const char *call, *prefix;
} calls[] = {{"TransformerTrainModuleConfig", "train"},
             {"TransformerPipelineTrainModuleConfig", "train"},
             {"NumpyDataLoaderConfig", "data-loader"},
             {"NumpyFSLDatasetConfig", "dataset"},
             {"main", "main"}};

typedef struct {
  OrrLaunchDraft *draft;
  GHashTable *constants; /* name -> text */
  guint depth, n_steps;  /* of values */
} Run;

static int recognise(const OrrLaunchSource *source) {
  return strstr(source->text, "olmo_core") && strstr(source->text, "TransformerConfig.") &&
                 strstr(source->text, "TrainModuleConfig(")
             ? 92
             : 0;
}

/* --- Numbers --- */

static gboolean value_of(Run *run, const char **at, double *ret_value);

/* A number, a constant, int(x), or what stands in brackets. */
static gboolean factor(Run *run, const char **at, double *ret_value) {
  *at += strspn(*at, " \t\n");
  const gsize name = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
  if (**at == '(' || (strncmp(*at, "int", name) == 0 && name == 3 && (*at)[3] == '(')) {
    *at += **at == '(' ? 1 : 4;
    if (!value_of(run, at, ret_value) || **at != ')') return FALSE;
    ++*at;
    return TRUE;
  }
  if (g_ascii_isdigit(**at)) {
    g_autoptr(GString) digits = g_string_new(NULL);
    for (; **at && (g_ascii_isalnum(**at) || strchr("._", **at)); ++*at)
      if (**at != '_') g_string_append_c(digits, **at);
    char *end = NULL;
    *ret_value = g_ascii_strtod(digits->str, &end);
    return *end == '\0';
  }
  g_autofree char *word = g_strndup(*at, name);
  const char *text = name ? g_hash_table_lookup(run->constants, word) : NULL;
  *at += name;
  return text && value_of(run, &text, ret_value) && *text == '\0';
}

/* Products, and sums of them; *@at is behind it. */
static gboolean product(Run *run, const char **at, double *ret_value) {
  double next = 0;
  if (!factor(run, at, ret_value)) return FALSE;
  for (;;) {
    *at += strspn(*at, " \t\n");
    const char operation = **at;
    if (operation != '*' && operation != '/') return TRUE;
    *at += (*at)[1] == operation ? 2 : 1;
    const gboolean is_power = operation == '*' && (*at)[-2] == '*';
    if (!factor(run, at, &next) || (operation == '/' && next == 0)) return FALSE;
    if (is_power)
      *ret_value = pow(*ret_value, next);
    else
      *ret_value = operation == '*' ? *ret_value * next : *ret_value / next;
  }
}

static gboolean value_of(Run *run, const char **at, double *ret_value) {
  double next = 0;
  if (run->depth >= MOST_DEPTH || ++run->n_steps > MOST_STEPS) return FALSE;
  run->depth++;
  gboolean is_number = product(run, at, ret_value);
  while (is_number && (**at == '+' || **at == '-')) {
    const char operation = *(*at)++;
    is_number = product(run, at, &next);
    *ret_value += operation == '+' ? next : -next;
  }
  run->depth--;
  return is_number;
}

/* The text of a value: a number that was computed, a word without its class. Newly allocated. */
static char *plain(Run *run, const char *text) {
  static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
  const char *at = text, *dot = strrchr(text, '.');
  double number = 0;
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (strcmp(text, words[i][0]) == 0) return g_strdup(words[i][1]);
  if (value_of(run, &at, &number) && *at == '\0' && isfinite(number) && fabs(number) < 1e15)
    return g_strdup_printf("%.15g", number);
  const gboolean is_member = g_ascii_isupper(*text) && dot && !strpbrk(text, "([{ ");
  return g_strdup(is_member ? dot + 1 : text); /* DataParallelType.hsdp: hsdp */
}

/* --- Settings --- */

static void add(Run *run, const char *key, const char *value, OrrPlace place) {
  OrrLaunchSetting *setting = orr_launch_draft_add(run->draft, own, key, value, place);
  g_free(setting->written);
  setting->written = g_strdup_printf("%s=%s", key, value);
}

/* The keywords of a call below @path, and of the calls that are their values. */
static void flatten(Run *run, const char *path, const char *inner, OrrPlace place) {
  if (run->depth >= MOST_DEPTH || !orr_launch_draft_draw(run->draft, strlen(inner), place)) return;
  run->depth++;
  g_auto(GStrv) arguments = orr_python_parts(inner);
  for (char **argument = arguments; *argument; argument++) {
    const char *equals = orr_python_find(*argument, '=');
    if (!equals) continue;
    g_autofree char *word = g_strndup(*argument, (gsize)(equals - *argument));
    g_autofree char *key = g_strconcat(path, ".", g_strstrip(word), NULL);
    g_autofree char *right = g_strdup(equals + 1);
    g_autofree char *below = NULL, *name = orr_python_call(g_strstrip(right), &below);
    g_autofree char *value = plain(run, right);
    const gboolean is_config = name && (strstr(name, "Config") || strstr(name, "WSD"));
    if (is_config) add(run, key, name, place);
    if (is_config)
      flatten(run, key, below, place);
    else
      add(run, key, value, place);
  }
  run->depth--;
}

/* TransformerConfig.olmo2_7B(...): the model, and what differs. */
static void add_model(Run *run, const char *name, const char *inner, OrrPlace place) {
  add(run, "model.factory", strrchr(name, '.') + 1, place);
  flatten(run, "model", inner, place);
}

static void read_call(Run *run, const char *text, OrrPlace place) {
  g_autofree char *inner = NULL, *name = orr_python_call(text, &inner);
  if (!name) return;
  if (g_str_has_prefix(name, "TransformerConfig.")) add_model(run, name, inner, place);
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++)
    if (strcmp(name, calls[i].call) == 0) flatten(run, calls[i].prefix, inner, place);
}

/* "x = f(...)", "return f(...)", "f(...)", "config.a = x", "NAME = 1024 * 4096". */
static void read_statement(Run *run, const char *text, OrrPlace place) {
  const gboolean returns = g_str_has_prefix(text, "return ");
  const char *equals = returns ? NULL : orr_python_find(text, '=');
  const gboolean is_augmented = equals && equals > text && strchr("+-*/", equals[-1]);
  g_autofree char *left = g_strndup(text, equals ? (gsize)(equals - text) : 0);
  g_autofree char *right = g_strdup(returns  ? text + strlen("return ")
                                    : equals ? equals + 1
                                             : text);
  g_strstrip(left);
  g_strstrip(right);
  read_call(run, right, place);
  if (g_str_has_prefix(left, "config.") && !g_str_has_prefix(left, "config.callbacks")) {
    g_autofree char *key = g_strconcat("set.", left + strlen("config."), NULL);
    g_autofree char *value = plain(run, right);
    add(run, key, value, place);
  } else if (equals && !is_augmented && *left && !strpbrk(left, ".[( ,")) {
    if (!g_hash_table_contains(run->constants, left))
      g_hash_table_insert(run->constants, g_strdup(left), g_strdup(right));
  } else if (is_augmented) {
    orr_diags_warning(run->draft->diags, place, "'%.60s' is not followed", text);
  }
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  Run run = {.draft = draft,
             .constants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
  const char *file = g_intern_string(source->name);
  int line = 1;
  for (const char *c = source->text; *c;) {
    const OrrPlace place = {.file = file, .line = line, .column = 1};
    g_autofree char *text = orr_python_line(&c, &line);
    if (*g_strstrip(text)) read_statement(&run, text, place);
  }
  g_hash_table_unref(run.constants);
}

const OrrLaunchForm orr_launch_form_olmo_core = {
    .name = "olmo-core",
    .sentence = "OLMo-core's training scripts in Python.",
    .recognise = recognise,
    .read = read,
};

/*
 * recipe.c - follows assignments through functions of Python, within bounds.
 */
#include "sim/import/launch/recipe.h"

enum { MAX_DEPTH = 16, MAX_NESTED = 32, MAX_STEPS = 20000 };

typedef struct {
  char *text; /* a logical line without comment */
  guint indent;
  int line;
} Statement;

typedef struct {
  char *name, *parameters;
  const char *file;      /* interned */
  GPtrArray *statements; /* of Statement * */
} Function;

struct OrrRecipes {
  GPtrArray *functions;  /* of Function * */
  GHashTable *by_name;   /* name -> Function *, the last of its name */
  GHashTable *constants; /* name -> text of a literal */
};

/* A run of one recipe. */
typedef struct {
  OrrRecipes *recipes;
  GPtrArray *settings; /* of OrrRecipeSetting * */
  GHashTable *places;  /* key -> OrrRecipeSetting * */
  GPtrArray *missing;
  guint depth, nested, n_steps;
} Run;

/* What the names of a function mean: a path below the config ("cfg" -> "", "model" -> "model."), or
 * a text. */
typedef struct {
  GHashTable *paths, *texts;
} Scope;

static void free_statement(gpointer data) {
  Statement *statement = data;
  ORR_FREE(statement->text, statement);
}

static void free_function(gpointer data) {
  Function *function = data;
  ORR_FREE(function->name, function->parameters);
  g_ptr_array_unref(function->statements);
  g_free(function);
}

OrrRecipes *orr_recipes_new(void) {
  OrrRecipes *recipes = g_new0(OrrRecipes, 1);
  recipes->functions = g_ptr_array_new_with_free_func(free_function);
  recipes->by_name = g_hash_table_new(g_str_hash, g_str_equal);
  recipes->constants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  return recipes;
}

void orr_recipes_free(OrrRecipes *recipes) {
  if (!recipes) return;
  g_ptr_array_unref(recipes->functions);
  g_hash_table_unref(recipes->by_name);
  g_hash_table_unref(recipes->constants);
  g_free(recipes);
}

gboolean orr_recipes_is_likely(const char *text) {
  return strstr(text, "ConfigContainer") && strstr(text, "cfg.") &&
         g_regex_match_simple("^def [a-z0-9_]+\\(", text, G_REGEX_MULTILINE, 0);
}

/* --- Logical lines --- */

/* Behind the literal text that begins at @c with a quote; the end where it is not closed. */
static const char *after_quotes(const char *c) {
  const char quote = *c;
  if (c[1] == quote && c[2] == quote) {
    const char three[] = {quote, quote, quote, '\0'};
    const char *end = strstr(c + 3, three);
    return end ? end + 3 : c + strlen(c);
  }
  for (c++; *c && *c != quote && *c != '\n'; c++)
    if (*c == '\\' && c[1]) c++;
  return *c == quote ? c + 1 : c;
}

char *orr_recipe_line(const char **c, int *line) {
  GString *text = g_string_new(NULL);
  guint depth = 0;
  for (; **c && (**c != '\n' || depth > 0);) {
    const char *at = *c;
    if (*at == '#') {
      *c += strcspn(at, "\n");
      continue;
    }
    const char *next = strchr("\"'", *at) ? after_quotes(at) : at + 1;
    depth += strchr("([{", *at) != NULL;
    if (strchr(")]}", *at) && depth > 0) depth--;
    for (const char *k = at; k < next; k++) *line += *k == '\n';
    if (*at == '\n')
      g_string_append_c(text, ' ');
    else
      g_string_append_len(text, at, next - at);
    *c = next;
  }
  if (**c == '\n') (*c)++, (*line)++;
  return g_string_free(text, FALSE);
}

const char *orr_recipe_find(const char *text, char letter) {
  guint depth = 0;
  for (const char *c = text; *c;) {
    if (depth == 0 && *c == letter &&
        (letter != '=' || (c[1] != '=' && (c == text || !strchr("=!<>", c[-1])))))
      return c;
    depth += strchr("([{", *c) != NULL;
    if (strchr(")]}", *c) && depth > 0) depth--;
    c = strchr("\"'", *c) ? after_quotes(c) : c + 1;
  }
  return NULL;
}

char **orr_recipe_parts(const char *text) {
  g_autoptr(GStrvBuilder) parts = g_strv_builder_new();
  while (*text) {
    const char *comma = orr_recipe_find(text, ',');
    g_autofree char *part = comma ? g_strndup(text, (gsize)(comma - text)) : g_strdup(text);
    if (*g_strstrip(part)) g_strv_builder_add(parts, part);
    text = comma ? comma + 1 : text + strlen(text);
  }
  return g_strv_builder_end(parts);
}

/* --- Files --- */

static void add_constant(OrrRecipes *recipes, const char *text) {
  const char *equals = orr_recipe_find(text, '=');
  const gsize length = strcspn(text, " :=");
  if (!equals || length == 0 || strcspn(text, ".([") < length) return;
  g_autofree char *value = g_strdup(equals + 1);
  g_hash_table_replace(recipes->constants, g_strndup(text, length), g_strdup(g_strstrip(value)));
}

static Function *add_function(OrrRecipes *recipes, const char *text, const char *file) {
  const char *open = strchr(text, '('), *close = strrchr(text, ')');
  if (!open || !close || close < open) return NULL;
  Function *function = g_new0(Function, 1);
  function->name = g_strndup(text + 4, (gsize)(open - text) - 4);
  function->parameters = g_strndup(open + 1, (gsize)(close - open) - 1);
  function->file = file;
  function->statements = g_ptr_array_new_with_free_func(free_statement);
  g_ptr_array_add(recipes->functions, function);
  g_hash_table_replace(recipes->by_name, function->name, function);
  return function;
}

void orr_recipes_add(OrrRecipes *recipes, const char *text, const char *file) {
  Function *function = NULL;
  int line = 1;
  for (const char *c = text; *c;) {
    const int first = line;
    g_autofree char *logical = orr_recipe_line(&c, &line);
    const guint indent = (guint)strspn(logical, " \t");
    g_strstrip(logical);
    if (!*logical) continue;
    if (indent == 0) {
      const gboolean is_function = g_str_has_prefix(logical, "def ");
      function = is_function ? add_function(recipes, logical, g_intern_string(file)) : NULL;
      if (!is_function) add_constant(recipes, logical);
    } else if (function) {
      Statement *statement = g_new0(Statement, 1);
      *statement = (Statement){g_steal_pointer(&logical), indent, first};
      g_ptr_array_add(function->statements, statement);
    }
  }
}

GPtrArray *orr_recipes_names(const OrrRecipes *recipes) {
  GPtrArray *names = g_ptr_array_new();
  ORR_EACH_POINTER(const Function, function, recipes->functions)
    if (function->name[0] != '_' && g_str_has_suffix(function->name, "_config"))
      g_ptr_array_add(names, function->name);
  return names;
}

/* --- Values --- */

static void put(Run *run, const char *key, const char *value, OrrPlace place) {
  OrrRecipeSetting *setting = g_hash_table_lookup(run->places, key);
  if (!setting) {
    setting = g_new0(OrrRecipeSetting, 1);
    setting->key = g_strdup(key);
    g_ptr_array_add(run->settings, setting);
    g_hash_table_insert(run->places, setting->key, setting);
  }
  g_free(setting->value);
  setting->value = g_strdup(value);
  setting->place = place;
}

/* Notes once what was not seen: @what of @name. */
static void miss(Run *run, const char *what, const char *name) {
  g_autofree char *text = g_strconcat(what, name, NULL);
  for (guint i = 0; i < run->missing->len; i++)
    if (strcmp(run->missing->pdata[i], text) == 0) return;
  g_ptr_array_add(run->missing, g_steal_pointer(&text));
}

/* "cfg.model" -> "model." below the config; NULL: not a part of it. Newly allocated. */
static char *path_of(const Scope *scope, const char *text) {
  const gsize length = strcspn(text, ".");
  g_autofree char *root = g_strndup(text, length);
  const char *prefix = g_hash_table_lookup(scope->paths, root);
  if (!prefix || strpbrk(text, "([ ")) return NULL;
  return text[length] ? g_strconcat(prefix, text + length + 1, NULL) : g_strdup(prefix);
}

static char *list_value(Run *run, const Scope *scope, const char *text);

static char *value_of(Run *run, const Scope *scope, const char *text);

/* The value of a constant's text. */
static char *constant_value(Run *run, const Scope *scope, const char *text) {
  const char *constant = g_hash_table_lookup(run->recipes->constants, text);
  const gboolean is_known = constant && run->nested < MAX_NESTED;
  run->nested++;
  char *value = is_known ? value_of(run, scope, constant) : g_strdup(text);
  run->nested--;
  return value;
}

/* What @text is as a text: a literal, a constant, a parameter, another setting. Newly allocated. */
static char *value_of(Run *run, const Scope *scope, const char *text) {
  static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
  const gsize n = strlen(text);
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (strcmp(text, words[i][0]) == 0) return g_strdup(words[i][1]);
  if (n >= 2 && strchr("\"'", text[0]) && after_quotes(text) == text + n)
    return g_strndup(text + 1, n - 2);
  if (n >= 2 && strchr("[(", text[0])) return list_value(run, scope, text);
  if (g_ascii_isdigit(text[0])) {
    g_auto(GStrv) groups = g_strsplit(text, "_", -1);
    return g_strjoinv("", groups);
  }
  g_autofree char *path = path_of(scope, text);
  const OrrRecipeSetting *other = path ? g_hash_table_lookup(run->places, path) : NULL;
  if (other) return g_strdup(other->value);
  const char *known = g_hash_table_lookup(scope->texts, text);
  if (known) return g_strdup(known);
  return constant_value(run, scope, text);
}

static char *list_value(Run *run, const Scope *scope, const char *text) {
  if (run->nested >= MAX_NESTED) return g_strdup(text);
  run->nested++;
  g_autofree char *inner = g_strndup(text + 1, strlen(text) - 2);
  g_auto(GStrv) parts = orr_recipe_parts(inner);
  g_autoptr(GString) list = g_string_new("[");
  for (guint i = 0; parts[i]; i++) {
    g_autofree char *value = value_of(run, scope, parts[i]);
    g_string_append_printf(list, "%s%s", i ? ", " : "", value);
  }
  run->nested--;
  return g_strdup(g_string_append_c(list, ']')->str);
}

/* --- Calls --- */

static void run_function(Run *run, const Function *function, const Scope *caller, char **arguments,
                         gboolean is_new);

char *orr_recipe_call(const char *text, char **ret_arguments) {
  const gsize length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_."
                                    "0123456789");
  const char *open = text + length, *close = strrchr(text, ')');
  if (length == 0 || *open != '(' || !close || g_ascii_isdigit(*text)) return NULL;
  *ret_arguments = g_strndup(open + 1, (gsize)(close - open) - 1);
  return g_strndup(text, (gsize)(open - text));
}

/* cfg = f(...): a config of another function. */
static void run_config(Run *run, const Scope *scope, const char *text) {
  g_autofree char *inner = NULL, *name = orr_recipe_call(text, &inner);
  const Function *function = name ? g_hash_table_lookup(run->recipes->by_name, name) : NULL;
  if (!name) return;
  g_auto(GStrv) arguments = orr_recipe_parts(inner);
  if (function)
    run_function(run, function, scope, arguments, TRUE);
  else if (strcmp(name, "ConfigContainer") != 0)
    miss(run, "", name);
}

/* key = value of a call's arguments, below @key. */
static void put_arguments(Run *run, const Scope *scope, const char *key, char **arguments,
                          OrrPlace place) {
  for (char **argument = arguments; *argument; argument++) {
    const char *equals = orr_recipe_find(*argument, '=');
    if (!equals) continue;
    g_autofree char *name = g_strndup(*argument, (gsize)(equals - *argument));
    g_autofree char *text = g_strdup(equals + 1);
    g_autofree char *path = g_strdup_printf("%s.%s", key, g_strstrip(name));
    g_autofree char *value = value_of(run, scope, g_strstrip(text));
    put(run, path, value, place);
  }
}

/* The first text among @arguments, "bf16"; else the function's name, "bf16_mixed". */
static char *precision_of(Run *run, const Scope *scope, const char *name, char **arguments) {
  g_autofree char *first = arguments[0] ? value_of(run, scope, arguments[0]) : NULL;
  return g_strdup(first && !strchr(first, '=') ? first : name);
}

static void assign_call(Run *run, const Scope *scope, const char *key, const char *text,
                        OrrPlace place) {
  g_autofree char *inner = NULL, *name = orr_recipe_call(text, &inner);
  g_auto(GStrv) arguments = orr_recipe_parts(inner ? inner : "");
  const char *model = strstr(text, "from_hf_pretrained(");
  if (model) {
    g_autofree char *words =
        g_strndup(strchr(model, '(') + 1, strcspn(strchr(model, '(') + 1, ",)"));
    g_autofree char *value = value_of(run, scope, g_strstrip(words));
    put(run, key, value, place);
  } else if (strcmp(key, "mixed_precision") == 0) {
    g_autofree char *value = precision_of(run, scope, name, arguments);
    put(run, key, value, place);
  } else {
    put_arguments(run, scope, key, arguments, place);
  }
}

/* {"NAME": value, ...} */
static void assign_map(Run *run, const Scope *scope, const char *key, const char *text,
                       OrrPlace place) {
  const gsize length = strlen(text);
  g_autofree char *inner = g_strndup(text + 1, length > 2 ? length - 2 : 0);
  g_auto(GStrv) parts = orr_recipe_parts(inner);
  for (char **part = parts; *part; part++) {
    const char *colon = orr_recipe_find(*part, ':');
    if (!colon) continue;
    g_autofree char *name = g_strndup(*part, (gsize)(colon - *part)), *rest = g_strdup(colon + 1);
    g_autofree char *plain = value_of(run, scope, g_strstrip(name));
    g_autofree char *value = value_of(run, scope, g_strstrip(rest));
    g_autofree char *path = g_strdup_printf("%s.%s", key, plain);
    put(run, path, value, place);
  }
}

static void assign(Run *run, Scope *scope, const char *left, const char *right, OrrPlace place) {
  g_autofree char *key = path_of(scope, left), *inner = NULL;
  g_autofree char *name = orr_recipe_call(right, &inner);
  const gboolean is_config = strcmp(left, "cfg") == 0 || strcmp(left, "config") == 0;
  if (!key && !strchr(left, '.')) { /* a name of the function's own */
    if (name && is_config) {
      g_hash_table_replace(scope->paths, g_strdup(left), g_strdup(""));
      run_config(run, scope, right);
    } else {
      g_hash_table_replace(scope->texts, g_strdup(left), value_of(run, scope, right));
    }
  } else if (key && !*key) {
    run_config(run, scope, right);
  } else if (key && *right == '{') {
    assign_map(run, scope, key, right, place);
  } else if (key && name) {
    assign_call(run, scope, key, right, place);
  } else if (key) {
    g_autofree char *value = value_of(run, scope, right);
    put(run, key, value, place);
  }
}

/* helper(cfg, ...) */
static void run_helper(Run *run, const Scope *scope, const char *text, OrrPlace place) {
  g_autofree char *inner = NULL, *name = orr_recipe_call(text, &inner);
  const Function *function = name ? g_hash_table_lookup(run->recipes->by_name, name) : NULL;
  g_auto(GStrv) arguments = orr_recipe_parts(inner ? inner : "");
  g_autofree char *path = name && arguments[0] ? path_of(scope, arguments[0]) : NULL;
  if (!name || !path) return;
  if (function) {
    run_function(run, function, scope, arguments, FALSE);
  } else if (strstr(name, "pipeline_model_parallel_layout") && arguments[1]) {
    g_autofree char *value = value_of(run, scope, arguments[1]);
    put(run, "model.pipeline_model_parallel_layout", value, place);
  } else if (!strstr(name, "benchmark_common")) { /* it changes no layout */
    miss(run, "", name);
  }
}

static void run_statement(Run *run, Scope *scope, const Statement *statement, const char *file) {
  const OrrPlace place = {
      .file = file, .line = statement->line, .column = (int)statement->indent + 1};
  const char *text = statement->text, *equals = orr_recipe_find(text, '=');
  if (++run->n_steps > MAX_STEPS || strchr("\"'", *text)) return;
  if (g_str_has_prefix(text, "return ")) {
    if (strchr(text, '(')) run_config(run, scope, text + strlen("return "));
  } else if (equals && !g_str_has_prefix(text, "if ") && !g_str_has_prefix(text, "assert ")) {
    g_autofree char *left = g_strndup(text, (gsize)(equals - text)), *right = g_strdup(equals + 1);
    left[strcspn(left, ":")] = '\0'; /* a type */
    assign(run, scope, g_strstrip(left), g_strstrip(right), place);
  } else {
    run_helper(run, scope, text, place);
  }
}

/* The parameters' meanings, from @arguments and their defaults. */
static void bind(Run *run, const Function *function, const Scope *caller, char **arguments,
                 Scope *scope) {
  g_auto(GStrv) parameters = orr_recipe_parts(function->parameters);
  guint at = 0;
  for (char **parameter = parameters; *parameter; parameter++) {
    const char *equals = orr_recipe_find(*parameter, '=');
    g_autofree char *name = g_strndup(*parameter, strcspn(*parameter, " :="));
    g_autofree char *text = equals ? g_strdup(equals + 1) : NULL;
    if (!*name || **parameter == '*') continue;
    if (arguments && arguments[0] && at < g_strv_length(arguments) &&
        !orr_recipe_find(arguments[at], '=')) {
      g_free(text);
      text = g_strdup(arguments[at]);
    }
    for (char **argument = arguments; argument && *argument; argument++) {
      const gsize length = strlen(name);
      if (strncmp(*argument, name, length) != 0 || (*argument)[length] != '=') continue;
      g_free(text);
      text = g_strdup(*argument + length + 1);
    }
    at++;
    g_autofree char *path = text && caller ? path_of(caller, g_strstrip(text)) : NULL;
    if (path) {
      char *prefix = *path ? g_strconcat(path, ".", NULL) : g_strdup("");
      g_hash_table_replace(scope->paths, g_strdup(name), prefix);
    } else if (text) {
      g_hash_table_replace(scope->texts, g_strdup(name),
                           value_of(run, caller ? caller : scope, g_strstrip(text)));
    }
  }
}

static void run_function(Run *run, const Function *function, const Scope *caller, char **arguments,
                         gboolean is_new) {
  Scope scope = {g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
                 g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
  const guint indent =
      function->statements->len ? ((Statement *)function->statements->pdata[0])->indent : 0;
  if (++run->depth <= MAX_DEPTH) {
    bind(run, function, caller, arguments, &scope);
    /* f(g(), 8): the argument makes the config that f changes */
    if (is_new && arguments && arguments[0] && strchr(arguments[0], '(')) {
      g_autofree char *first =
          g_strndup(function->parameters, strcspn(function->parameters, " :=,"));
      run_config(run, caller ? caller : &scope, arguments[0]);
      g_hash_table_replace(scope.paths, g_strdup(first), g_strdup(""));
    }
    ORR_EACH_POINTER(const Statement, statement, function->statements) {
      if (statement->indent == indent)
        run_statement(run, &scope, statement, function->file);
      else if (g_str_has_prefix(statement->text, "cfg.") &&
               !strstr(function->name, "benchmark_common"))
        miss(run, "what stands under a condition in ", function->name);
    }
  }
  run->depth--;
  g_hash_table_unref(scope.paths);
  g_hash_table_unref(scope.texts);
}

static void free_setting(gpointer data) {
  OrrRecipeSetting *setting = data;
  ORR_FREE(setting->key, setting->value, setting);
}

GPtrArray *orr_recipes_settings(OrrRecipes *recipes, const char *name, GPtrArray **ret_missing) {
  const Function *function = g_hash_table_lookup(recipes->by_name, name);
  if (!function) return NULL;
  Run run = {.recipes = recipes,
             .settings = g_ptr_array_new_with_free_func(free_setting),
             .places = g_hash_table_new(g_str_hash, g_str_equal),
             .missing = g_ptr_array_new_with_free_func(g_free)};
  run_function(&run, function, NULL, NULL, TRUE);
  g_hash_table_unref(run.places);
  *ret_missing = run.missing;
  return run.settings;
}

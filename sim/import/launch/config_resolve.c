/*
 * config_resolve.c - replaces what stands in ${...} in a tree, within bounds.
 */
#include "sim/import/launch/launch_private.h"

enum { MAX_STEPS = 20000, MAX_DEPTH = 24, MAX_LENGTH = 8192 };

typedef struct {
  OrrLaunchDraft *draft;
  OrrNode *root;
  guint n_steps;
} Resolver;

/* Where a text stands: the maps around it, the root first. */
typedef struct {
  const GPtrArray *around; /* of OrrNode * */
  guint depth;             /* of references that led here */
} Where;

static char *expand(Resolver *resolver, const Where *where, const char *text);

/* --- Keys --- */

/* The text at @path below @map, resolved; NULL: none. */
static char *look_up(Resolver *resolver, const GPtrArray *around, const char *path, guint depth) {
  g_auto(GStrv) keys = g_strsplit_set(path, ".[", -1);
  g_autoptr(GPtrArray) maps = g_ptr_array_new();
  g_ptr_array_extend(maps, (GPtrArray *)around, NULL, NULL);
  const OrrNode *at = maps->pdata[maps->len - 1];
  for (char **key = keys; *key && at; key++) {
    if (at->kind == ORR_NODE_LIST) {
      const guint64 i = g_ascii_strtoull(*key, NULL, 10);
      at = i < orr_node_length(at) ? at->items->pdata[i] : NULL;
    } else {
      at = orr_node_get(at, *key);
    }
    if (at && at->kind == ORR_NODE_MAP) g_ptr_array_add(maps, (gpointer)at);
  }
  if (!at || at->kind != ORR_NODE_SCALAR) return NULL;
  const Where where = {maps, depth + 1};
  return expand(resolver, &where, at->text);
}

/* "a.b" from the root; NeMo's launcher puts its whole config below `training`. */
static char *from_root(Resolver *resolver, const char *path, guint depth) {
  g_autoptr(GPtrArray) around = g_ptr_array_new();
  g_ptr_array_add(around, resolver->root);
  char *found = look_up(resolver, around, path, depth);
  if (!found && g_str_has_prefix(path, "training."))
    found = look_up(resolver, around, path + strlen("training."), depth);
  return found;
}

/* ".x" of the same map, "..x" one level out. */
static char *relative(Resolver *resolver, const Where *where, const char *path) {
  const guint n_dots = (guint)strspn(path, ".");
  g_autoptr(GPtrArray) around = g_ptr_array_new();
  if (n_dots > where->around->len) return NULL;
  for (guint i = 0; i + n_dots <= where->around->len; i++)
    g_ptr_array_add(around, where->around->pdata[i]);
  return look_up(resolver, around, path + n_dots, where->depth);
}

/* --- Functions --- */

static gboolean number_of(const char *text, double *ret_number) {
  char *end = NULL;
  *ret_number = g_ascii_strtod(text, &end);
  return end > text && *end == '\0' && isfinite(*ret_number);
}

static char *number_text(double number) {
  if (number == floor(number) && fabs(number) < 1e15) return g_strdup_printf("%.0f", number);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  return g_strdup(g_ascii_dtostr(text, sizeof text, number));
}

/* Folds @numbers by what @name says; NaN: not such a function. */
static double fold(const char *name, double a, double b) {
  static const char *const words[] = {"multiply mul prod",
                                      "add sum plus",
                                      "sub subtract minus",
                                      "div divide truediv",
                                      "int_div floor_div floordiv",
                                      "min",
                                      "max"};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    g_auto(GStrv) names = g_strsplit(words[i], " ", -1);
    if (!g_strv_contains((const char *const *)names, name)) continue;
    const double results[] = {
        a * b,      a + b,     a - b, b != 0 ? a / b : NAN, b != 0 ? floor(a / b) : NAN,
        fmin(a, b), fmax(a, b)};
    return results[i];
  }
  return NAN;
}

static char *calculate(const char *name, char **arguments) {
  double result = 0, next = 0;
  if (!arguments[0] || !number_of(arguments[0], &result)) return NULL;
  if (strcmp(name, "int") == 0 || strcmp(name, "float") == 0)
    return number_text(*name == 'i' ? trunc(result) : result);
  for (char **argument = arguments + 1; *argument; argument++) {
    if (!number_of(*argument, &next)) return NULL;
    result = fold(name, result, next);
  }
  return arguments[1] && isfinite(result) ? number_text(result) : NULL;
}

static char *variable(Resolver *resolver, char **arguments) {
  const char *value = orr_launch_draft_variable(resolver->draft, arguments[0]);
  return g_strdup(value ? value : arguments[1]);
}

static char *call(Resolver *resolver, const Where *where, const char *name, const char *rest) {
  g_auto(GStrv) arguments = g_strsplit(rest, ",", 64);
  for (char **argument = arguments; *argument; argument++) {
    g_strstrip(*argument);
    const gsize n = strlen(*argument);
    if (n >= 2 && strchr("'\"", **argument) && (*argument)[n - 1] == **argument) {
      memmove(*argument, *argument + 1, n - 2);
      (*argument)[n - 2] = '\0';
    }
  }
  if (!arguments[0]) return strcmp(name, "oc.decode") == 0 ? g_strdup("") : NULL;
  if (strcmp(name, "oc.env") == 0 || strcmp(name, "env") == 0) return variable(resolver, arguments);
  if (strcmp(name, "oc.decode") == 0 || strcmp(name, "path.choose") == 0)
    return g_strdup(arguments[0]);
  if (strcmp(name, "oc.select") == 0) {
    char *found = from_root(resolver, arguments[0], where->depth);
    return found ? found : g_strdup(arguments[1]);
  }
  char *number = calculate(name, arguments);
  if (number || strcspn(name, ".") < strlen(name) || !g_ascii_isupper(*name)) return number;
  char *const pair[] = {(char *)name, (char *)rest, NULL}; /* Primus: ${PP:8} */
  return variable(resolver, (char **)pair);
}

/* The text between "${" and "}", its own references expanded. NULL: unresolved. */
static char *evaluate(Resolver *resolver, const Where *where, const char *inner) {
  const char *colon = strchr(inner, ':');
  if (*inner == '.') return relative(resolver, where, inner);
  if (colon) {
    g_autofree char *name = g_strndup(inner, (gsize)(colon - inner));
    return call(resolver, where, g_strstrip(name), colon + 1);
  }
  char *found = from_root(resolver, inner, where->depth);
  return found ? found : g_strdup(orr_launch_draft_variable(resolver->draft, inner));
}

/* --- Texts --- */

/* Behind the "}" that closes the "${" at @text; NULL: it is not closed. */
static const char *closing(const char *text) {
  guint depth = 0;
  for (const char *c = text; *c; c++) {
    if (c[0] == '$' && c[1] == '{') depth++;
    if (*c == '}' && --depth == 0) return c + 1;
  }
  return NULL;
}

static char *expand(Resolver *resolver, const Where *where, const char *text) {
  g_autoptr(GString) out = g_string_new(NULL);
  if (++resolver->n_steps > MAX_STEPS || where->depth > MAX_DEPTH) return g_strdup(text);
  for (const char *c = text; *c && out->len < MAX_LENGTH;) {
    const char *end = c[0] == '$' && c[1] == '{' ? closing(c) : NULL;
    if (!end) {
      g_string_append_c(out, *c++);
      continue;
    }
    g_autofree char *inner = g_strndup(c + 2, (gsize)(end - c - 3));
    const Where within = {where->around, where->depth + 1};
    g_autofree char *plain = expand(resolver, &within, inner);
    g_autofree char *value = strstr(plain, "${") ? NULL : evaluate(resolver, &within, plain);
    if (value)
      g_string_append(out, value);
    else
      g_string_append_len(out, c, end - c);
    c = end;
  }
  return g_strdup(out->str);
}

static void walk(Resolver *resolver, OrrNode *node, GPtrArray *around) {
  if (node->kind == ORR_NODE_SCALAR) {
    if (!strstr(node->text, "${")) return;
    const Where where = {around, 0};
    char *text = expand(resolver, &where, node->text);
    g_free(node->text);
    node->text = text;
    return;
  }
  if (node->kind == ORR_NODE_MAP) g_ptr_array_add(around, node);
  for (guint i = 0; i < orr_node_length(node); i++) walk(resolver, node->items->pdata[i], around);
  if (node->kind == ORR_NODE_MAP) g_ptr_array_set_size(around, (gint)around->len - 1);
}

void orr_config_resolve(OrrLaunchDraft *draft, OrrNode *root) {
  Resolver resolver = {.draft = draft, .root = root};
  g_autoptr(GPtrArray) around = g_ptr_array_new();
  walk(&resolver, root, around);
}

char *orr_config_resolve_unresolved(const char *text) {
  const char *begin = NULL;
  for (const char *at = text; (at = strstr(at, "${")); at += 2) begin = at + 2; /* the innermost */
  if (!begin) return NULL;
  g_autofree char *inner = g_strndup(begin, strcspn(begin, "}"));
  const char *colon = strchr(inner, ':');
  const char *name = colon && colon[1] ? colon + 1 : inner;
  return g_strndup(name, strcspn(name, ","));
}

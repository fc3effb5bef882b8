/*
 * shell_parse.c - tokens become a tree of commands.
 */
#include "sim/import/launch/shell_private.h"

typedef struct {
  const GPtrArray *tokens;
  guint next, depth;
  OrrDiags *diags;
  gboolean is_bad;
} Parser;

static OrrShellTree *parse_list(Parser *parser, const char *const *stops);

static OrrShellToken *peek(const Parser *parser) { return parser->tokens->pdata[parser->next]; }

static OrrShellToken *take(Parser *parser) {
  OrrShellToken *token = peek(parser);
  if (token->kind != ORR_SHELL_END) parser->next++;
  return token;
}

static gboolean is_raw(const OrrShellToken *token, OrrShellTokenKind kind, const char *raw) {
  return token->kind == kind && strcmp(token->raw, raw) == 0;
}

static gboolean is_word(const Parser *parser, const char *raw) {
  return is_raw(peek(parser), ORR_SHELL_WORD, raw);
}

static gboolean take_word(Parser *parser, const char *raw) {
  if (!is_word(parser, raw)) return FALSE;
  take(parser);
  return TRUE;
}

static OrrShellTree *tree_new(OrrShellTreeKind kind, OrrPlace place) {
  OrrShellTree *tree = g_new0(OrrShellTree, 1);
  tree->kind = kind;
  tree->place = place;
  tree->words = g_ptr_array_new();
  tree->below = g_ptr_array_new_with_free_func((GDestroyNotify)orr_shell_tree_free);
  return tree;
}

void orr_shell_tree_free(OrrShellTree *tree) {
  if (!tree) return;
  g_ptr_array_unref(tree->words);
  g_ptr_array_unref(tree->below);
  if (tree->redirects) g_ptr_array_unref(tree->redirects);
  g_free(tree);
}

/* The first failure stops the parser: what follows would only confuse. */
static void fail(Parser *parser, const OrrShellToken *at, const char *wanted) {
  if (!parser->is_bad)
    orr_diags_error(parser->diags, at->place, "'%s' where %s was expected",
                    at->kind == ORR_SHELL_END       ? "the end"
                    : at->kind == ORR_SHELL_NEWLINE ? "a new line"
                                                    : at->raw,
                    wanted);
  parser->is_bad = TRUE;
  parser->next = parser->tokens->len - 1;
}

static void skip_newlines(Parser *parser) {
  while (peek(parser)->kind == ORR_SHELL_NEWLINE || is_raw(peek(parser), ORR_SHELL_SIGN, ";"))
    take(parser);
}

static void expect(Parser *parser, const char *raw) {
  skip_newlines(parser);
  if (!take_word(parser, raw)) fail(parser, peek(parser), raw);
}

/* --- Compound commands --- */

static OrrShellTree *parse_if(Parser *parser) {
  static const char *const after_condition[] = {"then", NULL};
  static const char *const after_body[] = {"elif", "else", "fi", NULL};
  static const char *const at_end[] = {"fi", NULL};
  OrrShellTree *tree = tree_new(ORR_SHELL_IF, peek(parser)->place);
  do {
    take(parser);
    g_ptr_array_add(tree->below, parse_list(parser, after_condition));
    expect(parser, "then");
    g_ptr_array_add(tree->below, parse_list(parser, after_body));
  } while (is_word(parser, "elif"));
  if (take_word(parser, "else")) g_ptr_array_add(tree->below, parse_list(parser, at_end));
  expect(parser, "fi");
  return tree;
}

/* "a|b)": the patterns before a bracket. */
static OrrShellTree *parse_patterns(Parser *parser) {
  OrrShellTree *patterns = tree_new(ORR_SHELL_SIMPLE, peek(parser)->place);
  if (is_raw(peek(parser), ORR_SHELL_SIGN, "(")) take(parser);
  while (peek(parser)->kind == ORR_SHELL_WORD) {
    g_ptr_array_add(patterns->words, take(parser));
    if (!is_raw(peek(parser), ORR_SHELL_SIGN, "|")) break;
    take(parser);
  }
  if (is_raw(peek(parser), ORR_SHELL_SIGN, ")"))
    take(parser);
  else
    fail(parser, peek(parser), "')' after the patterns of a case");
  return patterns;
}

static OrrShellTree *parse_case(Parser *parser) {
  static const char *const stops[] = {"esac", NULL};
  OrrShellTree *tree = tree_new(ORR_SHELL_CASE, take(parser)->place);
  g_ptr_array_add(tree->words, take(parser));
  expect(parser, "in");
  skip_newlines(parser);
  while (!parser->is_bad && !is_word(parser, "esac")) {
    g_ptr_array_add(tree->below, parse_patterns(parser));
    g_ptr_array_add(tree->below, parse_list(parser, stops));
    if (g_str_has_prefix(peek(parser)->raw, ";;")) take(parser);
    skip_newlines(parser);
  }
  expect(parser, "esac");
  return tree;
}

static OrrShellTree *parse_do(Parser *parser) {
  static const char *const stops[] = {"done", NULL};
  expect(parser, "do");
  OrrShellTree *body = parse_list(parser, stops);
  expect(parser, "done");
  return body;
}

static OrrShellTree *parse_for(Parser *parser) {
  OrrShellTree *tree = tree_new(ORR_SHELL_FOR, peek(parser)->place);
  tree->is_select = is_word(parser, "select");
  take(parser);
  if (peek(parser)->kind != ORR_SHELL_WORD) fail(parser, peek(parser), "the name of a loop");
  g_ptr_array_add(tree->words, take(parser));
  skip_newlines(parser);
  tree->is_arguments = !is_word(parser, "in");
  if (take_word(parser, "in"))
    while (peek(parser)->kind == ORR_SHELL_WORD) g_ptr_array_add(tree->words, take(parser));
  g_ptr_array_add(tree->below, parse_do(parser));
  return tree;
}

static OrrShellTree *parse_while(Parser *parser) {
  static const char *const stops[] = {"do", NULL};
  OrrShellTree *tree = tree_new(ORR_SHELL_WHILE, peek(parser)->place);
  tree->is_until = is_word(parser, "until");
  take(parser);
  g_ptr_array_add(tree->below, parse_list(parser, stops));
  g_ptr_array_add(tree->below, parse_do(parser));
  return tree;
}

static OrrShellTree *parse_test(Parser *parser) {
  OrrShellTree *tree = tree_new(ORR_SHELL_TEST, take(parser)->place);
  while (peek(parser)->kind != ORR_SHELL_END && !is_word(parser, "]]")) {
    OrrShellToken *token = take(parser);
    if (token->kind != ORR_SHELL_NEWLINE) g_ptr_array_add(tree->words, token);
  }
  expect(parser, "]]");
  return tree;
}

static OrrShellTree *parse_group(Parser *parser) {
  static const char *const stops[] = {"}", NULL};
  take(parser);
  OrrShellTree *tree = parse_list(parser, stops);
  expect(parser, "}");
  return tree;
}

static OrrShellTree *parse_subshell(Parser *parser) {
  static const char *const stops[] = {NULL};
  take(parser);
  OrrShellTree *tree = parse_list(parser, stops);
  if (is_raw(peek(parser), ORR_SHELL_SIGN, ")"))
    take(parser);
  else
    fail(parser, peek(parser), "')'");
  return tree;
}

static OrrShellTree *parse_command(Parser *parser);

/* Whether an empty pair of brackets is @ahead tokens away: the last token is the end. */
static gboolean has_brackets(const Parser *parser, guint ahead) {
  const guint at = parser->next + ahead;
  return at + 2 < parser->tokens->len && is_raw(parser->tokens->pdata[at], ORR_SHELL_SIGN, "(") &&
         is_raw(parser->tokens->pdata[at + 1], ORR_SHELL_SIGN, ")");
}

/* "f() ...", "f () ..." or "function f ...". */
static OrrShellTree *parse_function(Parser *parser) {
  OrrShellTree *tree = tree_new(ORR_SHELL_FUNCTION, peek(parser)->place);
  take_word(parser, "function");
  g_ptr_array_add(tree->words, take(parser));
  if (has_brackets(parser, 0)) parser->next += 2;
  skip_newlines(parser);
  g_ptr_array_add(tree->below, parse_command(parser));
  return tree;
}

/* --- Commands --- */

static OrrShellTree *parse_simple(Parser *parser) {
  OrrShellTree *tree = tree_new(ORR_SHELL_SIMPLE, peek(parser)->place);
  while (peek(parser)->kind == ORR_SHELL_WORD || peek(parser)->kind == ORR_SHELL_REDIRECT)
    g_ptr_array_add(tree->words, take(parser));
  if (tree->words->len == 0) fail(parser, peek(parser), "a command");
  if (is_raw(peek(parser), ORR_SHELL_SIGN, "(")) tree->bracket = peek(parser);
  return tree;
}

static OrrShellTree *parse_compound(Parser *parser) {
  static const struct {
    const char *word;
    OrrShellTree *(*parse)(Parser *parser);
  } compounds[] = {
      {"[[", parse_test},           {"case", parse_case},   {"for", parse_for},
      {"function", parse_function}, {"if", parse_if},       {"select", parse_for},
      {"until", parse_while},       {"while", parse_while}, {"{", parse_group},
  };
  const OrrShellToken *token = peek(parser);
  if (is_raw(token, ORR_SHELL_SIGN, "(")) return parse_subshell(parser);
  for (guint i = 0; token->kind == ORR_SHELL_WORD && i < G_N_ELEMENTS(compounds); i++)
    if (strcmp(token->raw, compounds[i].word) == 0) return compounds[i].parse(parser);
  if (token->kind == ORR_SHELL_WORD && !strchr(token->raw, '=') && /* not an empty array */
      (g_str_has_suffix(token->raw, "()") || has_brackets(parser, 1)))
    return parse_function(parser);
  return parse_simple(parser);
}

static OrrShellTree *parse_command(Parser *parser) {
  if (parser->depth >= ORR_SHELL_DEPTH)
    fail(parser, peek(parser), "less nesting (64 levels at most)");
  parser->depth++;
  OrrShellTree *tree = parse_compound(parser);
  parser->depth--;
  return tree;
}

/* Redirections behind a compound command. */
static void read_redirects(Parser *parser, OrrShellTree *tree) {
  while (peek(parser)->kind == ORR_SHELL_REDIRECT) {
    if (!tree->redirects) tree->redirects = g_ptr_array_new();
    const gboolean is_document = peek(parser)->body != NULL;
    g_ptr_array_add(tree->redirects, take(parser));
    if (!is_document && peek(parser)->kind == ORR_SHELL_WORD)
      g_ptr_array_add(tree->redirects, take(parser));
  }
}

static OrrShellTree *parse_pipeline(Parser *parser) {
  OrrShellTree *list = tree_new(ORR_SHELL_PIPE, peek(parser)->place);
  for (;;) {
    gboolean is_negated = FALSE;
    while (is_word(parser, "!") || is_word(parser, "time"))
      is_negated ^= strcmp(take(parser)->raw, "!") == 0;
    OrrShellTree *command = parse_command(parser);
    command->is_negated = is_negated;
    g_ptr_array_add(list->below, command);
    read_redirects(parser, command);
    const OrrShellToken *token = peek(parser);
    if (!is_raw(token, ORR_SHELL_SIGN, "|") && !is_raw(token, ORR_SHELL_SIGN, "|&")) break;
    take(parser);
    skip_newlines(parser);
  }
  if (list->below->len > 1) return list;
  OrrShellTree *only = g_ptr_array_steal_index(list->below, 0);
  orr_shell_tree_free(list);
  return only;
}

static gboolean is_joint(const Parser *parser) {
  return is_raw(peek(parser), ORR_SHELL_SIGN, "&&") || is_raw(peek(parser), ORR_SHELL_SIGN, "||");
}

static OrrShellTree *parse_and_or(Parser *parser) {
  OrrShellTree *first = parse_pipeline(parser);
  if (!is_joint(parser)) return first;
  OrrShellTree *list = tree_new(ORR_SHELL_AND_OR, first->place);
  g_ptr_array_add(list->below, first);
  while (is_joint(parser)) {
    const gboolean is_or = strcmp(take(parser)->raw, "||") == 0;
    skip_newlines(parser);
    OrrShellTree *next = parse_pipeline(parser);
    next->is_or = is_or;
    g_ptr_array_add(list->below, next);
  }
  return list;
}

static gboolean ends_list(const Parser *parser, const char *const *stops) {
  const OrrShellToken *token = peek(parser);
  if (token->kind == ORR_SHELL_END) return TRUE;
  if (token->kind == ORR_SHELL_SIGN)
    return strcmp(token->raw, ")") == 0 || g_str_has_prefix(token->raw, ";;");
  return token->kind == ORR_SHELL_WORD && g_strv_contains(stops, token->raw);
}

static void skip_separators(Parser *parser) {
  skip_newlines(parser);
  while (is_raw(peek(parser), ORR_SHELL_SIGN, "&")) {
    take(parser);
    skip_newlines(parser);
  }
}

static OrrShellTree *parse_list(Parser *parser, const char *const *stops) {
  OrrShellTree *list = tree_new(ORR_SHELL_LIST, peek(parser)->place);
  skip_separators(parser);
  while (!ends_list(parser, stops)) {
    OrrShellTree *tree = parse_and_or(parser);
    tree->is_background = is_raw(peek(parser), ORR_SHELL_SIGN, "&");
    g_ptr_array_add(list->below, tree);
    skip_separators(parser);
  }
  return list;
}

OrrShellTree *orr_shell_parse(const GPtrArray *tokens, OrrDiags *diags) {
  static const char *const stops[] = {NULL};
  Parser parser = {.tokens = tokens, .diags = diags};
  OrrShellTree *tree = parse_list(&parser, stops);
  if (peek(&parser)->kind != ORR_SHELL_END) fail(&parser, peek(&parser), "a command");
  return tree;
}

/*
 * shell_token.c - a script as tokens: words as written, signs, redirections, here-documents.
 */
#include "sim/import/launch/shell_private.h"

enum { MOST_TOKENS = 250000, MOST_WARNINGS = 100 };

typedef struct {
  const char *at;
  const char *line_begin;
  int line, first_column;
  const char *file;
  OrrDiags *diags;
  GPtrArray *tokens;
  gboolean is_array;
  guint n_mended;     /* lines that were read as meant */
  GPtrArray *pending; /* << tokens whose bodies begin after the line */
} Lexer;

static OrrPlace place_of(const Lexer *lexer, const char *at) {
  return (OrrPlace){.file = lexer->file,
                    .line = lexer->line,
                    .column = (int)(at - lexer->line_begin) + lexer->first_column};
}

static void next_line(Lexer *lexer) {
  lexer->at++;
  lexer->line++;
  lexer->line_begin = lexer->at;
  lexer->first_column = 1;
}

/* --- Parts --- */

/* Parts below ORR_SHELL_DEPTH others are characters: their brackets are counted all the same. */
static const char *part_end(const char *at, guint depth);

/* Behind the closing @close of what begins at @at; nested parts are skipped. */
static const char *balanced_end(const char *at, char open, char close, guint depth) {
  gsize n_open = 0;
  while (*at) {
    if (*at == open && ++n_open > 0) {
      at++;
    } else if (*at == close) {
      at++;
      if (--n_open == 0) return at;
    } else {
      at = part_end(at, depth);
    }
  }
  return at;
}

static const char *quote_end(const char *at, char quote, guint depth) {
  for (at++; *at && *at != quote;) {
    if (quote == '"' && *at == '$' && at[1] && strchr("({", at[1]))
      at = part_end(at, depth);
    else
      at += *at == '\\' && quote != '\'' && at[1] ? 2 : 1;
  }
  return *at ? at + 1 : at;
}

static const char *part_end(const char *at, guint depth) {
  switch (depth < ORR_SHELL_DEPTH || *at == '\\' ? *at : at[0] ? ' ' : '\0') {
  case '\0':
    return at;
  case '\\':
    return at[1] ? at + 2 : at + 1;
  case '\'':
  case '"':
  case '`':
    return quote_end(at, *at, depth + 1);
  case '$':
    if (at[1] == '(') return balanced_end(at + 1, '(', ')', depth + 1);
    if (at[1] == '{') return balanced_end(at + 1, '{', '}', depth + 1);
    return at + 1;
  default:
    return at + 1;
  }
}

const char *orr_shell_part_end(const char *at) {
  const char *end = part_end(at, 0);
  orr_launch_draft_worked((gsize)(end - at));
  return end;
}

/* --- Lines --- */

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t\r"); }

/* The next line that holds more than blanks and a comment. */
static const char *next_code(const char *at) {
  for (;;) {
    const char *code = skip_blanks(at);
    if (*code == '#') code += strcspn(code, "\n");
    if (*code != '\n') return code;
    at = code + 1;
  }
}

/* Whether @at is a backslash with only blanks or a comment behind it on its line. */
static gboolean is_continuation(const char *at) {
  if (*at != '\\') return FALSE;
  if (at[1] == '\n' || (at[1] == '\r' && at[2] == '\n')) return TRUE;
  const char *after = skip_blanks(at + 1);
  return after > at + 1 && (*after == '\n' || *after == '#');
}

/* A warning about a line that is read as meant; many of one script are said once. */
static void warn_mended(Lexer *lexer, const char *what) {
  if (++lexer->n_mended <= MOST_WARNINGS)
    orr_diags_warning(lexer->diags, place_of(lexer, lexer->at), "%s%s", what,
                      lexer->n_mended == MOST_WARNINGS ? " (further lines are not listed)" : "");
}

static void read_continuation(Lexer *lexer) {
  const char *after = skip_blanks(lexer->at + 1);
  if (lexer->at[1] != '\n' && lexer->at[1] != '\r')
    warn_mended(lexer, "the backslash is not the last character of its line: a shell would end the "
                       "command here; the next line is taken as its continuation");
  lexer->at = after + strcspn(after, "\n");
  if (*lexer->at) next_line(lexer);
}

/* Whether the line after the newline at @at begins with an option, so that a backslash is
 * missing. */
static gboolean lacks_backslash(const Lexer *lexer) {
  const OrrShellToken *last =
      lexer->tokens->len ? lexer->tokens->pdata[lexer->tokens->len - 1] : NULL;
  if (lexer->is_array || !last || last->kind != ORR_SHELL_WORD || lexer->pending->len > 0)
    return FALSE;
  const char *code = next_code(lexer->at + 1);
  return g_str_has_prefix(code, "--") && g_ascii_isalpha(code[2]);
}

static OrrShellToken *add(Lexer *lexer, OrrShellTokenKind kind, const char *from) {
  OrrShellToken *token = g_new0(OrrShellToken, 1);
  token->kind = kind;
  token->raw = g_strndup(from, (gsize)(lexer->at - from));
  token->place = place_of(lexer, from);
  g_ptr_array_add(lexer->tokens, token);
  return token;
}

/* The delimiter of a here-document without its quotes. */
static char *plain_delimiter(const char *raw) {
  GString *plain = g_string_new(NULL);
  for (; *raw; raw++)
    if (!strchr("'\"\\", *raw)) g_string_append_c(plain, *raw);
  return g_string_free(plain, FALSE);
}

/* Reads the lines up to the delimiter, which the token holds as its raw text. */
static void read_body(Lexer *lexer, OrrShellToken *token) {
  g_autofree char *delimiter = plain_delimiter(token->raw);
  const char *begin = lexer->at;
  token->is_literal = strcmp(delimiter, token->raw) != 0;
  while (*lexer->at) {
    const gsize length = strcspn(lexer->at, "\n");
    orr_launch_draft_worked(length + 1);
    g_autofree char *line = g_strndup(lexer->at, length);
    const char *end = lexer->at;
    lexer->at += length;
    if (*lexer->at) next_line(lexer);
    if (strcmp(g_strstrip(line), delimiter) != 0) continue;
    token->body = g_strndup(begin, (gsize)(end - begin));
    return;
  }
  token->body = g_strdup(begin);
  orr_diags_warning(lexer->diags, token->place, "the here-document has no end '%s'", delimiter);
}

static void read_newline(Lexer *lexer) {
  if (lacks_backslash(lexer)) {
    warn_mended(lexer, "no backslash ends this line, but the next begins with an option: taken as "
                       "part of the command");
    const char *code = next_code(lexer->at + 1);
    while (lexer->at < code)
      if (*lexer->at == '\n')
        next_line(lexer);
      else
        lexer->at++;
    return;
  }
  const char *from = lexer->at;
  lexer->at++;
  add(lexer, ORR_SHELL_NEWLINE, from);
  lexer->at = from;
  next_line(lexer);
  for (guint i = 0; i < lexer->pending->len; i++) read_body(lexer, lexer->pending->pdata[i]);
  g_ptr_array_set_size(lexer->pending, 0);
}

/* --- Words --- */

/* Whether the word so far is "NAME=" or "NAME+=", so that a bracket opens an array. */
static gboolean opens_array(const char *from, const char *at) {
  const char *c = from;
  while (c < at && (g_ascii_isalnum(*c) || *c == '_')) c++;
  if (c > from && c < at && *c == '+') c++;
  return c > from && c + 1 == at && *c == '=' && !g_ascii_isdigit(*from);
}

/* Moves over a part, counting its lines. */
static void move_to(Lexer *lexer, const char *end) {
  while (lexer->at < end)
    if (*lexer->at == '\n')
      next_line(lexer);
    else
      lexer->at++;
}

/* The end of the array that opens at @at: comments hide brackets and quotes. */
static const char *array_end(const char *at) {
  for (at++; *at && *at != ')';) {
    if (*at == '#' && strchr(" \t\n(", at[-1]))
      at += strcspn(at, "\n");
    else
      at = orr_shell_part_end(at);
  }
  return *at ? at + 1 : at;
}

static void read_word(Lexer *lexer) {
  const char *from = lexer->at;
  const OrrPlace place = place_of(lexer, from);
  while (*lexer->at && !strchr(" \t\r\n;&|<>()", *lexer->at) && !is_continuation(lexer->at))
    move_to(lexer, orr_shell_part_end(lexer->at));
  if (*lexer->at == '(' && opens_array(from, lexer->at)) move_to(lexer, array_end(lexer->at));
  /* "f()" */
  if (g_str_has_prefix(lexer->at, "()")) lexer->at += 2;
  add(lexer, ORR_SHELL_WORD, from)->place = place;
}

/* The pattern behind =~: brackets and bars are its own, a blank outside of brackets ends it. */
static void read_pattern(Lexer *lexer) {
  const char *from = lexer->at;
  const OrrPlace place = place_of(lexer, from);
  int n_open = 0;
  while (*lexer->at && *lexer->at != '\n' && (n_open > 0 || !strchr(" \t\r", *lexer->at))) {
    n_open += *lexer->at == '(';
    n_open -= *lexer->at == ')';
    move_to(lexer, orr_shell_part_end(lexer->at));
  }
  add(lexer, ORR_SHELL_WORD, from)->place = place;
}

static gboolean is_behind_match(const Lexer *lexer) {
  const guint n = lexer->tokens->len;
  return n > 0 && strcmp(((const OrrShellToken *)lexer->tokens->pdata[n - 1])->raw, "=~") == 0;
}

static void read_redirect(Lexer *lexer) {
  static const char *const signs[] = {"<<<", "<<-", "&>>", "<<", ">>", ">&", "<&",
                                      "&>",  ">|",  "<>",  "<",  ">",  NULL};
  const char *from = lexer->at;
  while (g_ascii_isdigit(*lexer->at)) lexer->at++;
  const char *sign = lexer->at;
  for (const char *const *s = signs; *s; s++)
    if (g_str_has_prefix(lexer->at, *s)) {
      lexer->at += strlen(*s);
      break;
    }
  const gboolean is_document = g_str_has_prefix(sign, "<<") && sign[2] != '<';
  if (!is_document) {
    add(lexer, ORR_SHELL_REDIRECT, from);
    return;
  }
  lexer->at = skip_blanks(lexer->at);
  const char *delimiter = lexer->at;
  while (*lexer->at && !strchr(" \t\r\n;&|<>()", *lexer->at))
    lexer->at = orr_shell_part_end(lexer->at);
  g_ptr_array_add(lexer->pending, add(lexer, ORR_SHELL_REDIRECT, delimiter));
}

static gboolean begins_redirect(const char *at) {
  if (g_str_has_prefix(at, "&>")) return TRUE;
  while (g_ascii_isdigit(*at)) at++;
  return *at == '<' || *at == '>';
}

static void read_sign(Lexer *lexer) {
  static const char *const signs[] = {";;&", ";;", "&&", "||", "|&", ";&", NULL};
  const char *from = lexer->at++;
  for (const char *const *s = signs; *s; s++)
    if (g_str_has_prefix(from, *s)) {
      lexer->at = from + strlen(*s);
      break;
    }
  add(lexer, ORR_SHELL_SIGN, from);
}

/* "((i < n))" and "<(command)" as one word, whose bracket is at @bracket. */
static void read_part(Lexer *lexer, const char *bracket) {
  const char *from = lexer->at;
  const OrrPlace place = place_of(lexer, from);
  move_to(lexer, balanced_end(bracket, '(', ')', 0));
  add(lexer, ORR_SHELL_WORD, from)->place = place;
}

static void read_token(Lexer *lexer) {
  const char c = *lexer->at;
  if (c == ' ' || c == '\t' || c == '\r')
    lexer->at++;
  else if (is_continuation(lexer->at))
    read_continuation(lexer);
  else if (c == '\n')
    read_newline(lexer);
  else if (is_behind_match(lexer))
    read_pattern(lexer);
  else if (c == '#')
    lexer->at += strcspn(lexer->at, "\n");
  else if ((c == '<' || c == '>') && lexer->at[1] == '(')
    read_part(lexer, lexer->at + 1);
  else if (begins_redirect(lexer->at))
    read_redirect(lexer);
  else if (g_str_has_prefix(lexer->at, "(("))
    read_part(lexer, lexer->at);
  else if (strchr(";&|()", c))
    read_sign(lexer);
  else
    read_word(lexer);
}

static void free_token(OrrShellToken *token) { ORR_FREE(token->raw, token->body, token); }

GPtrArray *orr_shell_tokens(const char *text, OrrPlace place, gboolean is_array, OrrDiags *diags) {
  g_autoptr(GPtrArray) pending = g_ptr_array_new();
  Lexer lexer = {.at = text,
                 .line_begin = text,
                 .line = MAX(1, place.line),
                 .first_column = MAX(1, place.column),
                 .file = place.file,
                 .diags = diags,
                 .is_array = is_array,
                 .tokens = g_ptr_array_new_with_free_func((GDestroyNotify)free_token),
                 .pending = pending};
  while (*lexer.at && lexer.tokens->len < MOST_TOKENS) read_token(&lexer);
  if (*lexer.at) orr_diags_error(diags, place_of(&lexer, lexer.at), "more than 250,000 words");
  for (guint i = 0; i < pending->len; i++) read_body(&lexer, pending->pdata[i]);
  add(&lexer, ORR_SHELL_END, lexer.at);
  return lexer.tokens;
}

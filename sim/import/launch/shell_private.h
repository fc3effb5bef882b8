/*
 * shell_private.h - tokens, trees and variables, for the files shell_*.c.
 */
#pragma once

#include "sim/import/launch/launch_form.h"
#include "sim/import/launch/shell.h"

enum { ORR_SHELL_DEPTH = 64 };

/* --- Tokens --- */

typedef enum {
  ORR_SHELL_END,
  ORR_SHELL_NEWLINE,
  ORR_SHELL_WORD,    /* raw: quotes and expansions as written */
  ORR_SHELL_SIGN,    /* ; ;; & && | || ( ) */
  ORR_SHELL_REDIRECT /* < > >> >& &> <<<, with a file descriptor in front or not; and << */
} OrrShellTokenKind;

typedef struct {
  OrrShellTokenKind kind;
  char *raw;
  OrrPlace place;
  char *body;          /* of <<: the lines of the here-document; else NULL */
  gboolean is_literal; /* of <<: the delimiter was quoted, nothing expands */
} OrrShellToken;

/* Of OrrShellToken *, ending with an END; warnings go to @diags. @place: of the first character.
 * @is_array: between the brackets of an array, where lines need no backslash. */
GPtrArray *orr_shell_tokens(const char *text, OrrPlace place, gboolean is_array, OrrDiags *diags);
/* The end of the quoted or bracketed part that begins at @at ('...', "...", `...`, $(...), ${...},
 * $((...)), (...)); of one character where nothing begins there. */
const char *orr_shell_part_end(const char *at);

/* --- Trees --- */

typedef enum {
  ORR_SHELL_SIMPLE,   /* words: tokens of a simple command, redirections among them */
  ORR_SHELL_LIST,     /* below: one after another */
  ORR_SHELL_PIPE,     /* below: each reads what the one before it prints */
  ORR_SHELL_AND_OR,   /* below: one or more, each with its sign in front (is_or) */
  ORR_SHELL_IF,       /* below: condition, body, condition, body ..., [else] */
  ORR_SHELL_CASE,     /* words: the word; below: SIMPLE of patterns, LIST, ... */
  ORR_SHELL_FOR,      /* words: the name, or "((a; b; c))", then the words; below: the body */
  ORR_SHELL_WHILE,    /* below: condition, body */
  ORR_SHELL_FUNCTION, /* words: the name; below: the body */
  ORR_SHELL_TEST      /* words: what stands between [[ and ]] */
} OrrShellTreeKind;

typedef struct OrrShellTree OrrShellTree;
struct OrrShellTree {
  OrrShellTreeKind kind;
  GPtrArray *words; /* of OrrShellToken *, borrowed */
  GPtrArray *below; /* of OrrShellTree * */
  /* Of a compound command: tokens of the redirections behind it, borrowed; NULL: none */
  GPtrArray *redirects;
  /* Of a simple command: the "(" that follows it, where bash reads no further. A page has such
   * lines among its commands' output, so that only a known command is refused. NULL: none */
  const OrrShellToken *bracket;
  OrrPlace place;
  gboolean is_negated;    /* "!" stands in front */
  gboolean is_or;         /* "||" stands in front, else "&&" */
  gboolean is_until;      /* a WHILE that turns until its condition holds */
  gboolean is_select;     /* a FOR that asks the user */
  gboolean is_arguments;  /* a FOR without "in": its words are "$@" */
  gboolean is_background; /* "&" stands behind */
};

/* @tokens must outlive the tree. */
OrrShellTree *orr_shell_parse(const GPtrArray *tokens, OrrDiags *diags);
void orr_shell_tree_free(OrrShellTree *tree); /* NULL is fine */

/* --- Variables --- */

/* A value can hold unresolved parts, each between two marks: a variable's name, or "$(command)".
 * Texts of the user never hold the marks (shell_run.c removes control characters). */
#define ORR_SHELL_MARK '\001'
#define ORR_SHELL_MARK_END '\002'

typedef struct {
  GPtrArray *items; /* of char *; a scalar has one */
  GPtrArray *keys;  /* of char *, one for each item: an associative array; NULL: none */
  gboolean is_exported, is_fixed;
  guint n_open; /* loops of unknown length that were open when it was made */
} OrrShellVariable;

/* What a command reads: @text from @at on. @text NULL: not known. */
typedef struct {
  char *text;
  gsize at;
} OrrShellInput;

struct OrrShell {
  OrrLaunchDraft *draft;
  /* orr_shell_output_of_text, by which a word that holds a command reaches it from below */
  char *(*output_of)(OrrShell *shell, const char *text, OrrPlace place);
  GHashTable *variables; /* name -> OrrShellVariable * */
  GHashTable *functions; /* name -> OrrShellTree *, borrowed */
  GPtrArray *scripts;    /* of tokens and trees that live as long as the shell */
  GPtrArray *commands;   /* of OrrLaunchCommand * */
  GPtrArray *arguments;  /* of char *: $1 and further; NULL: nobody gave them */
  OrrShellInput *input;  /* of the command that is run; NULL: not known */
  GHashTable *own;       /* of OrrLaunchSource *: it may run them, perhaps again */
  GHashTable *warned;
  guint depth, n_calls, n_steps;
  guint n_changes;  /* of a variable, or of what is read next */
  guint n_leaves;   /* loops that a break or a continue still leaves */
  gboolean goes_on; /* it is a continue: the last of them goes on */
  guint n_open;     /* loops being run whose number of turns is not known */
  char *loop;       /* the outermost of them as written; NULL: none */
  OrrPlace loop_place;
  const char *around;     /* the image in which commands run; NULL: none */
  gboolean is_over;       /* a limit was reached, which is an error */
  gboolean is_exiting;    /* exit */
  gboolean is_returning;  /* return */
  gboolean is_condition;  /* an unset variable is empty */
  gboolean is_guess;      /* a command was taken to succeed since somebody set this to FALSE */
  gboolean is_background; /* "&" stands behind */
};

/* Whether what follows in a list is left out. */
gboolean orr_shell_is_leaving(const OrrShell *shell);
/* Ends the walk with one error. */
void orr_shell_stop(OrrShell *shell, OrrPlace place, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Takes @bytes from the draft's budget. FALSE: it is spent, and the walk ends. */
gboolean orr_shell_draw(OrrShell *shell, gsize bytes, OrrPlace place);

OrrShellVariable *orr_shell_variable(const OrrShell *shell, const char *name); /* NULL: unset */
/* The variable to assign to, made where it is missing; NULL where it is fixed. */
OrrShellVariable *orr_shell_assigned(OrrShell *shell, const char *name);
/* Sets a scalar. A value that is one unresolved part takes the name of the variable. */
void orr_shell_assign(OrrShell *shell, const char *name, const char *value);
/* Sets an array; takes @items (of char *). */
void orr_shell_assign_items(OrrShell *shell, const char *name, GPtrArray *items);
/* Sets NAME[index]. */
void orr_shell_assign_item(OrrShell *shell, const char *name, const char *index, const char *value,
                           OrrPlace place);

/* The '=' of "NAME=", "NAME+=" or "NAME[i]=" at the begin of @raw; NULL: not an assignment. */
const char *orr_shell_assignment(const char *raw);
/* Assigns; @raw is an assignment. Returns the name, newly allocated. */
char *orr_shell_assign_raw(OrrShell *shell, const char *raw, OrrPlace place);

/* The name of the first unresolved part of @text, newly allocated; NULL: all is known. */
char *orr_shell_unresolved(const char *text);
/* @text with its unresolved parts as "$NAME". Newly allocated. */
char *orr_shell_plain(const char *text);
/* Whether all of @text is one unresolved part, which may stand for any number of words. */
gboolean orr_shell_is_open(const char *text);
/* An unresolved part. Newly allocated. */
char *orr_shell_marked(const char *name);

/* Expands a raw word to texts (char *), which are appended to @texts: none, one or several. */
void orr_shell_expand(OrrShell *shell, const char *raw, OrrPlace place, GPtrArray *texts);
/* Expands without splitting. Newly allocated. */
char *orr_shell_expand_text(OrrShell *shell, const char *raw, OrrPlace place);
/* Expands a here-document: quotes stand for themselves. Newly allocated. */
char *orr_shell_expand_document(OrrShell *shell, const char *body, OrrPlace place);
/* What separates the fields of an expansion: IFS. */
const char *orr_shell_separators(const OrrShell *shell);
/* Appends the fields of @text to @fields (char *); of the last of @most the rest, 0: no limit. */
void orr_shell_split(const char *text, const char *separators, guint most, GPtrArray *fields);
/* The words that the braces of @raw expand to, "a{1,2}" to a1 and a2 (char *); NULL: it has none.
 */
GPtrArray *orr_shell_braces(OrrShell *shell, const char *raw, OrrPlace place);

/* A parameter's values, as far as they are known. */
typedef struct {
  GPtrArray *items;         /* of char * */
  gboolean is_set, is_many; /* [@]: each item is a word */
} OrrShellValue;

/* The value of what stands in ${...}, "NAME[index]operator". The caller frees the items. @ret_name:
 * of the variable, newly allocated. */
OrrShellValue orr_shell_parameter(OrrShell *shell, const char *spec, OrrPlace place,
                                  char **ret_name);
/* How many letters of @text name a variable. */
gsize orr_shell_name_length(const char *text);
/* The items of @value joined by the first separator. Newly allocated. */
char *orr_shell_joined(const OrrShell *shell, const OrrShellValue *value);

/* --- What commands read and print --- */

/* Whether token @i of @tokens redirects the input; what is read then, newly allocated (NULL: not
 * known). */
gboolean orr_shell_input_of(OrrShell *shell, const GPtrArray *tokens, guint i, char **ret_text);
/* What @tree prints where it reads @input (NULL: nothing, or not known), without being run: of
 * echo, seq and their like. Newly allocated; NULL: not known. */
char *orr_shell_output(OrrShell *shell, const OrrShellTree *tree, const char *input);
/* What the script @text prints. As above. */
char *orr_shell_output_of_text(OrrShell *shell, const char *text, OrrPlace place);

/* The value of an arithmetic expression. FALSE: unresolved (@ret_unresolved, newly allocated), or
 * not a number (NULL). */
gboolean orr_shell_arithmetic(OrrShell *shell, const char *text, gint64 *ret_value,
                              char **ret_unresolved);
/* What a condition comes to. What only the machine knows is unknown: neither its branch runs, nor
 * what would run if it failed. */
typedef enum { ORR_SHELL_FALSE, ORR_SHELL_TRUE, ORR_SHELL_UNKNOWN } OrrShellTruth;

OrrShellTruth orr_shell_not(OrrShellTruth truth);
/* The truth of the texts of [ ] or [[ ]], expanded. */
OrrShellTruth orr_shell_test(OrrShell *shell, const GPtrArray *texts, OrrPlace place);

/* One command's tokens, sorted. */
typedef struct {
  GPtrArray *texts;       /* of char *, with marks */
  GPtrArray *places;      /* of OrrShellToken *, parallel: whose place each text has */
  GPtrArray *assignments; /* of OrrShellToken *, in front */
  const OrrShellToken *document;
  OrrShellInput input; /* where has_input */
  gboolean has_input;
  char *target;                 /* of > */
  gboolean appends;             /* >> */
  const OrrShellToken *bracket; /* OrrShellTree.bracket */
} OrrShellSimple;

typedef OrrShellTruth (*OrrShellBuiltin)(OrrShell *shell, const OrrShellTree *tree,
                                         const OrrShellSimple *simple);

const char *orr_shell_text_at(const OrrShellSimple *simple, guint i); /* NULL: behind the last */
OrrShellBuiltin orr_shell_builtin(const char *name);                  /* NULL: not a builtin */
/* read, and mapfile or readarray */
OrrShellTruth orr_shell_read(OrrShell *shell, const OrrShellTree *tree,
                             const OrrShellSimple *simple);
OrrShellTruth orr_shell_mapfile(OrrShell *shell, const OrrShellTree *tree,
                                const OrrShellSimple *simple);
/* The texts behind text @at become $1 and further; the caller keeps the old ones. */
void orr_shell_set_arguments(OrrShell *shell, const OrrShellSimple *simple, guint at);
OrrShellTruth orr_shell_run_simple(OrrShell *shell, const OrrShellTree *tree);
OrrShellTruth orr_shell_run_tree(OrrShell *shell, const OrrShellTree *tree);
OrrShellTruth orr_shell_run_for(OrrShell *shell, const OrrShellTree *tree);
OrrShellTruth orr_shell_run_while(OrrShell *shell, const OrrShellTree *tree);
/* Opens and closes a loop with an unknown number of turns: @what as written. */
void orr_shell_open_loop(OrrShell *shell, const char *what, OrrPlace place);
void orr_shell_close_loop(OrrShell *shell);

void orr_shell_warn_once(OrrShell *shell, OrrPlace place, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

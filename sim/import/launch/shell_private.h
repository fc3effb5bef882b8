/*
 * shell_private.h - tokens, trees and variables, for the files shell_*.c.
 */
#ifndef ORR_SHELL_PRIVATE_H
#define ORR_SHELL_PRIVATE_H

#include "sim/import/launch/launch_server.h"
#include "sim/import/launch/shell.h"

G_BEGIN_DECLS

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
  ORR_SHELL_AND,      /* below: two, the second where the first succeeds */
  ORR_SHELL_OR,       /* below: two, the second where the first fails */
  ORR_SHELL_IF,       /* below: condition, body, condition, body ..., [else] */
  ORR_SHELL_CASE,     /* words: the word; below: SIMPLE of patterns, LIST, ... */
  ORR_SHELL_FOR,      /* words: the name, then the words; below: the body */
  ORR_SHELL_WHILE,    /* below: condition, body */
  ORR_SHELL_FUNCTION, /* words: the name; below: the body */
  ORR_SHELL_TEST      /* words: what stands between [[ and ]] */
} OrrShellTreeKind;

typedef struct OrrShellTree OrrShellTree;
struct OrrShellTree {
  OrrShellTreeKind kind;
  GPtrArray *words; /* of OrrShellToken *, borrowed */
  GPtrArray *below; /* of OrrShellTree * */
  OrrPlace place;
  gboolean is_negated; /* "!" stands in front */
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
  gboolean is_exported, is_fixed;
} OrrShellVariable;

struct OrrShell {
  OrrLaunchDraft *draft;
  GHashTable *variables; /* name -> OrrShellVariable * */
  GHashTable *functions; /* name -> OrrShellTree *, borrowed */
  GPtrArray *scripts;    /* of tokens and trees that live as long as the shell */
  GPtrArray *commands;   /* of OrrLaunchCommand * */
  gsize expanded;        /* bytes so far */
  guint depth, n_commands;
  gboolean is_over;      /* exit, or a limit */
  gboolean is_condition; /* an unset variable is empty */
  GHashTable *warned;
};

OrrShellVariable *orr_shell_variable(const OrrShell *shell, const char *name); /* NULL: unset */
/* The variable to assign to, made where it is missing; NULL where it is fixed. */
OrrShellVariable *orr_shell_assigned(OrrShell *shell, const char *name);
/* Sets a scalar. A value that is one unresolved part takes the name of the variable. */
void orr_shell_assign(OrrShell *shell, const char *name, const char *value);

/* The '=' of "NAME=", "NAME+=" or "NAME[i]=" at the begin of @raw; NULL: not an assignment. */
const char *orr_shell_assignment(const char *raw);
/* Assigns; @raw is an assignment. Returns the name, newly allocated. */
char *orr_shell_assign_raw(OrrShell *shell, const char *raw, OrrPlace place);

/* The name of the first unresolved part of @text, newly allocated; NULL: all is known. */
char *orr_shell_unresolved(const char *text);
/* @text with its unresolved parts as "$NAME". Newly allocated. */
char *orr_shell_plain(const char *text);

/* Expands a raw word to texts (char *), which are appended to @texts: none, one or several. */
void orr_shell_expand(OrrShell *shell, const char *raw, OrrPlace place, GPtrArray *texts);
/* Expands without splitting. Newly allocated. */
char *orr_shell_expand_text(OrrShell *shell, const char *raw, OrrPlace place);
/* Expands a here-document: quotes stand for themselves. Newly allocated. */
char *orr_shell_expand_document(OrrShell *shell, const char *body, OrrPlace place);
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

void orr_shell_warn_once(OrrShell *shell, OrrPlace place, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* Walks a text as a script of its own (eval, bash -c). */
void orr_shell_run_text(OrrShell *shell, const char *text, OrrPlace place);

G_END_DECLS

#endif

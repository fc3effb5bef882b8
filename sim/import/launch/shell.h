/*
 * shell.h - finds the commands that a pasted shell script would run, without running anything.
 *
 *   text --tokens (shell_token.c)--> tree (shell_parse.c) --walk (shell_run.c)--> commands
 *                                                              |
 *                                          variables, expansions (shell_expand.c)
 *
 * Understood as bash does: assignments, arrays, export, quotes, ${V:-w} and its relatives, $(( )),
 * here-documents, continuations, if, case, loops, read and mapfile of known text, functions, source
 * of a file that was given, eval, `bash -c`. Nothing is executed: a variable that nobody set is
 * unresolved, and $(command) as well but for what prints what it is given (seq, echo, tr:
 * shell_output.c); every word says whether it holds one. Conditions take an unset variable as empty
 * and a file as absent, as on a fresh machine, and say so.
 *
 * A loop turns as often as it would. Where nobody knows how often (its words are a command's, it
 * waits for a command), its body is walked once, a variable that it changes is unresolved from then
 * on, and its commands name the loop (OrrLaunchCommand.loop): the caller asks, or refuses.
 *
 * What public scripts get wrong is read as meant, with a warning: a comment or a blank after a
 * backslash, a missing backslash before a line that begins with an option.
 *
 * Limits, each of them an error: 64 levels of nesting, 100,000 steps, 10,000 turns of a loop, and
 * the draft's budget of copies (orr_launch_draft_draw).
 */
#pragma once

#include "sim/import/launch/launch_form.h"

typedef struct OrrShell OrrShell;

/* Variables of the command line (--set) are set, and assignments do not change them. Findings go
 * to @draft, which is borrowed. */
OrrShell *orr_shell_new(OrrLaunchDraft *draft);
void orr_shell_free(OrrShell *shell); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrShell, orr_shell_free)

/* Sets and exports a variable, as a scheduler would. */
void orr_shell_set(OrrShell *shell, const char *name, const char *value);
/* Reads the lines "#SBATCH ..." of @text: nodes and GPUs of @draft, and Slurm's variables. */
void orr_shell_headers(OrrShell *shell, OrrLaunchDraft *draft, const char *text);
/* Walks @text as a script; it begins at @place. */
void orr_shell_run(OrrShell *shell, const char *text, OrrPlace place);
#define ORR_SHELL_BEGIN(name) ((OrrPlace){.file = g_intern_string(name), .line = 1, .column = 1})
/* The simple commands that were reached, in order, of OrrLaunchCommand *: expanded words without
 * redirections, with the exported variables of that moment. The shell owns them. */
const GPtrArray *orr_shell_commands(const OrrShell *shell);

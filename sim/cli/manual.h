/*
 * manual.h - the manual page and the shell completion, generated from the command table.
 */
#ifndef ORR_MANUAL_H
#define ORR_MANUAL_H

#include "sim/cli/cli.h"

G_BEGIN_DECLS

/* The manual page orrery(1): every verb with its options, in roff (man(7)). Newly allocated. */
char *orr_manual_page(const OrrCommand *const *commands, gsize n_commands);

/* The completion script of a shell, "bash", "fish" or "zsh": completes verbs, options and files,
 * and the names of documents, views and plots where a verb takes one. Newly allocated; NULL with
 * ORR_FAULT_USAGE: another shell. */
char *orr_manual_completion(const char *shell, const OrrCommand *const *commands, gsize n_commands,
                            GError **error);

G_END_DECLS

#endif

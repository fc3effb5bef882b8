/*
 * manual.h - manual pages and shell completion, made from the command table.
 */
#ifndef ORR_MANUAL_H
#define ORR_MANUAL_H

#include "sim/cli/cli.h"

G_BEGIN_DECLS

/* orrery(1): every verb with its options, in roff (man(7)). Newly allocated. */
char *orr_manual_page(const OrrCommand *const *commands, gsize n_commands);

/* A bash completion: verbs, options, files; names of the library and of views where an argument
 * wants one. */
char *orr_manual_completion(const OrrCommand *const *commands, gsize n_commands);

G_END_DECLS

#endif

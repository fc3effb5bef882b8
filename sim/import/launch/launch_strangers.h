/*
 * launch_strangers.h - programs that are known and not read: a refusal names them and says what to
 * do instead. To add one: a row of the table.
 */
#ifndef ORR_LAUNCH_STRANGERS_H
#define ORR_LAUNCH_STRANGERS_H

#include "sim/import/launch/launch_server.h"

G_BEGIN_DECLS

/* "a config of torchtune, which is not read: ...", newly allocated; NULL: of no known program. */
char *orr_launch_strangers_config(const OrrNode *tree);
/* Whether a text may be such a config: quick. */
gboolean orr_launch_strangers_is_likely(const char *text);
/* @is_trainer: @command is one of a trainer that is read, by its arguments. */
char *orr_launch_strangers_command(const OrrLaunchCommand *command, gboolean is_trainer);

G_END_DECLS

#endif

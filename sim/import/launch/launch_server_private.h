/*
 * launch_server_private.h - what the files launch_server*.c share: a command that was recognised.
 */
#ifndef ORR_LAUNCH_SERVER_PRIVATE_H
#define ORR_LAUNCH_SERVER_PRIVATE_H

#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_server.h"

G_BEGIN_DECLS

/* A command that is known: what runs, and where its arguments begin. */
typedef struct {
  const OrrLaunchCommand *command;
  const OrrLaunchDialect *dialect;
  const OrrLaunchDialect *load; /* of the same line; NULL: none */
  guint first;                  /* of its arguments, in the command's words */
  const char *image;            /* borrowed; NULL: none */
  OrrPlace place;               /* of its first word */
  guint container, n_options;   /* docker's own words: from `container` to `n_options` */
} OrrServerCommand;

/* Word @i of @command, "" beyond its end. */
const char *orr_launch_server_word(const OrrLaunchCommand *command, guint i);

/* FALSE: not a command of launch_server.h. */
gboolean orr_launch_server_recognise(const OrrLaunchCommand *command, OrrServerCommand *ret_found);

/* Adds the settings of @found: its words, the config that it names, what stands around it. */
void orr_launch_server_add(OrrLaunchDraft *draft, const OrrServerCommand *found);

G_END_DECLS

#endif

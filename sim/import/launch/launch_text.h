/*
 * launch_text.h - a draft as text: the scenario in YAML, and the account of all keys.
 */
#ifndef ORR_LAUNCH_TEXT_H
#define ORR_LAUNCH_TEXT_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

/* The lines as block YAML, sections in the order of our scenarios, each with its comment. Newly
 * allocated. */
char *orr_launch_text_yaml(OrrLaunchDraft *draft);

G_END_DECLS

#endif

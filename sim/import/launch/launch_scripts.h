/*
 * launch_scripts.h - what a training script trains, by its name: pretrain_bert.py takes the
 * arguments of a GPT and trains another model. To add one: a word in a table.
 */
#ifndef ORR_LAUNCH_SCRIPTS_H
#define ORR_LAUNCH_SCRIPTS_H

#include <glib.h>

G_BEGIN_DECLS

/* What @script ("examples/pretrain_bert.py", "trl.scripts.grpo") trains where it is not a decoder
 * of text by the next token, as the object of a sentence; NULL: that, or the name does not say.
 * @ret_by_model: --model NAME says it all the same. */
const char *orr_launch_scripts_other(const char *script, gboolean *ret_by_model);
/* Whether the name says that it is a decoder of text. */
gboolean orr_launch_scripts_is_text(const char *script);

G_END_DECLS

#endif

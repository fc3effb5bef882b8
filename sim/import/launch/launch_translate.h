/*
 * launch_translate.h - configs whose keys are Megatron-LM's arguments by other names (NeMo,
 * Megatron-Bridge, GPT-NeoX): their settings become settings of Megatron's dialect.
 */
#ifndef ORR_LAUNCH_TRANSLATE_H
#define ORR_LAUNCH_TRANSLATE_H

#include "sim/import/launch/launch_config.h"

G_BEGIN_DECLS

/* The mark of a rule that translates: its `why` is Megatron's key, with "!" in front where true
 * means false. What reaches it is null, and so the default. */
void orr_launch_translate_convert(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                  const OrrLaunchRule *rule);
/* Gives the settings of @dialect from number @first on, whose rules translate, to Megatron's. The
 * others come first, so that @dialect's finish runs before Megatron's. */
void orr_launch_translate(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, guint first);
/* Adds what @source says as Megatron's @key; at any time before Megatron's finish. */
void orr_launch_translate_add(OrrLaunchDraft *draft, const char *key, const char *value,
                              const OrrLaunchSetting *source);
/* A precision of Megatron-Bridge by its name ("bf16_mixed", "fp8_cs"), with its FP8 recipe (NULL:
 * none), as Megatron's options (dialect_bridge.c). */
void orr_dialect_bridge_precision(OrrLaunchDraft *draft, const char *name, const char *recipe,
                                  const OrrLaunchSetting *source);
/* Gives @setting of @own, which has no rule for it, to @trainer (Megatron or torchtitan) where that
 * has one: for its option, or for the option that turns it off. A flag that is off, and null,
 * become "unset.KEY" of @own. */
void orr_launch_translate_adopt(OrrLaunchSetting *setting, const OrrLaunchDialect *own,
                                const OrrLaunchDialect *trainer);
/* Changes the value of Megatron's @key by @pairs. */
void orr_launch_translate_value(OrrLaunchDraft *draft, const char *key,
                                const OrrLaunchWordPair *pairs);

G_END_DECLS

#endif

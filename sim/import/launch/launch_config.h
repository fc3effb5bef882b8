/*
 * launch_config.h - configs of trainers: which program's a tree is, and what several of them decide
 * in the same way.
 */
#ifndef ORR_LAUNCH_CONFIG_H
#define ORR_LAUNCH_CONFIG_H

#include "sim/import/launch/launch_form.h"

G_BEGIN_DECLS

/* The program of @tree, or NULL. */
const OrrLaunchDialect *orr_launch_config_of(const OrrNode *tree);
/* Adds the settings of @tree, a config of @dialect. */
void orr_launch_config_read(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                            const OrrNode *tree);
/* Whether a text looks like one: quick. */
gboolean orr_launch_config_is_likely(const char *text);

/* Adds the leaves of @tree as settings of @dialect, those with an unresolved ${...} marked. A tree
 * of too many is an error. */
void orr_launch_config_add(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                           const OrrNode *tree, const char *prefix);

/* --- For finish --- */

/* Whether a setting of the input is of @dialect; of a trainer other than @own. */
gboolean orr_launch_config_has(const OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);
gboolean orr_launch_config_has_trainer(const OrrLaunchDraft *draft, const OrrLaunchDialect *own);

/* The last mapped setting whose rule has @path; @unconverted: only rules that leave the value to
 * finish. NULL: none. */
OrrLaunchSetting *orr_launch_config_at(const OrrLaunchDraft *draft, const char *path,
                                       gboolean unconverted);

/* The value of @key is null, ~ or empty: the program's default. */
gboolean orr_launch_config_is_null(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                   const char *key);
/* The value where it is there and not null; else NULL. */
const char *orr_launch_config_text(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                   const char *key);
gint64 orr_launch_config_count(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                               const char *key, gint64 fallback); /* null is @fallback, too */
gboolean orr_launch_config_says(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                const char *key, const char *value); /* case ignored */
/* Sets @path from the setting of @key; nothing where the input does not have it. */
void orr_launch_config_put(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *path,
                           const char *value, const char *key);
void orr_launch_config_put_count(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *path, gint64 value, const char *key);
/* The setting of @key is not simulated: a warning. */
void orr_launch_config_skip(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *key,
                            const char *why);

/* A row of theirs to ours; the last has theirs NULL. */
typedef struct {
  const char *theirs, *ours;
} OrrLaunchWordPair;
/* Our word for @theirs, case ignored; NULL. */
const char *orr_launch_config_word(const OrrLaunchWordPair *pairs, const char *theirs);

/* The model that @key names: an alias or a name of the library. Else a question. --model wins. */
void orr_launch_config_put_model(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *key);
/* A config of DeepSpeed that is named and was not given: its ZeRO stage by its name ("ds_z3.json",
 * "zero_stage1_config.json"), else 2, an assumption; asked under --strict. */
void orr_launch_config_assume_zero(OrrLaunchDraft *draft, const char *file);
/* GPUs in all, of the command line, its cluster's nodes, or the launcher; 0: unknown. */
gint64 orr_launch_config_gpus(OrrLaunchDraft *draft);
/* GPUs of a node of --cluster; 0: not known. */
gint64 orr_launch_config_gpus_of_node(OrrLaunchDraft *draft);
/* workload.batch.global = @micro times @accumulation on each of the replicas of the GPUs that
 * @split share. Asks where the GPUs are unknown. */
void orr_launch_config_put_global(OrrLaunchDraft *draft, gint64 micro, gint64 accumulation,
                                  gint64 split, const char *remark);

G_END_DECLS

#endif

/*
 * launch.h - a pasted launch line or config becomes a scenario, with an account of every key.
 *
 *   sources (files, or stdin)
 *     | a form reads the text (shell, TOML, YAML, ...): launch_form.h
 *     v
 *   settings of dialects: key, value, place          "tensor-model-parallel-size", "8", run.sh:12:3
 *     | the dialect's rules: one verdict for each key
 *     v
 *   draft: lines of a scenario                       workload.parallel.tp: 8
 *     |    account of the keys                       mapped | irrelevant | not simulated
 *     |    questions                                 what the input does not say
 *     v
 *   YAML text, each key with its source as a comment (launch_private.h)
 *
 * A dialect is what one program understands ("megatron-lm", "vllm"). An input can hold several: a
 * launch line of Megatron-DeepSpeed names a config of DeepSpeed. Nothing is dropped in silence: a
 * key that its dialect does not know is an error that names the nearest one.
 */
#pragma once

#include "sim/base/library.h"
#include "sim/import/launch/launch_dialect.h"

/* All dialects, in the order of dialects.inc, NULL-terminated. */
extern const OrrLaunchDialect *const orr_launch_dialects[];

const OrrLaunchDialect *orr_launch_dialect(const char *name);             /* NULL: unknown */
const char *orr_launch_dialect_sentence(const OrrLaunchDialect *dialect); /* for `orrery list` */
/* Rule @i of @dialect; NULL behind the last. */
const OrrLaunchRule *orr_launch_rule_at(const OrrLaunchDialect *dialect, guint i);
/* The rules as a table in Markdown: keys, what becomes of them. Newly allocated. */
char *orr_launch_dialect_table(const OrrLaunchDialect *dialect);

/* The rule of @dialect for @key, or NULL. */
const OrrLaunchRule *orr_launch_rule_find(const OrrLaunchDialect *dialect, const char *key);

/* --- The draft --- */

/* What the command line says in addition to the sources. Strings are borrowed; NULL or 0: not said.
 * */
typedef struct {
  const char *cluster, *model, *stack;
  gint64 gpus, nodes;
  char **variables; /* NAME=value, NULL-terminated, or NULL */
  gint64 choice;    /* which of several launch lines or benchmarks, from 1; 0: there must be one */
  gboolean skip_unknown; /* a key that no rule has is a warning, not an error */
  gboolean strict;       /* what the input leaves open is asked, not assumed */
} OrrLaunchOptions;

/* @library and @options are borrowed. */
OrrLaunchDraft *orr_launch_draft_new(OrrLibrary *library, const OrrLaunchOptions *options);
void orr_launch_draft_free(OrrLaunchDraft *draft); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrLaunchDraft, orr_launch_draft_free)

/* What an input makes of itself is bounded: every copy of its text draws its bytes here, from 16
 * MiB that a draft and its parts have together. FALSE: they are spent; an error at @place says so
 * once. */
gboolean orr_launch_draft_draw(OrrLaunchDraft *draft, gsize bytes, OrrPlace place);

/* How much readings have done in this thread: bytes copied, characters of a script passed over,
 * steps run, settings and patterns that keys were compared with. Tests hold it below a bound, in
 * place of a time. */
guint64 orr_launch_draft_work(void);
void orr_launch_draft_worked(gsize n); /* adds @n to it */

OrrDiags *orr_launch_draft_diags(OrrLaunchDraft *draft);
OrrLibrary *orr_launch_draft_library(OrrLaunchDraft *draft);
const OrrLaunchOptions *orr_launch_draft_options(OrrLaunchDraft *draft);
/* The value of variable NAME on the command line, or NULL. */
const char *orr_launch_draft_variable(OrrLaunchDraft *draft, const char *name);

/* Adds a setting, normalising @key. @value may be NULL. The draft owns the result. */
OrrLaunchSetting *orr_launch_draft_add(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                       const char *key, const char *value, OrrPlace place);
/* Of OrrLaunchSetting *, in the order of the input. */
const GPtrArray *orr_launch_draft_settings(OrrLaunchDraft *draft);

/* Calls each dialect's begin, applies the rules to all settings, then calls each dialect's finish,
 * once each, in the order in which the dialects first appear. Unknown keys, bad values and
 * unresolved variables in mapped settings become errors. */
void orr_launch_draft_apply(OrrLaunchDraft *draft);

/* For finish and converters. The last setting of @dialect with any spelling of the rule that @key
 * belongs to; NULL: the input does not have it. @dialect NULL: of any dialect. */
OrrLaunchSetting *orr_launch_draft_find(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                        const char *key);
/* Its value, or NULL; "true" for a flag. */
const char *orr_launch_draft_value(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                   const char *key);
/* Its value as a number; @fallback where it is absent. A bad number is an error at its place. */
gint64 orr_launch_draft_int(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const char *key,
                            gint64 fallback);
gboolean orr_launch_draft_is_on(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                const char *key);

/* For finish: converts now, in this order, the settings of @keys, separated by blanks, whose rules
 * are `later`; of one that the input does not have, the default of its map. */
void orr_launch_draft_settle(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                             const char *keys);

/* Sets the scenario's key @path to @value, YAML text of one line ("8", "[1, 2]", "{kind: x}").
 * @source: the setting that says so, whose text becomes the comment; NULL: @remark is it. A later
 * call for the same path replaces the earlier. */
void orr_launch_draft_set(OrrLaunchDraft *draft, const char *path, const char *value,
                          const OrrLaunchSetting *source, const char *remark);
void orr_launch_draft_set_number(OrrLaunchDraft *draft, const char *path, gint64 number,
                                 const OrrLaunchSetting *source, const char *remark);
const char *orr_launch_draft_get(OrrLaunchDraft *draft, const char *path); /* NULL: not set */
/* The whole number that @path was set to, at least 1; 1 where it was not set. */
gint64 orr_launch_draft_degree(OrrLaunchDraft *draft, const char *path);
/* An error in the value of @setting: "run.sh:4:3: error: --tp-size: 'x' is not a number". */
void orr_launch_draft_bad(OrrLaunchDraft *draft, const OrrLaunchSetting *setting,
                          const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Says what @setting comes to where that differs from its rule. */
void orr_launch_draft_judge(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                            OrrLaunchVerdict verdict, const char *format, ...) G_GNUC_PRINTF(4, 5);
/* What the input does not say and the scenario needs, with how to say it: "which cluster? Add
 * --cluster NAME". Nothing is written while there are questions. */
void orr_launch_draft_ask(OrrLaunchDraft *draft, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Asks which model the one is that the input names: none is assumed then. */
void orr_launch_draft_ask_model(OrrLaunchDraft *draft, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Sets the scenario's key @path, which nothing has set, to an assumed @value; a remark says so and
 * @why, a clause. Under --strict, @question is asked instead. FALSE: it is asked. */
gboolean orr_launch_draft_assume(OrrLaunchDraft *draft, const char *path, const char *value,
                                 const char *why, const char *question);
gboolean orr_launch_draft_assume_count(OrrLaunchDraft *draft, const char *path, gint64 value,
                                       const char *why, const char *question);
/* Assumes how many GPUs a training job has whose replicas take @split each, by the rule of
 * launch_assume.c; draft->copies of the weights have the same number each. FALSE: it has to be
 * asked. */
gboolean orr_launch_draft_assume_gpus(OrrLaunchDraft *draft, gint64 split);
/* What a reader of the scenario should know: a comment at its head, and a line on stderr. */
void orr_launch_draft_remark(OrrLaunchDraft *draft, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The launcher's facts (torchrun --nnodes, SLURM_NNODES, ...). 0: not said. @from: where, for the
 * comment. Two launchers that disagree: the later wins. */
void orr_launch_draft_set_nodes(OrrLaunchDraft *draft, gint64 nodes, const char *from);
void orr_launch_draft_set_gpus_per_node(OrrLaunchDraft *draft, gint64 gpus, const char *from);
/* GPUs in all: the command line's --gpus or --nodes, else the launcher's; 0: unknown. */
gint64 orr_launch_draft_gpus(OrrLaunchDraft *draft);

/* Completes what no dialect decides (cluster, workload.kind, workload.stack, name) and returns the
 * scenario as YAML text, newly allocated. NULL with ORR_FAULT_DOCUMENT: all diagnostics and
 * questions. */
char *orr_launch_draft_scenario(OrrLaunchDraft *draft, GError **error);
/* A table: verdict, place, key as written, the scenario's key or the reason; then the defaults that
 * decided. Newly allocated. */
char *orr_launch_draft_account(OrrLaunchDraft *draft);
/* What a user must know, a line each: remarks, and keys that are not simulated. Of char *; the
 * caller owns it. */
GPtrArray *orr_launch_draft_notes(OrrLaunchDraft *draft);
/* Remarks and keys that are not simulated, as text, and the number of the other keys. Newly
 * allocated. */
char *orr_launch_draft_warnings(OrrLaunchDraft *draft);

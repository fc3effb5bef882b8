/*
 * launch_private.h - what a draft holds, for the files launch_*.c.
 */
#pragma once

#include "sim/import/launch/launch.h"
#include "sim/import/launch/launch_form.h"

/* A key of the scenario. */
typedef struct {
  char *path;    /* "workload.parallel.tp" */
  char *value;   /* YAML text of one line */
  char *comment; /* one line, without '#'; NULL: none */
} OrrLaunchLine;

/* The role of a server in a deployment of several. */
typedef enum {
  ORR_LAUNCH_WHOLE,    /* the draft of a whole input */
  ORR_LAUNCH_SERVES,   /* the same as the whole's server */
  ORR_LAUNCH_PREFILLS, /* prompts alone */
} OrrLaunchRole;

struct OrrLaunchDraft {
  OrrLibrary *library;
  const OrrLaunchOptions *options;
  OrrDiags *diags;
  GPtrArray *sources;   /* of OrrLaunchSource * */
  GPtrArray *settings;  /* of OrrLaunchSetting * */
  GPtrArray *lines;     /* of OrrLaunchLine *, in the order of their first call */
  GPtrArray *questions; /* of char * */
  GPtrArray *remarks;   /* of char * */
  gboolean asks_model;  /* a question about it: none is assumed */
  gint64 nodes, gpus_per_node;
  gint64 tasks, tasks_per_node; /* processes that Slurm starts; 0: not said */
  const char *release;          /* interned: of Megatron-Core, by NeMo's image; NULL: not said */
  gint64 all_gpus;              /* of all nodes, by Slurm's --gpus; 0: not said */
  char *nodes_from, *gpus_from; /* what said so; NULL: nothing */
  GPtrArray *parts;             /* of OrrLaunchDraft *: other servers of the same deployment */
  OrrLaunchRole role;
  gint64 replicas; /* of its server, by a manifest; 0: one */
  gint64 copies;   /* of a trainer's weights, each sharded within itself alone; 0: one */
  guint n_unknown; /* settings without a rule */
  gsize drawn;     /* bytes of copies */
  gsize *budget;   /* its own `drawn`, or its whole draft's */
};

OrrLaunchLine *orr_launch_draft_line(OrrLaunchDraft *draft, const char *path); /* NULL: not set */

/* A part of @whole, which owns it: a draft of its own, whose findings are the whole's. */
OrrLaunchDraft *orr_launch_draft_part(OrrLaunchDraft *whole, OrrLaunchRole role);

/* The dialects of dialects.inc. */

#define DIALECT(name_) extern const OrrLaunchDialect orr_dialect_##name_;
#include "sim/import/launch/dialects.inc"
#undef DIALECT

/* launch_config.c: configs of trainers: which program's a tree is, and what several of them decide
 * in the same way. */

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
OrrLaunchSetting *orr_launch_draft_at(const OrrLaunchDraft *draft, const char *path,
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

/* Converters of linear layers that have an adapter, by Transformers', torchtune's or Megatron's
 * names, patterns, or "all": adds them to the scenario's `targets`. Other names are a warning. */
void orr_launch_config_targets(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                               const OrrLaunchRule *rule);
/* A switch for the layers of the feed-forward. */
void orr_launch_config_mlp_targets(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                   const OrrLaunchRule *rule);

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
/* The GPUs are @gpus, by other keys, as @why says: where they are unknown, and whole nodes of what
 * the launcher says. */
void orr_launch_config_take_gpus(OrrLaunchDraft *draft, gint64 gpus, const char *why);
/* Warns where the file that setting @key names was not given. */
void orr_launch_config_miss_file(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *key);
/* The degrees of a config multiply to @gpus; @source is one of them. Where others are known it is
 * an error: @program stops there. */
void orr_launch_config_take_world(OrrLaunchDraft *draft, const OrrLaunchSetting *source,
                                  gint64 gpus, const char *program);
/* workload.batch.global = @micro times @accumulation on each of the replicas of the GPUs that
 * @split share. Asks where the GPUs are unknown. */
void orr_launch_config_put_global(OrrLaunchDraft *draft, gint64 micro, gint64 accumulation,
                                  gint64 split, const char *remark);

/* config_resolve.c: what stands in ${...} in the configs of Hydra, OmegaConf, llm-foundry, OLMo
 * and Primus.
 *
 *   ${a.b}  ${.x}  ${..y}          a key from the root, next to this one, one level further out
 *   ${multiply:a,b} mul add sum sub div divide int_div floor_div min max int float
 *   ${oc.env:VAR,default}  ${env:VAR,default}  ${VAR:default}    of the variables of --set
 *   ${oc.select:a.b,default}  ${oc.decode:x}  ${path.choose:a,b} (the first)
 *
 * The environment of this process is never read. A reference that stays unresolved keeps its text.
 */

/* Changes the scalars of @root, which the caller owns alone. Work and lengths are bounded. */
void orr_config_resolve(OrrLaunchDraft *draft, OrrNode *root);
/* The first name of "${name}" that stands unresolved in @text, newly allocated; NULL: none. */
char *orr_config_resolve_unresolved(const char *text);

/* launch_table.c: a dialect's rules as a table, which is compiled in: dialects/README.md explains
 * its columns. */

/* A file as it was compiled in (results/embed.sh). */
typedef struct {
  const char *name, *sentence, *text;
} OrrLaunchTable;

/* Converters by the name in column `value`; the last has no name. launch_convert.c. */
extern const OrrLaunchConverter orr_launch_converters[];

/* @dialect's table; the text alone where it has one of its own. */
OrrLaunchTable orr_launch_table_of(const OrrLaunchDialect *dialect);

/* The rules of @dialect, of OrrLaunchRule; the caller keeps them as long as the program runs.
 * Faults of rows are errors in @diags; tests/import/test_dialects.c reads all tables. */
GArray *orr_launch_table_rules(const OrrLaunchDialect *dialect, OrrDiags *diags);

/* launch_text.c: a draft as text: the scenario in YAML, and the account of all keys. */

/* The lines as block YAML, sections in the order of our scenarios, each with its comment. Newly
 * allocated. */
char *orr_launch_text_yaml(OrrLaunchDraft *draft);

/* launch_strangers.c: programs that are known and not read: a refusal names them and says what to
 * do instead. To add one: a row of the table. */

/* "a config of torchtune, which is not read: ...", newly allocated; NULL: of no known program. */
char *orr_launch_strangers_config(const OrrNode *tree);
/* Whether a text may be such a config: quick. */
gboolean orr_launch_strangers_is_likely(const char *text);
/* @is_trainer: @command is one of a trainer that is read, by its arguments. */
char *orr_launch_strangers_command(const OrrLaunchCommand *command, gboolean is_trainer);
/* Errors for servers among @commands (of OrrLaunchCommand *) that are not read, where @read, those
 * that are, have none: a benchmark without its server would be answered for an assumed one. Remarks
 * for servers next to one that is read, and for benchmarks that are not. TRUE: there are errors.
 */
gboolean orr_launch_strangers_refuse(OrrLaunchDraft *draft, const GPtrArray *commands,
                                     const GPtrArray *read);

/* launch_scripts.c: what a training script trains, by its name: pretrain_bert.py takes the
 * arguments of a GPT and trains another model. To add one: a word in a table. */

/* What @script ("examples/pretrain_bert.py", "trl.scripts.grpo") trains where it is not a decoder
 * of text by the next token, as the object of a sentence; NULL: that, or the name does not say.
 * @ret_by_model: --model NAME says it all the same. */
const char *orr_launch_scripts_other(const char *script, gboolean *ret_by_model);
/* "dpo", pairs with a reference model, or "orpo", pairs alone, by the script's name; or NULL. */
const char *orr_launch_scripts_pairs(const char *script);
/* Whether the name says that it is a decoder of text. */
gboolean orr_launch_scripts_is_text(const char *script);

/* launch_translate.c: configs whose keys are Megatron-LM's arguments by other names (NeMo,
 * Megatron-Bridge, GPT-NeoX): their settings become settings of Megatron's dialect. */

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

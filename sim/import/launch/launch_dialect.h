/*
 * launch_dialect.h - what a dialect is: its rules, and what becomes of a setting by them.
 */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/node.h"

typedef struct OrrLaunchDraft OrrLaunchDraft;
typedef struct OrrLaunchDialect OrrLaunchDialect;
typedef struct OrrLaunchRule OrrLaunchRule;

/* One setting of the input. The draft owns all of them. */
typedef struct {
  const OrrLaunchDialect *dialect;
  /* As the rules write it: no dashes in front, lower case, '-' for '_'; levels joined by dots:
   * "micro-batch-size", "parallelism.tensor-parallel-degree" */
  char *key;
  char *written; /* as in the source, for comments: "--micro-batch-size 1" */
  char *value;   /* NULL: a flag without one. "--no-x" of a flag "x" has the value "false" */
  OrrPlace place;
  gboolean is_unresolved; /* @value holds a variable that nobody set; @unresolved names it */
  char *unresolved;
  gboolean is_default; /* the input does not have it: a default of the program, with no place */
  /* Filled by the rules: */
  const OrrLaunchRule *rule; /* NULL: unknown, or overridden by a later one */
  int verdict;               /* OrrLaunchVerdict */
  char *remark;              /* why, in words, where it differs from the rule's; or NULL */
} OrrLaunchSetting;

typedef enum {
  ORR_LAUNCH_MAPPED,        /* the scenario has it */
  ORR_LAUNCH_IRRELEVANT,    /* changes neither time nor memory */
  ORR_LAUNCH_NOT_SIMULATED, /* may change them, and is not simulated: a warning */
  ORR_LAUNCH_OVERRIDDEN     /* the same key comes again later */
} OrrLaunchVerdict;

/* What follows an option on a command line. Configs ignore it. */
typedef enum {
  ORR_LAUNCH_VALUE, /* one word */
  ORR_LAUNCH_FLAG,  /* none; also "--no-KEY", "--KEY=false" */
  ORR_LAUNCH_MAYBE, /* one word that does not begin with a dash, or none */
  ORR_LAUNCH_MANY   /* all words up to the next option, joined by blanks */
} OrrLaunchArity;

/* Puts lines into the draft for @setting. An error in its value goes to the draft's diagnostics, at
 * the setting's place (orr_launch_draft_bad). A converter may change the setting's verdict and
 * remark. */
typedef void (*OrrLaunchConvert)(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                 const OrrLaunchRule *rule);

/* The meaning of a word of theirs. */
typedef struct {
  const char *word;         /* a pattern; "on", "off", "null", "absent" */
  const char *ours;         /* "": nothing is set */
  const char *remark;       /* beside @ours; or NULL */
  const char *reason;       /* of @verdict, or of the refusal; NULL: the rule's verdict stays */
  OrrLaunchVerdict verdict; /* of this value */
  gboolean is_refused;      /* the value is an error */
} OrrLaunchCase;

/* A row of the dialect's table (dialects/README.md). */
struct OrrLaunchRule {
  /* Spellings, separated by blanks, the usual one first. A "*" at the end stands for every key
   * that begins so ("wandb-*", "trainer.*"). An exact spelling wins over a pattern, a longer
   * pattern over a shorter one. A rule that maps lists synonyms. */
  const char *keys;
  OrrLaunchVerdict verdict;
  /* MAPPED: the scenario's key, "workload.parallel.tp" (several, separated by blanks, for a
   * converter or the dialect's finish) */
  const char *path;
  OrrLaunchConvert convert; /* MAPPED: NULL: finish sets the lines */
  gboolean is_later;        /* MAPPED: finish calls orr_launch_draft_settle, or sets lines itself */
  const OrrLaunchCase *cases; /* of a map of words; the last has no word */
  const OrrLaunchRule *also;  /* a further path of the same keys; or NULL */
  const char *why; /* IRRELEVANT, NOT_SIMULATED: the reason, a clause without a full stop */
  /* NOT_SIMULATED: the values, separated by blanks, that change nothing: no warning. "-": a flag
   * that is not set */
  const char *neutral;
  OrrLaunchArity arity;
};

/* A converter of one dialect, by the name that its table has. */
typedef struct {
  const char *name;
  OrrLaunchConvert convert;
} OrrLaunchConverter;

struct OrrLaunchDialect {
  const char *name;  /* "megatron-lm" */
  const char *kind;  /* of orr_workload_registry: "training", "serving"; NULL: any */
  const char *stack; /* family of stacks, "megatron-core"; NULL: another dialect chooses */
  /* Its rules: sim/import/launch/dialects/NAME.csv. NULL: NAME is @name; a text of several lines
   * is the table itself */
  const char *table;
  const char *sentence;                 /* NULL: the first line of its table */
  const OrrLaunchConverter *converters; /* its own; the last has no name. May be NULL */
  /* Its scripts have options of their own in addition to these: one that no rule has, and that
   * resembles none, is a warning instead of an error */
  gboolean has_own_options;
  /* Of its config, a tree of YAML or JSON: keys, separated by blanks, any of which says that a
   * tree is this program's; "a.b" lies deeper; '_' stands for '-', too. NULL: it has none */
  const char *signs;
  /* Adds the settings of a config, whose references are resolved. NULL: every leaf is one */
  void (*read)(OrrLaunchDraft *draft, const OrrNode *tree);
  /* Says batch and sequence, or asks for them: what stands around it need not */
  gboolean is_trainer;
  gboolean is_one_node; /* of a launcher: where no key of it says how many */
  /* Of the command lines of a server, or of its load: */
  const char *config;             /* the option that names a file of more keys; NULL: "config" */
  gboolean config_wins;           /* over options of the line */
  gboolean is_written_in_full;    /* the beginning of an option is not enough */
  gboolean has_model_option;      /* no word without dashes is the model */
  gboolean takes_no_words;        /* a word without dashes is an error */
  gboolean has_subcommands;       /* a word without dashes is one, and says nothing */
  gboolean is_for_all;            /* what it says holds for each server of the input */
  gboolean shares_load;           /* among the servers of the input: a router */
  const char *only_word;          /* the key of the one word that the command is read for */
  const char *port;               /* where it listens, or asks, if it does not say; NULL: unknown */
  const OrrLaunchDialect *client; /* the client that some start by this server's command */
  const void
      *tree; /* dialect_trees.c: values that its few keys leave open; NULL: another dialect */
  /* Before the rules: adds the program's defaults that decide. May be NULL. */
  void (*begin)(OrrLaunchDraft *draft);
  /* After all settings: what several keys decide together. May be NULL. */
  void (*finish)(OrrLaunchDraft *draft);
};

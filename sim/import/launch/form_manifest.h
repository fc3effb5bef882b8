/*
 * form_manifest.h - what the readers of manifests (form_manifest.c) and of the values of charts
 * (form_manifest_charts.c) share: commands that they make of a tree's values.
 *
 * A value that became words of a command is marked as used; the others become settings of
 * dialect_manifest.c.
 */
#ifndef ORR_FORM_MANIFEST_H
#define ORR_FORM_MANIFEST_H

#include "sim/import/launch/launch_server.h"

G_BEGIN_DECLS

typedef struct {
  OrrLaunchDraft *draft;
  GPtrArray *commands;   /* of OrrLaunchCommand *, borrowed: those that concern servers */
  GPtrArray *trainers;   /* the same: those that train */
  gint64 n_trainers;     /* pods of them */
  gint64 n_workers;      /* pods of an MPIJob's workers, for which its launcher stands; 0: none */
  gint64 gpus;           /* of a container, by its limits; 0: not said */
  GPtrArray *containers; /* of OrrLaunchCommand * */
  GPtrArray *shells;     /* of OrrShell * */
  GPtrArray *documents;  /* of OrrNode *, which commands refer to */
  GHashTable *used;      /* of const OrrNode *: what the commands took */
  GHashTable *variables; /* of char *, "line:column": of settings */
  gboolean is_compose;   /* `command` gives arguments to the image's own program */
} OrrFormManifest;

/* Gives the files of @map, where it is a ConfigMap, whose paths stand elsewhere in @whole: an
 * option of a server can name them. */
void orr_form_manifest_files(OrrFormManifest *manifest, const OrrLaunchSource *whole,
                             const OrrNode *map);

/* Marks the values below @node, or below these keys of @map (separated by blanks), as used. NULL is
 * fine. */
void orr_form_manifest_use(OrrFormManifest *manifest, const OrrNode *node);
void orr_form_manifest_use_keys(OrrFormManifest *manifest, const OrrNode *map, const char *keys);

/* An empty command; the caller adds it to `containers`, which frees it. */
OrrLaunchCommand *orr_form_manifest_command(void);
void orr_form_manifest_add_word(GPtrArray *words, const char *text, OrrPlace place);
/* A list of texts, or one text that is split as a shell would. NULL is fine. */
void orr_form_manifest_add_words(GPtrArray *words, const OrrNode *node);
/* A list of {name, value}, a map, or a list of "NAME=value". NULL is fine. */
void orr_form_manifest_add_environment(GPtrArray *variables, const OrrNode *node);
/* Replaces the variables of @word. */
void orr_form_manifest_resolve(const OrrFormManifest *manifest, const GPtrArray *environment,
                               OrrLaunchWord *word);
/* The words of @text as a shell splits them; NULL: it cannot. */
char **orr_form_manifest_split(const char *text);

/* The script of `bash -c SCRIPT`; NULL: the words are the command. */
const OrrLaunchWord *orr_form_manifest_script(const OrrLaunchCommand *command);
/* Adds the commands of @script that concern servers, in a container like @like. */
void orr_form_manifest_add_script(OrrFormManifest *manifest, const OrrLaunchCommand *like,
                                  const OrrLaunchWord *script);

/* The whole number at @key, at most a million; else @fallback. */
gint64 orr_form_manifest_number(const OrrNode *map, const char *key, gint64 fallback);

/* Reads @tree where it describes a server by options of its engine. FALSE: it does not. */
gboolean orr_form_manifest_read_values(OrrFormManifest *manifest, const OrrNode *tree);
/* Whether @text has a line with such options. */
gboolean orr_form_manifest_values_is_likely(const char *text);
/* Reads @tree where it is the values of a chart, or KServe's LLMInferenceService. FALSE: it is
 * not. */
gboolean orr_form_manifest_read_chart(OrrFormManifest *manifest, const OrrNode *tree);

G_END_DECLS

#endif

/*
 * launch_form.h - the forms in which launch lines and configs are pasted.
 *
 * A form is a syntax: shell, TOML, YAML, JSON. It recognises a text, reads it, and adds settings of
 * one or more dialects to a draft. To add one: write its file, and add it to the array in
 * launch_form.c.
 */
#ifndef ORR_LAUNCH_FORM_H
#define ORR_LAUNCH_FORM_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

/* A file that was given, or that a script wrote (cat > ds.json <<EOF). */
typedef struct {
  char *name; /* as the user gave it; "-": stdin; for a heredoc, the name that the script gave */
  char *text;
  gsize length;
  gboolean is_used; /* a launch line or another config named it and has read it */
} OrrLaunchSource;

typedef struct {
  const char *name, *sentence;
  /* 0: not this form; else the higher the surer, at most 100. Must be quick and not fail. */
  int (*recognise)(const OrrLaunchSource *source);
  /* Adds the settings. Errors go to the draft's diagnostics. */
  void (*read)(OrrLaunchDraft *draft, OrrLaunchSource *source);
} OrrLaunchForm;

/* Alphabetical, NULL-terminated. */
extern const OrrLaunchForm *const orr_launch_forms[];

/* Adds a file to the draft; "-" reads stdin. A file of more than ORR_FILE_MAX_DOCUMENT bytes, one
 * that is not a regular file, and binary text are refused. FALSE with the reason. */
gboolean orr_launch_form_add_file(OrrLaunchDraft *draft, const char *path, GError **error);
/* Adds text under a name (a heredoc). */
OrrLaunchSource *orr_launch_form_add_text(OrrLaunchDraft *draft, const char *name, const char *text,
                                          gsize length);
/* A source by the path that an input names it by: equal paths, else equal base names. NULL: it was
 * not given. */
OrrLaunchSource *orr_launch_form_source(OrrLaunchDraft *draft, const char *path);

/* Reads the configs among the sources that no other has read: all but launch lines, and configs of
 * the form @but (NULL: none). */
void orr_launch_form_read_configs(OrrLaunchDraft *draft, const char *but);

/* Reads every source that no other has read, in the order in which they were given, launch lines
 * (shell) first; then applies the rules. A text that no form recognises is an error that names the
 * forms. */
void orr_launch_form_read(OrrLaunchDraft *draft);

/* --- For forms --- */

/* What a text that cannot be read looks like, or what can be read: the end of an error. Newly
 * allocated. */
char *orr_launch_form_looks(const char *text);

/* A word of a command line. */
typedef struct {
  char *text;
  OrrPlace place;
  char *unresolved; /* the first variable in it that nobody set, or NULL */
} OrrLaunchWord;

/* Splits @words (of OrrLaunchWord *), from @first on, into settings of @dialect by the arities
 * of its rules. "--key value", "--key=value", "-k value"; a word that is not an option goes to
 * @ret_rest (of OrrLaunchWord *, borrowed; NULL: an error). An unknown option is an error; it is
 * taken to have a value where the next word does not begin with a dash. */
void orr_launch_argv(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const GPtrArray *words,
                     guint first, GPtrArray *ret_rest);
/* The words "a.b=c", "+a.b=c" of @words from @first on as settings: Hydra's overrides. Others are
 * skipped. */
void orr_launch_argv_hydra(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                           const GPtrArray *words, guint first);
/* Every scalar of @tree, and every list of scalars as "[a, b]", as a setting whose key joins the
 * levels below @prefix (NULL: none) with dots. Lists of maps: "key.0.name". */
void orr_launch_tree(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const OrrNode *tree,
                     const char *prefix);

G_END_DECLS

#endif

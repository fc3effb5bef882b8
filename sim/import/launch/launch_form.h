/*
 * launch_form.h - the forms in which launch lines and configs are pasted.
 *
 * A form is a syntax: shell, TOML, YAML, JSON. It recognises a text, reads it, and adds settings of
 * one or more dialects to a draft. To add one: write its file, and add it to the array in
 * launch_form.c.
 */
#pragma once

#include "sim/import/launch/launch.h"

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

/* The forms of launch_form.c. */

extern const OrrLaunchForm orr_launch_form_config;
extern const OrrLaunchForm orr_launch_form_disaggregated;
extern const OrrLaunchForm orr_launch_form_dockerfile;
extern const OrrLaunchForm orr_launch_form_huggingface;
extern const OrrLaunchForm orr_launch_form_manifest;
extern const OrrLaunchForm orr_launch_form_olmo_core;
extern const OrrLaunchForm orr_launch_form_quantization;
extern const OrrLaunchForm orr_launch_form_registry;
extern const OrrLaunchForm orr_launch_form_shell;
extern const OrrLaunchForm orr_launch_form_toml;

/* @node in one line of YAML; newly allocated. */
char *orr_launch_form_flow_text(const OrrNode *node);

/* launch_server.c: commands that start a serving engine, and those that put load on one.
 *
 *   vllm serve, python -m vllm.entrypoints.openai.api_server       dialect vllm
 *   sglang serve, python -m sglang.launch_server                   dialect sglang
 *   trtllm-serve                                                   dialect trtllm
 *   vllm bench serve, sglang.bench_serving, genai-perf, aiperf     dialects *-bench: the load
 *   docker run ... IMAGE ...                                       a server in a container
 *   pip install vllm==0.9.1                                        dialect container: the version
 *
 * The form that reads the input (shell, a manifest of Kubernetes) finds the commands; what runs
 * them (nohup, numactl, mpirun, srun, nsys) may stand in front.
 */

typedef struct {
  GPtrArray *words; /* of OrrLaunchWord *, without redirections; borrowed */
  /* of OrrLaunchWord *, "NAME=value": exported before, or in front of the command; NULL: none */
  GPtrArray *environment;
  const char *image; /* of the container that runs it; NULL: none */
  OrrPlace image_place;
  const char *around; /* the image in which a command in front of a shell starts it; NULL: none */
  gint64 replicas;    /* of this server; 0: one */
  /* The loop of a script that runs it who knows how often, as written; NULL: none */
  char *loop;
  OrrPlace loop_place;
  OrrPlace bracket; /* of a "(" in its line, where a shell refuses it; line 0: none */
  gboolean is_background;
} OrrLaunchCommand;

/* REPOSITORY:TAG of the image @text: docker://IMAGE, Pyxis' REGISTRY#IMAGE, or the file that enroot
 * names after an image, vllm+vllm-openai+v0.8.5.sqsh. Interned. */
const char *orr_launch_server_image(const char *text);
/* The image in which Slurm's Pyxis (srun --container-image=IMAGE) or Apptainer (exec
 * docker://IMAGE) starts the program behind word @end, as above; else @command's `around`. */
const char *orr_launch_server_image_around(const OrrLaunchCommand *command, guint end);
/* Whether @command is one of those above. Quick. */
gboolean orr_launch_server_knows(const OrrLaunchCommand *command);

/* Adds the settings of all commands (of OrrLaunchCommand *) of one input, which
 * orr_launch_server_knows. One server; or servers that prefill with servers that decode: one
 * scenario with disaggregation. Otherwise options.choice picks one server; without it, an error
 * lists them. */
void orr_launch_server_group_read(OrrLaunchDraft *draft, const GPtrArray *commands);

/* form_manifest.c: what the readers of manifests (form_manifest.c) and of the values of charts
 * (form_manifest_charts.c) share: commands that they make of a tree's values.
 *
 * A value that became words of a command is marked as used; the others become settings of
 * dialect_manifest.c. */

typedef struct {
  OrrLaunchDraft *draft;
  GPtrArray *commands;    /* of OrrLaunchCommand *, borrowed: those that concern servers */
  GPtrArray *trainers;    /* the same: those that train */
  gint64 n_trainers;      /* pods of them */
  gint64 n_workers;       /* pods of an MPIJob's workers, for which its launcher stands; 0: none */
  gint64 copies;          /* of all roles: slices of a DisaggregatedSet; 0: one */
  gint64 gpus;            /* of a container, by its limits; 0: not said */
  const char *group_size; /* pods of a LeaderWorkerSet's group: LWS_GROUP_SIZE; NULL: none */
  const OrrNode *worker_spec; /* of KServe: how a server splits over pods; NULL: none */
  GPtrArray *containers;      /* of OrrLaunchCommand * */
  const OrrNode *volumes;     /* of the pod being read; NULL: none */
  gboolean is_prefill;        /* of the role being read */
  GPtrArray *shells;          /* of OrrShell * */
  GPtrArray *documents;       /* of OrrNode *, which commands refer to */
  GPtrArray *inner;      /* of OrrNode * in @documents: manifests that stand in a text of another */
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

/* Pods where another key than `replicas` counts them: Kubeflow's TrainJob has numNodes, a Job of a
 * JobSet parallelism. */
gint64 orr_form_manifest_pods(const OrrNode *node, gint64 replicas);

/* Whether @node is a role named prefill, {name: prefill, template: ...} of AIBrix's StormService;
 * its servers of vLLM, the commands from @first on, only prefill. */
gboolean orr_form_manifest_is_prefill(const OrrNode *node);
void orr_form_manifest_mark_prefill(OrrFormManifest *manifest, guint first, OrrPlace place);

/* Names weights that the container mounts by the host's path: "/work/models" says nothing. */
void orr_form_manifest_name_weights(const OrrFormManifest *manifest, const OrrNode *node,
                                    OrrLaunchCommand *command);

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

/* Tasks of SkyPilot and dstack: the GPU that @node names, and the nodes that @tree has at @key, for
 * the job and as @variables (of OrrLaunchWord *) of its script. */
void orr_form_manifest_accelerators(OrrFormManifest *manifest, const OrrNode *node,
                                    GPtrArray *variables);
void orr_form_manifest_nodes(OrrFormManifest *manifest, const OrrNode *tree, const char *key,
                             GPtrArray *variables);

/* Reads @tree where it describes a server by options of its engine. FALSE: it does not. */
gboolean orr_form_manifest_read_values(OrrFormManifest *manifest, const OrrNode *tree);
/* Whether @text has a line with such options. */
gboolean orr_form_manifest_values_is_likely(const char *text);
/* Reads @tree where it is the values of a chart, or KServe's LLMInferenceService. FALSE: it is
 * not. */
gboolean orr_form_manifest_read_chart(OrrFormManifest *manifest, const OrrNode *tree);

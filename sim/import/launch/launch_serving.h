/*
 * launch_serving.h - what the dialects of serving engines share: converters of values that all of
 * them have, and the part of `finish` that is the same for each.
 */
#pragma once

#include "sim/import/launch/launch.h"
#include "sim/import/launch/launch_private.h"

/* --- Converters --- */

/* The model's name: a document of the library, an alias (an id of Hugging Face), or a path whose
 * last part is one. Sets `model`. Unknown: an error that says how to import it. */
void orr_launch_serving_model(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule);
/* The model of a client: the server's counts where there is one. */
void orr_launch_serving_client_model(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                     const OrrLaunchRule *rule);
/* The number that @key of a benchmark has; of several ("1,2,4": a sweep) the first, and a remark
 * says so. @fallback: it is absent, or inf. */
double orr_dialect_benchmarks_number(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                     const char *key, double fallback);
/* The load of SGLang's clients by the settings of @dialect: data sets, lengths, defaults. */
void orr_dialect_benchmarks_sglang(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect);
/* A whole number, also as vLLM and SGLang read it: 1k is 1,000 and 1K is 1,024. */
void orr_launch_serving_count(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule);
/* A fraction from 0 to 1. */
void orr_launch_serving_fraction(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                 const OrrLaunchRule *rule);
/* SGLang's: weights and cache share this fraction of the memory, so the rest is reserved only
 * once. */
void orr_launch_serving_static(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                               const OrrLaunchRule *rule);
/* The word of a method of quantization: `quantization`. "auto" and words that leave the format to
 * the checkpoint set nothing. */
void orr_launch_serving_quantization(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                     const OrrLaunchRule *rule);
/* bfloat16, half, float32, ...: `precision` and `activations`. */
void orr_launch_serving_dtype(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                              const OrrLaunchRule *rule);
/* fp8_e4m3, bfloat16, ...: `kv-dtype`. */
void orr_launch_serving_kv_dtype(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                 const OrrLaunchRule *rule);
/* What exchanges the tokens of experts: deepep_low_latency, deepep_high_throughput, ... */
void orr_launch_serving_all_to_all(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                                   const OrrLaunchRule *rule);
/* JSON: its keys are settings of their own (orr_launch_serving_expand). */
void orr_launch_serving_json(OrrLaunchDraft *draft, OrrLaunchSetting *setting,
                             const OrrLaunchRule *rule);

/* The number that @text holds, with vLLM's letters. FALSE: none, or one beyond 1e18. */
gboolean orr_launch_serving_number(const char *text, double *ret_number);

/* Adds, for each setting from the @first on whose rule takes JSON, one setting for each of its
 * keys: "speculative-config.method". */
void orr_launch_serving_expand(OrrLaunchDraft *draft, guint first);

/* --- Finish --- */

/* How a server is split over GPUs. */
typedef struct {
  gint64 tp, pp, dp_attention, ep; /* as the scenario means them */
  gint64 replicas;
  const OrrLaunchSetting *tp_from, *pp_from, *dp_from, *ep_from; /* NULL: default */
} OrrServingLayout;

/* Sets parallel, replicas and the number of GPUs, disaggregation where the draft has parts, the
 * load where no benchmark gives one, and a longer context where the server asks for one. */
void orr_launch_serving_finish(OrrLaunchDraft *draft, const OrrServingLayout *layout);

/* The format of the checkpoint's weights ("fp8"): by its config.json, the model's name, or as the
 * model's document says that it is published; "": 16 bits. Interned. */
const char *orr_launch_serving_format(OrrLaunchDraft *draft);
/* The name that a server of @setting's local path gives the model, where the library knows it and
 * it says more than @own, what the library takes the path for (NULL: nothing); newly allocated.
 * NULL: it does not. */
char *orr_launch_serving_served(OrrLaunchDraft *draft, const OrrLaunchSetting *setting,
                                const char *own);
/* Reads an hf_quant_config.json among the sources, for a model that is named; with a checkpoint in
 * a format of its own, a precision means activations alone. */
void orr_launch_serving_settle_format(OrrLaunchDraft *draft);
/* The name by which the library knows the model @text, a path or an id; newly allocated. NULL:
 * unknown. */
char *orr_launch_serving_known(OrrLaunchDraft *draft, const char *text);
/* The longest request: the server's own limit, or the model's context. */
gint64 orr_launch_serving_longest(OrrLaunchDraft *draft);
/* The model's document, or NULL: inline or unknown. */
const OrrNode *orr_launch_serving_document(OrrLaunchDraft *draft);
gboolean orr_launch_serving_has_experts(OrrLaunchDraft *draft);
/* Whether the model's own layers can draft (mtp-layers). */
gboolean orr_launch_serving_has_mtp(OrrLaunchDraft *draft);

/* Speculation of @kind ("eagle", "mtp", "ngram", "draft-model") with @tokens drafts, said by
 * @source; @more: further keys, ", joined: 3", or "". The acceptance is an assumption, said in a
 * remark. */
void orr_launch_serving_speculate(OrrLaunchDraft *draft, const OrrLaunchSetting *source,
                                  const char *kind, gint64 tokens, const char *more);

/* Drafts of a small model, which @source names. */
void orr_launch_serving_draft_model(OrrLaunchDraft *draft, OrrLaunchSetting *source, gint64 tokens);

/* The stack of @family for the version in @text ("v0.9.1", "1.1.0rc2.post2"), said by @source.
 * FALSE: @text names no version. */
gboolean orr_launch_serving_stack(OrrLaunchDraft *draft, const char *family, const char *text,
                                  const OrrLaunchSetting *source);

/* What the files launch_server*.c share: a command that was recognised. */

/* A command that is known: what runs, and where its arguments begin. */
typedef struct {
  const OrrLaunchCommand *command;
  const OrrLaunchDialect *dialect;
  const OrrLaunchDialect *load; /* of the same line; NULL: none */
  const char *program;          /* "vllm bench latency", interned; NULL: by its image */
  guint first;                  /* of its arguments, in the command's words */
  const char *image;            /* borrowed; NULL: none */
  OrrPlace place;               /* of its first word */
  guint container, n_options;   /* docker's own words: from `container` to `n_options` */
} OrrServerCommand;

/* Word @i of @command, "" beyond its end. */
const char *orr_launch_server_word(const OrrLaunchCommand *command, guint i);

/* FALSE: not a command of launch_form.h. */
gboolean orr_launch_server_recognise(const OrrLaunchCommand *command, OrrServerCommand *ret_found);

/* Adds the settings of @found: its words, the config that it names, what stands around it. */
void orr_launch_server_settings_add(OrrLaunchDraft *draft, const OrrServerCommand *found);

/*
 * stack.h - software as a document: the defaults that belong to an engine or a framework of some
 * release, rather than to hardware, model or traffic.
 *
 * Documents: workloads/stacks/FAMILY-RELEASE.yaml (`schema: stack/1`). A workload names one
 * (`stack: vllm-0.11`), or changes one in place (`stack: {base: vllm-0.11, settings: [...]}`). The
 * stack's settings are laid under the workload: what the scenario says itself stays.
 *
 *   settings:
 *     - {set: engine.host.step, to: 1 ms, source: "...", confidence: measured}
 *     - {set: engine.max-num-batched-tokens, to: 2048, when: cluster.device.memory < 70 GB,
 *        source: "vllm/engine/arg_utils.py", confidence: documented}
 *
 * A list of settings follows its base's, and a later setting wins. `set` is a path below
 * `workload`; `when` is an expression (sim/base/expression.h) over paths of the scenario. An amount
 * that grows with the scenario is a unit `to` and an expression `times`:
 *
 *     - {set: engine.reserved, to: 1 MiB, times: 512 + 128 * workload.parallel.tp, ...}
 *
 * A name without a document of its own is resolved by release: FAMILY-VERSION is the newest stack
 * of FAMILY that is not newer than VERSION. Of a version only the leading numbers count: 1.2.0rc6
 * is 1.2.0.
 */
#pragma once

#include "sim/base/field.h"
#include "sim/base/library.h"

/* The stack that sets nothing: kernels, links and schedulers alone. */
#define ORR_STACK_NONE "none"

/* How a setting is known. */
typedef enum {
  ORR_STACK_DOCUMENTED, /* the software's code or manual says it */
  ORR_STACK_MEASURED,   /* somebody measured this very thing */
  ORR_STACK_FITTED,     /* it explains measured rows, which `source` names */
  ORR_STACK_ASSUMED     /* nobody has published it */
} OrrStackConfidence;

typedef struct {
  char *path;            /* below workload: "engine.host.step" */
  OrrNode *to;           /* the value, as the workload's document would hold it */
  char *when;            /* expression; NULL: always */
  char *at_most;         /* the path of a number of the scenario, which bounds the value; or NULL */
  char *times;           /* expression of a number, by which the value is multiplied; or NULL */
  gboolean unless_named; /* not where the workload names the kind of the choice itself */
  char *source;
  int confidence;   /* OrrStackConfidence */
  char **fitted_to; /* models whose rows alone determined it; empty: others test it, too */
  char *device;     /* for which the value is known; NULL: it does not depend on one */
  OrrPlace place;   /* of the setting in its file */
} OrrStackSetting;

typedef struct {
  char *name, *family, *release;
  char *released; /* "2025-10"; optional */
  char *kind;     /* of orr_workload_registry: "serving" */
  char *summary;
  char **platforms;    /* of devices that it runs on: "cuda" */
  char **validated_by; /* validation sets whose rows ran this software */
  GPtrArray *settings; /* OrrStackSetting*, the base's first */
} OrrStack;

extern const OrrFieldTable orr_stack_table;

void orr_stack_free(OrrStack *stack);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrStack, orr_stack_free)

/* Reads the document @tree, whose bases are merged. NULL with the reasons in @diags. */
OrrStack *orr_stack_read(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags);

/* The stack that @section names or describes. NULL with the reasons in @diags. */
OrrStack *orr_stack_load(OrrLibrary *library, const OrrNode *section, OrrDiags *diags);

/* The name of the document that answers for @name: itself, or by release. NULL where no stack of
 * that family is old enough, or none exists. Newly allocated. */
char *orr_stack_resolve(OrrLibrary *library, const char *name);

/* The newest stack of @family: what answers where no release is named. NULL: there is none, or
 * @family is NULL. Newly allocated. */
char *orr_stack_newest(OrrLibrary *library, const char *family);

/* The name of the stack that an unknown @name most likely means: the newest of a family, else the
 * nearest. NULL: none. Newly allocated. */
char *orr_stack_nearest(OrrLibrary *library, const char *name);

gboolean orr_stack_runs_on(const OrrStack *stack, const char *platform);

/* The names of the stacks for workloads of @kind that run on @platform, the latest released first;
 * newly allocated, strv. */
char **orr_stack_on(OrrLibrary *library, const char *kind, const char *platform);

/* What `orrery describe` prints: every setting with its value, condition and source. Newly
 * allocated. */
char *orr_stack_describe(const OrrStack *stack);

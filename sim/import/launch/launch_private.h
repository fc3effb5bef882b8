/*
 * launch_private.h - what a draft holds, for the files launch_*.c.
 */
#ifndef ORR_LAUNCH_PRIVATE_H
#define ORR_LAUNCH_PRIVATE_H

#include "sim/import/launch/launch.h"
#include "sim/import/launch/launch_form.h"

G_BEGIN_DECLS

/* A key of the scenario. */
typedef struct {
  char *path;    /* "workload.parallel.tp" */
  char *value;   /* YAML text of one line */
  char *comment; /* one line, without '#'; NULL: none */
} OrrLaunchLine;

/* What a server does in a deployment of several. */
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
  char *nodes_from, *gpus_from; /* what said so; NULL: nothing */
  GPtrArray *parts;             /* of OrrLaunchDraft *: other servers of the same deployment */
  OrrLaunchRole role;
  gint64 replicas; /* of its server, by a manifest; 0: one */
  guint n_unknown; /* settings without a rule */
  gsize drawn;     /* bytes of copies */
  gsize *budget;   /* its own `drawn`, or its whole draft's */
};

/* A part of @whole, which owns it: a draft of its own, whose findings are the whole's. */
OrrLaunchDraft *orr_launch_draft_part(OrrLaunchDraft *whole, OrrLaunchRole role);

G_END_DECLS

#endif

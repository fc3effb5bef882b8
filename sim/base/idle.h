/*
 * idle.h - keys of a document that change nothing, because another key or the model does not let
 * them: each is a warning, by one table for a kind of document.
 *
 *   a.yaml:12:5: warning: recompute-layers (5) has no effect: recompute is not full
 */
#pragma once

#include "sim/base/diag.h"

typedef struct {
  const char *path; /* of a key or a section, below the document's place: "experts.sync" */
  gboolean is_idle;
  const char *why; /* a clause: "recompute is not full" */
} OrrIdleKey;

/* Whether --set, rather than a file, gave what is at @place. */
gboolean orr_idle_is_set(OrrPlace place);

/* Warns of each idle key of @keys that the document at @place has itself: not of keys that a stack
 * or another document gives it, nor of the file's keys of a section that --set switches off. Does
 * nothing where @place has no node. */
void orr_idle_warn(const OrrIdleKey *keys, guint n, OrrPlace place, OrrDiags *diags);

/* The same of the @index-th map of the list at @list, a key of the document: what the document has
 * itself. */
void orr_idle_warn_item(const OrrIdleKey *keys, guint n, OrrPlace place, const char *list,
                        guint index, OrrDiags *diags);

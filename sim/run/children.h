/*
 * children.h - tasks in child processes, one each and several at once. A process has one
 * SimGrid engine, and a child that crashes takes nothing with it.
 */
#ifndef ORR_CHILDREN_H
#define ORR_CHILDREN_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  guint n;    /* tasks */
  guint jobs; /* children at once; 0: one per core */
  /* Does task @index in its child; returns what to send. It must not exit or print. */
  GBytes *(*work)(guint index, void *user);
  void (*progress)(guint n_done, void *user); /* may be NULL */
  void *user;
} OrrChildren;

typedef struct {
  GBytes *bytes; /* what the child sent; NULL where it did not end well */
  char *failure; /* else why: "the simulation was ended by signal 9 (Killed)" */
} OrrChildAnswer;

void orr_children_answer_free(OrrChildAnswer *answer);

/* Returns an OrrChildAnswer * for each task, in their order, which the caller owns. */
GPtrArray *orr_children_run(const OrrChildren *children);

G_END_DECLS

#endif

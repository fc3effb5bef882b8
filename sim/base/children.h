/*
 * children.h - tasks in child processes, one each and several at once. A process has one
 * SimGrid engine, and a child that crashes takes nothing with it.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  guint n;    /* tasks */
  guint jobs; /* children at once; 0: one per core */
  /* Does task @index in its child. Returns the answer; NULL with @error. It must not exit or
   * print. */
  GBytes *(*work)(guint index, void *user, GError **error);
  void (*progress)(guint n_done, void *user); /* may be NULL */
  /* Called several times per second; once it returns TRUE, running children are killed and no
   * further one is started. May be NULL. */
  gboolean (*stop)(void *user);
  void *user;
} OrrChildren;

/* One of both: the answer, or the task's error (ORR_FAULT, with the code of the child's; of a child
 * that crashed or was killed ORR_FAULT_RESOURCE, "the simulation was ended by signal 9 (Killed)").
 * Neither: `stop` came before its answer. */
typedef struct {
  GBytes *bytes;
  GError *error;
} OrrChildAnswer;

/* Returns an OrrChildAnswer * for each task, in their order, which the caller owns. */
GPtrArray *orr_children_run(const OrrChildren *children);

/* For answers of @size bytes each: writes them to @ret_answers, in the order of the tasks. FALSE
 * with the error of the first task that failed, and its index in @ret_failed (may be NULL).
 * @children has no `stop`. */
gboolean orr_children_collect(const OrrChildren *children, gsize size, void *ret_answers,
                              guint *ret_failed, GError **error);

/* pool.c: a free list for objects of one size that are created and released by the million.
 *
 * The pool owns every object that it ever made. Freeing the pool also frees objects still in use,
 * so a run that stops half-way leaks nothing. */

typedef struct OrrPool OrrPool;

/* @clear (may be NULL) frees what an object owns, when the pool is freed. */
OrrPool *orr_pool_new(gsize size, GDestroyNotify clear);
void orr_pool_free(OrrPool *pool); /* NULL is fine */
/* A new object is zeroed; a reused one keeps the content it was given back with. */
gpointer orr_pool_take(OrrPool *pool);
void orr_pool_give(OrrPool *pool, gpointer object);

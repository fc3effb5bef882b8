/*
 * pool.h - a free list for objects of one size that are created and released by the million.
 *
 * The pool owns every object that it ever made. Freeing the pool also frees objects still in use,
 * so a run that stops half-way leaks nothing.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct OrrPool OrrPool;

/* @clear (may be NULL) frees what an object owns, when the pool is freed. */
OrrPool *orr_pool_new(gsize size, GDestroyNotify clear);
void orr_pool_free(OrrPool *pool); /* NULL is fine */
/* A new object is zeroed; a reused one keeps the content it was given back with. */
gpointer orr_pool_take(OrrPool *pool);
void orr_pool_give(OrrPool *pool, gpointer object);

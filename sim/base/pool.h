/*
 * pool.h - things of one size that come and go by the million: given back, they are used again.
 *
 * The pool owns all that it ever made: what is out when it is freed is freed with it, so that a run
 * that ends in the middle leaves nothing behind.
 */
#ifndef ORR_POOL_H
#define ORR_POOL_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct OrrPool OrrPool;

OrrPool *
orr_pool_new(gsize size,
             GDestroyNotify clear); /* @clear frees what a thing owns, at the pool's end; or NULL */
void orr_pool_free(OrrPool *pool);  /* NULL is fine */
/* Zeros when it is new, else as it was given back. */
gpointer orr_pool_take(OrrPool *pool);
void orr_pool_give(OrrPool *pool, gpointer thing);

G_END_DECLS

#endif

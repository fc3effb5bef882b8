/*
 * pool.c - a list of all objects, and a stack of the free ones.
 */
#include "sim/base/children.h"

struct OrrPool {
  gsize size;
  GPtrArray *all, *spare;
  GDestroyNotify clear;
};

OrrPool *orr_pool_new(gsize size, GDestroyNotify clear) {
  OrrPool *pool = g_new(OrrPool, 1);
  *pool = (OrrPool){size, g_ptr_array_new(), g_ptr_array_new(), clear};
  return pool;
}

void orr_pool_free(OrrPool *pool) {
  if (!pool) return;
  for (guint i = 0; i < pool->all->len; i++) {
    if (pool->clear) pool->clear(pool->all->pdata[i]);
    g_free(pool->all->pdata[i]);
  }
  g_ptr_array_unref(pool->all);
  g_ptr_array_unref(pool->spare);
  g_free(pool);
}

gpointer orr_pool_take(OrrPool *pool) {
  if (pool->spare->len > 0) return g_ptr_array_steal_index_fast(pool->spare, pool->spare->len - 1);
  gpointer object = g_malloc0(pool->size);
  g_ptr_array_add(pool->all, object);
  return object;
}

void orr_pool_give(OrrPool *pool, gpointer object) { g_ptr_array_add(pool->spare, object); }

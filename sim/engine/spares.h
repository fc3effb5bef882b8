/*
 * spares.h - blocks of memory that are taken and given back at every event, kept by their number of
 * entries. malloc searches for a block of more than a kilobyte, and merges it when it is freed.
 *
 * A block that was given back holds the address of the next spare one of its number.
 */
#pragma once

#include "sim/base/ground.h"

G_BEGIN_DECLS

typedef struct {
  void **first; /* by number of entries; NULL: none */
  guint n;
} OrrSpares;

/* A block of @size_bytes, which depend on @n alone and are at least a pointer's. Its content is
 * undefined. Give it back, or pass it to g_free. */
static inline void *orr_spares_take(OrrSpares *spares, guint n, gsize size_bytes) {
  void *block = n < spares->n ? spares->first[n] : NULL;
  if (!block) return g_malloc(size_bytes);
  spares->first[n] = *(void **)block;
  return block;
}

static inline void orr_spares_give(OrrSpares *spares, guint n, void *block) {
  if (n >= spares->n) {
    spares->first = g_renew(void *, spares->first, 2 * n + 1);
    for (; spares->n <= 2 * n; spares->n++) spares->first[spares->n] = NULL;
  }
  *(void **)block = spares->first[n];
  spares->first[n] = block;
}

/* A list of pointers that grows and shrinks at every event: a GPtrArray's functions are calls into
 * a library. All zero: empty. */
typedef struct {
  gpointer *pdata;
  guint len, room;
} OrrPointers;

static inline void orr_pointers_add(OrrPointers *list, gpointer pointer) {
  if (list->len == list->room) {
    list->room = MAX(64, 2 * list->room);
    list->pdata = g_renew(gpointer, list->pdata, list->room);
  }
  list->pdata[list->len++] = pointer;
}

/* A list of numbers of the same kind, which ORR_EACH_VALUE walks. */
typedef struct {
  guint32 *data;
  guint len, room;
} OrrNumbers;

static inline void orr_numbers_add(OrrNumbers *list, guint32 number) {
  if (list->len == list->room) {
    list->room = MAX(64, 2 * list->room);
    list->data = g_renew(guint32, list->data, list->room);
  }
  list->data[list->len++] = number;
}

/* New numbers are undefined. */
static inline void orr_numbers_set_size(OrrNumbers *list, guint n) {
  if (n > list->room) {
    list->room = MAX(n, 2 * list->room);
    list->data = g_renew(guint32, list->data, list->room);
  }
  list->len = n;
}

/* Frees the spare blocks. */
static inline void orr_spares_clear(OrrSpares *spares) {
  for (guint n = 0; n < spares->n; n++)
    for (void *block; (block = spares->first[n]) != NULL; g_free(block))
      spares->first[n] = *(void **)block;
  g_free(spares->first);
}

G_END_DECLS

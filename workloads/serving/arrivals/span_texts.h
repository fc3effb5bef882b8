/*
 * span_texts.h - the prompts of a trace as few spans of long texts.
 *
 * A trace names each 512 tokens of a prompt by a number, and equal numbers mean equal tokens. Each
 * number gets a place in a text, for good; numbers that first come one after the other get places
 * one after the other. So a prompt that goes on where another ended is one span of one text, and
 * one that leaves another half-way is two.
 *
 *   hash_ids 1 2 3 4        A[0, 4)
 *            1 2 3 4 5 6    A[0, 6)
 *            1 2 3 7 8      A[0, 3) B[0, 2)
 */
#ifndef ORR_SPAN_TEXTS_H
#define ORR_SPAN_TEXTS_H

#include "workloads/serving/core/request.h"

G_BEGIN_DECLS

typedef struct OrrSpanTexts OrrSpanTexts;

OrrSpanTexts *orr_span_texts_new(gint64 span_tokens);
void orr_span_texts_free(OrrSpanTexts *texts);

/* The spans of a prompt that begins with @n numbers @ids, n >= 1; newly allocated. */
OrrSpanOfText *orr_span_texts_read(OrrSpanTexts *texts, const guint64 *ids, guint n,
                                   gint32 *ret_n_spans);

G_END_DECLS

#endif

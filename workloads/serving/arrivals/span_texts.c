/*
 * span_texts.c - a place in a text for each number of a trace.
 */
#include "workloads/serving/arrivals/arrival_file.h"

/* Of a number. A text is called by the number that is first in it. */
typedef struct {
  guint64 id, text;
  gint64 at;        /* how many numbers come before it in its text */
  gboolean is_last; /* of its text so far */
} Place;

struct OrrSpanTexts {
  gint64 span_tokens;
  GHashTable *places; /* guint64 * -> Place *; owns these */
};

OrrSpanTexts *orr_span_texts_new(gint64 span_tokens) {
  OrrSpanTexts *texts = g_new(OrrSpanTexts, 1);
  *texts =
      (OrrSpanTexts){span_tokens, g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free)};
  return texts;
}

void orr_span_texts_free(OrrSpanTexts *texts) {
  g_hash_table_unref(texts->places);
  g_free(texts);
}

static Place *place_of(const OrrSpanTexts *texts, guint64 id, Place *before) {
  Place *place = g_hash_table_lookup(texts->places, &id);
  if (place) return place;
  place = g_new(Place, 1);
  *place = (Place){id, id, 0, TRUE};
  if (before && before->is_last) {
    place->text = before->text;
    place->at = before->at + 1;
    before->is_last = FALSE;
  }
  g_hash_table_insert(texts->places, &place->id, place);
  return place;
}

OrrSpanOfText *orr_span_texts_read(OrrSpanTexts *texts, const guint64 *ids, guint n,
                                   gint32 *ret_n_spans) {
  g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(OrrSpanOfText));
  Place *before = NULL;
  for (guint i = 0; i < n; i++) {
    Place *place = place_of(texts, ids[i], before);
    const gint64 end = MIN((gint64)(i + 1) * texts->span_tokens, G_MAXINT32);
    if (before && place->text == before->text && place->at == before->at + 1) {
      g_array_index(spans, OrrSpanOfText, spans->len - 1).end = (gint32)end;
    } else {
      ORR_APPEND(spans, OrrSpanOfText,
                 {ids[i], place->text, place->at * texts->span_tokens, (gint32)end});
    }
    before = place;
  }
  *ret_n_spans = (gint32)spans->len;
  return g_memdup2(spans->data, spans->len * sizeof(OrrSpanOfText));
}

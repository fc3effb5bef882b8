/*
 * prefix_index.c - texts, and the stretches of each that replicas have.
 */
#include "workloads/serving/routers/prefix_index.h"

#include "sim/base/arrays.h"

typedef struct {
  guint replica, cores; /* that have these blocks; >= 1 */
  gint64 first, end;
} Stretch;

struct OrrPrefixIndex {
  guint n_replicas;
  GHashTable *texts; /* guint64 * -> Text *; only looked up, never iterated */
  gint64 *matches;
};

typedef struct {
  guint64 key;
  GArray *stretches; /* of Stretch, by replica and then by block; neighbours differ */
} Text;

static void free_text(gpointer data) {
  g_array_unref(((Text *)data)->stretches);
  g_free(data);
}

OrrPrefixIndex *orr_prefix_index_new(guint n_replicas) {
  OrrPrefixIndex *index = g_new(OrrPrefixIndex, 1);
  *index =
      (OrrPrefixIndex){.n_replicas = n_replicas,
                       .texts = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_text),
                       .matches = g_new0(gint64, n_replicas)};
  return index;
}

void orr_prefix_index_free(OrrPrefixIndex *index) {
  g_hash_table_unref(index->texts);
  ORR_FREE(index->matches, index);
}

static Stretch *stretch_at(const Text *text, guint i) {
  return &g_array_index(text->stretches, Stretch, i);
}

/* The first stretch that is of @replica and ends behind @block, or of a replica after it. */
static guint find(const Text *text, guint replica, gint64 block) {
  guint low = 0, high = text->stretches->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    const Stretch *stretch = stretch_at(text, middle);
    if (stretch->replica < replica || (stretch->replica == replica && stretch->end <= block))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Where a stretch of @replica has @block inside, it is two from now on. */
static void cut(const Text *text, guint replica, gint64 block) {
  const guint i = find(text, replica, block);
  if (i == text->stretches->len) return;
  Stretch *stretch = stretch_at(text, i);
  if (stretch->replica != replica || stretch->first >= block) return;
  Stretch lower = *stretch;
  stretch->first = lower.end = block;
  g_array_insert_val(text->stretches, i, lower);
}

/* Stretch @i and the one before it become one where they can. */
static void join(const Text *text, guint i) {
  if (i == 0 || i >= text->stretches->len) return;
  const Stretch *stretch = stretch_at(text, i);
  Stretch *lower = stretch_at(text, i - 1);
  if (lower->replica != stretch->replica || lower->end != stretch->first ||
      lower->cores != stretch->cores)
    return;
  lower->end = stretch->end;
  g_array_remove_index(text->stretches, i);
}

/* One core more has what no core of the replica had of [first, end), before stretch @i. */
static void add_gap(const Text *text, guint i, guint replica, gint64 first, gint64 end) {
  const Stretch stretch = {replica, 1, first, end};
  g_array_insert_val(text->stretches, i, stretch);
}

static gboolean is_of(const Text *text, guint i, guint replica, gint64 end) {
  return i < text->stretches->len && stretch_at(text, i)->replica == replica &&
         stretch_at(text, i)->first < end;
}

static void gain(const Text *text, guint replica, gint64 first, gint64 end) {
  guint i = find(text, replica, first);
  for (gint64 block = first; block < end; i++) {
    const gint64 next = is_of(text, i, replica, end) ? stretch_at(text, i)->first : end;
    if (block < next)
      add_gap(text, i, replica, block, next);
    else
      stretch_at(text, i)->cores++;
    block = stretch_at(text, i)->end;
  }
}

static void lose(const Text *text, guint replica, gint64 first, gint64 end) {
  for (guint i = find(text, replica, first); is_of(text, i, replica, end);)
    if (--stretch_at(text, i)->cores == 0)
      g_array_remove_index(text->stretches, i);
    else
      i++;
}

static Text *text_of(OrrPrefixIndex *index, guint64 key) {
  Text *text = g_hash_table_lookup(index->texts, &key);
  if (text) return text;
  text = g_new(Text, 1);
  *text = (Text){key, g_array_new(FALSE, FALSE, sizeof(Stretch))};
  g_hash_table_insert(index->texts, &text->key, text);
  return text;
}

void orr_prefix_index_change(OrrPrefixIndex *index, guint replica, const OrrTextBlocks *blocks,
                             gboolean is_there) {
  const gint64 first = blocks->first, end = blocks->first + blocks->n;
  Text *text = text_of(index, blocks->text);
  cut(text, replica, first);
  cut(text, replica, end);
  (is_there ? gain : lose)(text, replica, first, end);
  const guint lowest = find(text, replica, first - 1);
  for (guint i = find(text, replica, end); i + 1 > lowest; i--) join(text, i);
  if (text->stretches->len == 0) g_hash_table_remove(index->texts, &text->key);
}

/* Those that have all blocks before @at go on with @blocks; returns whether one has all of them. */
static gboolean go_on(OrrPrefixIndex *index, const OrrTextBlocks *blocks, gint64 at) {
  const Text *text = g_hash_table_lookup(index->texts, &blocks->text);
  const gint64 end = blocks->first + blocks->n;
  gboolean any = FALSE;
  for (guint i = 0; text && i < text->stretches->len; i++) {
    const Stretch *stretch = stretch_at(text, i);
    gint64 *match = &index->matches[stretch->replica];
    const gint64 next = blocks->first + *match - at; /* the first that it may have beyond these */
    if (*match < at || stretch->first > next || stretch->end <= next) continue;
    *match = at + MIN(stretch->end, end) - blocks->first;
    any = any || stretch->end >= end;
  }
  return any;
}

const gint64 *orr_prefix_index_match(OrrPrefixIndex *index, const OrrRequest *request, gint64 most,
                                     gint64 block_size) {
  OrrTextBlocks blocks;
  memset(index->matches, 0, index->n_replicas * sizeof(gint64));
  for (gint64 at = 0; at < most; at += blocks.n) {
    blocks = orr_request_blocks(request, at, most, block_size);
    if (!go_on(index, &blocks, at)) break;
  }
  return index->matches;
}

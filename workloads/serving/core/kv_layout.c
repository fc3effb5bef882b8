/*
 * kv_layout.c - what a sequence takes of a key-value cache: windows, states, and the rest (kv.h has
 * the formulas).
 */
#include "workloads/serving/core/kv.h"

static gboolean is_plain(const OrrKvLayout *layout) {
  return layout->window_share <= 0 && layout->state_blocks <= 0 && layout->ring_blocks <= 0;
}

/* Of each layer's part of a block. */
static double kept_tokens(const OrrKvLayout *layout, gint64 block_size, double tokens) {
  const double share = layout->window_share, room = layout->window_room;
  const double in_window = fmin(tokens, (double)(layout->window + block_size));
  if (room > 0) return (1 - share + room * share) * fmax(tokens, in_window / room);
  return (1 - share) * tokens + share * in_window;
}

/* Of a whole block, what its layers without a window take, and their fixed pool. */
static double unit_of(const OrrKvLayout *layout) {
  const double share = layout->window_share;
  return layout->is_cached && share > 0 ? 1 - share + layout->window_room * share : 1;
}

gint64 orr_kv_layout_total(const OrrKvLayout *layout, gint64 blocks) {
  return (gint64)floor((double)blocks / unit_of(layout));
}

static gint64 whole_blocks(gint64 block_size, gint64 tokens) {
  return (tokens + block_size - 1) / block_size;
}

gint64 orr_kv_layout_windows(const OrrKvLayout *layout, gint64 block_size, gint64 tokens) {
  const gint64 ring = (gint64)ceil(layout->ring_blocks / unit_of(layout));
  if (layout->window_share <= 0) return ring;
  const double kept = kept_tokens(layout, block_size, (double)tokens) / unit_of(layout);
  return ring + (gint64)ceil(fmax(kept - (double)tokens, 0) / (double)block_size);
}

gint64 orr_kv_layout_states(const OrrKvLayout *layout) {
  return (gint64)ceil(layout->state_blocks / unit_of(layout));
}

gint64 orr_kv_layout_blocks(const OrrKvLayout *layout, gint64 block_size, gint64 tokens) {
  if (tokens <= 0) return 0;
  if (is_plain(layout)) return whole_blocks(block_size, tokens);
  if (layout->is_cached)
    return whole_blocks(block_size, tokens) + orr_kv_layout_windows(layout, block_size, tokens) +
           orr_kv_layout_states(layout);
  return (gint64)ceil(layout->state_blocks + layout->ring_blocks +
                      kept_tokens(layout, block_size, (double)tokens) / (double)block_size);
}

double orr_kv_layout_tokens(const OrrKvLayout *layout, gint64 block_size, double tokens) {
  if (is_plain(layout)) return tokens;
  return (layout->state_blocks + layout->ring_blocks) * (double)block_size +
         kept_tokens(layout, block_size, tokens);
}

gint64 orr_kv_layout_room(const OrrKvLayout *layout, gint64 block_size, gint64 blocks) {
  if (is_plain(layout)) return MIN(blocks * block_size, (gint64)G_MAXINT32);
  gint64 low = 0, high = G_MAXINT32; /* blocks of low <= blocks; of high more, or no limit */
  blocks = orr_kv_layout_total(layout, blocks);
  if (orr_kv_layout_blocks(layout, block_size, high) <= blocks) return high;
  while (high - low > 1) {
    const gint64 middle = low + (high - low) / 2;
    if (orr_kv_layout_blocks(layout, block_size, middle) <= blocks)
      low = middle;
    else
      high = middle;
  }
  return low;
}

double orr_kv_layout_kept(const OrrKvLayout *layout, gint64 block_size, gint64 from, gint64 to,
                          gint64 length) {
  const double share = layout->window_share;
  const gint64 in_window = MAX(from, length - layout->window - block_size);
  if (share <= 0 || layout->window_room >= 1) return (double)(to - from);
  return (1 - share) * (double)(to - from) + share * (double)MAX(to - in_window, 0);
}

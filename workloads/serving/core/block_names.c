/*
 * block_names.c - what the blocks of a request are called in prefix caches: stretches of texts.
 *
 *   prompt    | shared: the system prompt | spans of a trace's texts | stream: the conversation,
 *             |                           |                          | or the request itself
 *   answer      stream or request, of each sample its own; of beams one text a block
 *
 * A block belongs to where its last token is.
 */
#include "sim/base/random.h"
#include "workloads/serving/core/request.h"

enum { OF_SHARED = 1, OF_SPAN, OF_STREAM, OF_REQUEST, OF_ADAPTER, OF_SAMPLE, OF_STATE, OF_WINDOW };

/* The span that token @token of the prompt is in; tokens that no span has are not asked for. */
static const OrrSpanOfText *span_at(const OrrRequest *request, gint64 token) {
  const OrrSpanOfText *low = request->spans, *high = low + request->n_spans - 1;
  while (low < high) {
    const OrrSpanOfText *middle = low + (high - low) / 2;
    if (token < middle->end)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Token @last of a text ends a block of it; blocks of one text may begin anywhere. */
static OrrTextBlocks blocks_of_span(const OrrRequest *request, gint64 block, gint64 size) {
  const gint64 last = (block + 1) * size - 1;
  const OrrSpanOfText *span = span_at(request, last);
  const gint64 begin = span == request->spans ? 0 : span[-1].end;
  const gint64 token = span->first + last - begin, end = MIN(span->end, request->prompt);
  return (OrrTextBlocks){orr_random_hash3(OF_SPAN, span->text, (guint64)(token % size)),
                         token / size, (end - 1 - last) / size + 1};
}

/* The conversation that @block is of, and in *@io_n the blocks up to where it forks, at most. */
static guint64 stream_at(const OrrRequest *request, gint64 block, gint64 size, gint64 *io_n) {
  guint64 stream = request->stream;
  for (const OrrTextFork *fork = request->fork; fork && (block + 1) * size <= fork->end;
       fork = fork->from) {
    stream = fork->stream;
    *io_n = MIN(*io_n, fork->end / size - block);
  }
  return stream;
}

/* What is not asked for is G_MAXINT32 blocks long. */
static OrrTextBlocks plain_blocks(const OrrRequest *request, gint64 block, gint64 size) {
  const gint64 end = (block + 1) * size, to_prompt = request->prompt / size - block;
  OrrTextBlocks blocks = {.first = block, .n = to_prompt > 0 ? to_prompt : G_MAXINT32};
  if (end <= request->shared_tokens) {
    blocks.text = orr_random_hash3(OF_SHARED, request->shared, 0);
    blocks.n = MIN(blocks.n, request->shared_tokens / size - block);
  } else if (request->n_spans > 0 && end <= request->prompt &&
             end <= request->spans[request->n_spans - 1].end) {
    blocks = blocks_of_span(request, block, size);
  } else if (request->stream) {
    blocks.text = orr_random_hash3(OF_STREAM, stream_at(request, block, size, &blocks.n), 0);
  } else {
    blocks.text = orr_random_hash3(OF_REQUEST, request->id, 0);
  }
  return blocks;
}

OrrTextBlocks orr_request_blocks(const OrrRequest *request, gint64 block, gint64 end,
                                 gint64 block_size) {
  const OrrBlockNaming *naming = request->naming;
  const gint64 plain = naming ? naming->plain / block_size : G_MAXINT32;
  OrrTextBlocks blocks = block < plain ? plain_blocks(request, block, block_size)
                                       : (OrrTextBlocks){naming->key(naming, request, block), 0, 1};
  if (request->adapter) blocks.text = orr_random_hash3(OF_ADAPTER, blocks.text, request->adapter);
  if (request->sample && !naming && (block + 1) * block_size > request->prompt)
    blocks.text = orr_random_hash3(OF_SAMPLE, blocks.text, request->sample);
  blocks.n = MIN(blocks.n, end - block);
  if (block < plain) blocks.n = MIN(blocks.n, plain - block);
  return blocks;
}

guint64 orr_text_blocks_key(const OrrTextBlocks *blocks, gint64 i) {
  return orr_random_hash3(blocks->text, (guint64)(blocks->first + i), 0);
}

guint64 orr_request_block_key(const OrrRequest *request, gint64 block, gint64 block_size) {
  const OrrTextBlocks blocks = orr_request_blocks(request, block, block + 1, block_size);
  return orr_text_blocks_key(&blocks, 0);
}

guint64 orr_block_names_window(guint64 text) { return orr_random_hash3(OF_WINDOW, text, 0); }

OrrTextBlocks orr_text_blocks_state(const OrrTextBlocks *blocks, gint64 i, gint64 n) {
  return (OrrTextBlocks){orr_random_hash3(OF_STATE, blocks->text, (guint64)(blocks->first + i)), 0,
                         n};
}

void orr_request_clear(OrrRequest *request) {
  g_clear_pointer(&request->table.pieces, g_free);
  g_clear_pointer(&request->state_table.pieces, g_free);
}

/*
 * kv_runs.c - runs of blocks: of a text, in the list of the free, cut and joined.
 */
#include "workloads/serving/core/kv.h"

#include "sim/base/children.h"

typedef struct Text Text;
typedef struct Run Run;

struct Run {
  Text *text; /* NULL: its blocks have no name, and are free */
  gint64 first, n;
  gint64 holders;      /* 0: free */
  Run *older, *newer;  /* among the free */
  Run *lower, *higher; /* of its text */
};

/* Exists as long as it has a run. */
struct Text {
  guint64 key;
  Text *chain; /* of its bucket */
  Run *lowest, *highest;
};

struct OrrKvRuns {
  Text **buckets;
  guint mask, n_texts;
  Run *oldest, *newest;
  OrrPool *texts, *runs; /* of Text, of Run */
};

/* --- texts --- */

static Text *find(const OrrKvRuns *runs, guint64 key) {
  Text *text = runs->buckets[key & runs->mask];
  while (text && text->key != key) text = text->chain;
  return text;
}

static void enlarge(OrrKvRuns *runs) {
  const guint n = runs->mask + 1;
  Text **old = runs->buckets;
  runs->mask = 4 * n - 1;
  runs->buckets = g_new0(Text *, 4 * n);
  for (guint i = 0; i < n; i++)
    for (Text *text = old[i], *next; text; text = next) {
      next = text->chain;
      text->chain = runs->buckets[text->key & runs->mask];
      runs->buckets[text->key & runs->mask] = text;
    }
  g_free(old);
}

static Text *add_text(OrrKvRuns *runs, guint64 key) {
  if (runs->n_texts++ > runs->mask) enlarge(runs);
  Text *text = orr_pool_take(runs->texts), **bucket = &runs->buckets[key & runs->mask];
  *text = (Text){.key = key, .chain = *bucket};
  return *bucket = text;
}

static void remove_text(OrrKvRuns *runs, Text *text) {
  Text **link = &runs->buckets[text->key & runs->mask];
  while (*link != text) link = &(*link)->chain;
  *link = text->chain;
  runs->n_texts--;
  orr_pool_give(runs->texts, text);
}

/* The first run of @text that ends behind block @block; NULL: none. */
static Run *run_at(const Text *text, gint64 block) {
  if (!text || !text->highest || block >= text->highest->first + text->highest->n) return NULL;
  if (block >= text->highest->first) return text->highest;
  Run *run = text->lowest;
  while (run->first + run->n <= block) run = run->higher;
  return run;
}

/* --- the free --- */

static void add_free(OrrKvRuns *runs, Run *run, Run *newer) {
  Run *older = newer ? newer->older : runs->newest;
  run->older = older;
  run->newer = newer;
  *(older ? &older->newer : &runs->oldest) = run;
  *(newer ? &newer->older : &runs->newest) = run;
}

static void remove_free(OrrKvRuns *runs, const Run *run) {
  *(run->older ? &run->older->newer : &runs->oldest) = run->newer;
  *(run->newer ? &run->newer->older : &runs->newest) = run->older;
}

static void add_nameless(OrrKvRuns *runs, gint64 n) {
  if (runs->newest && !runs->newest->text) {
    runs->newest->n += n;
    return;
  }
  Run *run = orr_pool_take(runs->runs);
  *run = (Run){.n = n};
  add_free(runs, run, NULL);
}

/* --- runs of a text --- */

/* Puts @run below @higher; NULL: it is the highest. */
static void link_run(Run *run, Run *higher) {
  Text *text = run->text;
  run->higher = higher;
  run->lower = higher ? higher->lower : text->highest;
  *(run->lower ? &run->lower->higher : &text->lowest) = run;
  *(higher ? &higher->lower : &text->highest) = run;
}

static void end_run(OrrKvRuns *runs, Run *run) {
  Text *text = run->text;
  if (run->holders == 0) remove_free(runs, run);
  if (text) {
    *(run->lower ? &run->lower->higher : &text->lowest) = run->higher;
    *(run->higher ? &run->higher->lower : &text->highest) = run->lower;
    if (!text->lowest) remove_text(runs, text);
  }
  orr_pool_give(runs->runs, run);
}

/* Cuts @run so that one begins at @block, which is in it; returns that one. */
static Run *cut(OrrKvRuns *runs, Run *run, gint64 block) {
  if (run->first == block) return run;
  Run *upper = orr_pool_take(runs->runs);
  *upper = (Run){
      .text = run->text, .first = block, .n = run->first + run->n - block, .holders = run->holders};
  run->n = block - run->first;
  link_run(upper, run->higher);
  if (run->holders == 0) add_free(runs, upper, run);
  return upper;
}

/* Joins @run with the one below it where they can be one; returns that it is in now. */
static Run *join(OrrKvRuns *runs, Run *run) {
  Run *lower = run->lower;
  if (!lower || lower->first + lower->n != run->first || lower->holders != run->holders ||
      (run->holders == 0 && run->newer != lower))
    return run;
  lower->n += run->n;
  end_run(runs, run);
  return lower;
}

/* --- lookups --- */

gint64 orr_kv_runs_have(const OrrKvRuns *runs, const OrrTextBlocks *blocks) {
  const Run *run = run_at(find(runs, blocks->text), blocks->first);
  if (!run || run->first > blocks->first) return 0;
  while (run->higher && run->higher->first == run->first + run->n) run = run->higher;
  return MIN(run->first + run->n - blocks->first, blocks->n);
}

gint64 orr_kv_runs_lack(const OrrKvRuns *runs, const OrrTextBlocks *blocks) {
  const Run *run = run_at(find(runs, blocks->text), blocks->first);
  return run ? CLAMP(run->first - blocks->first, 0, blocks->n) : blocks->n;
}

gint64 orr_kv_runs_unheld(const OrrKvRuns *runs, const OrrTextBlocks *blocks) {
  const gint64 end = blocks->first + blocks->n;
  gint64 unheld = 0;
  for (const Run *run = run_at(find(runs, blocks->text), blocks->first); run && run->first < end;
       run = run->higher)
    if (run->holders == 0) unheld += MIN(run->first + run->n, end) - MAX(run->first, blocks->first);
  return unheld;
}

void orr_kv_runs_each(const OrrKvRuns *runs, OrrKvSeen seen, void *user) {
  for (guint i = 0; i <= runs->mask; i++)
    for (const Text *text = runs->buckets[i]; text; text = text->chain)
      for (const Run *run = text->lowest; run; run = run->higher)
        seen(&(OrrTextBlocks){text->key, run->first, run->n}, user);
}

/* --- what changes it --- */

gint64 orr_kv_runs_take(OrrKvRuns *runs, gint64 n, OrrKvSeen seen, void *user) {
  gint64 named = 0;
  while (n > 0) {
    Run *run = runs->oldest;
    const gint64 taken = MIN(n, run->n);
    run->n -= taken;
    n -= taken;
    if (run->text) {
      named += taken;
      if (seen) seen(&(OrrTextBlocks){run->text->key, run->first + run->n, taken}, user);
    }
    if (run->n == 0) end_run(runs, run);
  }
  return named;
}

gint64 orr_kv_runs_hold(OrrKvRuns *runs, const OrrTextBlocks *blocks) {
  const gint64 end = blocks->first + blocks->n;
  gint64 freed = 0;
  Run *run = cut(runs, run_at(find(runs, blocks->text), blocks->first), blocks->first);
  for (; run && run->first < end; run = run->higher) {
    if (run->first + run->n > end) cut(runs, run, end);
    if (run->holders++ == 0) {
      remove_free(runs, run);
      freed += run->n;
    }
    run = join(runs, run);
  }
  if (run) join(runs, run);
  return freed;
}

gint64 orr_kv_runs_let_go(OrrKvRuns *runs, const OrrTextBlocks *blocks) {
  const gint64 end = blocks->first + blocks->n;
  gint64 freed = 0;
  if (!blocks->text) {
    add_nameless(runs, blocks->n);
    return blocks->n;
  }
  Run *run = run_at(find(runs, blocks->text), end - 1);
  if (run->first + run->n > end) cut(runs, run, end);
  for (; run && run->first + run->n > blocks->first; run = run->lower) {
    if (run->first < blocks->first) run = cut(runs, run, blocks->first);
    if (--run->holders == 0) {
      add_free(runs, run, NULL);
      freed += run->n;
    }
    if (run->higher) join(runs, run->higher); /* into it */
  }
  if (run && run->higher) join(runs, run->higher);
  return freed;
}

void orr_kv_runs_name(OrrKvRuns *runs, const OrrTextBlocks *blocks) {
  Text *text = find(runs, blocks->text);
  if (!text) text = add_text(runs, blocks->text);
  Run *run = orr_pool_take(runs->runs), *higher = run_at(text, blocks->first);
  *run = (Run){.text = text, .first = blocks->first, .n = blocks->n, .holders = 1};
  link_run(run, higher);
  join(runs, run);
  if (higher) join(runs, higher);
}

/* --- life --- */

OrrKvRuns *orr_kv_runs_new(gint64 n_blocks) {
  OrrKvRuns *runs = g_new0(OrrKvRuns, 1);
  runs->mask = 15;
  runs->buckets = g_new0(Text *, runs->mask + 1);
  runs->texts = orr_pool_new(sizeof(Text), NULL);
  runs->runs = orr_pool_new(sizeof(Run), NULL);
  if (n_blocks > 0) add_nameless(runs, n_blocks);
  return runs;
}

void orr_kv_runs_free(OrrKvRuns *runs) {
  if (!runs) return;
  g_free(runs->buckets);
  orr_pool_free(runs->texts);
  orr_pool_free(runs->runs);
  g_free(runs);
}

static gboolean is_in_order(const Text *text) {
  for (const Run *run = text->lowest; run; run = run->higher) {
    const Run *higher = run->higher;
    if (run->text != text || run->n <= 0 || (higher ? higher->lower : text->highest) != run)
      return FALSE;
    if (higher && run->first + run->n > higher->first) return FALSE;
  }
  return text->lowest != NULL;
}

gboolean orr_kv_runs_check(const OrrKvRuns *runs, gint64 n_free) {
  for (const Run *run = runs->oldest; run; run = run->newer) {
    if (run->holders != 0 || run->n <= 0 || run->n > n_free) return FALSE;
    n_free -= run->n;
  }
  for (guint i = 0; i <= runs->mask; i++)
    for (const Text *text = runs->buckets[i]; text; text = text->chain)
      if (!is_in_order(text)) return FALSE;
  return n_free == 0;
}

/*
 * campaign_checkpoints.c - a list per tier, oldest first, of at most `keep` finished checkpoints.
 */
#include "workloads/campaign/campaign_sim.h"

/* Progress that differs by less is the same: sums of times are rounded. */
#define NEAR_S 1e-6

typedef struct {
  double progress_s, ready_s;
} Copy;

typedef struct {
  const OrrCampaignTier *tier;
  GArray *copies; /* of Copy */
  double next_s;  /* progress at which the next one is due */
  double busy_s;  /* until when the last one is written */
} Saved;

struct OrrCampaignCheckpoints {
  Saved *saved;
  guint n;
};

OrrCampaignCheckpoints *orr_campaign_checkpoints_new(const GArray *tiers) {
  OrrCampaignCheckpoints *c = g_new0(OrrCampaignCheckpoints, 1);
  c->n = tiers->len;
  c->saved = g_new0(Saved, c->n + 1);
  for (guint i = 0; i < c->n; i++) {
    const OrrCampaignTier *tier = &g_array_index(tiers, OrrCampaignTier, i);
    c->saved[i] = (Saved){tier, g_array_new(FALSE, FALSE, sizeof(Copy)), tier->interval_s, 0};
  }
  return c;
}

void orr_campaign_checkpoints_free(OrrCampaignCheckpoints *c) {
  if (!c) return;
  for (guint i = 0; i < c->n; i++) g_array_unref(c->saved[i].copies);
  ORR_FREE(c->saved, c);
}

double orr_campaign_checkpoints_next(const OrrCampaignCheckpoints *c) {
  double next_s = INFINITY;
  for (guint i = 0; i < c->n; i++) next_s = fmin(next_s, c->saved[i].next_s);
  return next_s;
}

/* Drops the oldest finished ones beyond `keep`. */
static void trim(Saved *one, double now_s) {
  guint n_ready = 0;
  ORR_EACH(const Copy, copy, one->copies) n_ready += copy->ready_s <= now_s;
  while (n_ready-- > (guint)one->tier->keep) g_array_remove_index(one->copies, 0);
}

static double take(Saved *one, double now_s, double progress_s) {
  const double wait_s = fmax(one->busy_s - now_s, 0), stall_s = wait_s + one->tier->stall_s;
  const Copy copy = {progress_s, now_s + stall_s + one->tier->write_s};
  trim(one, now_s); /* while the last one is still being written, its predecessor is kept */
  g_array_append_val(one->copies, copy);
  one->busy_s = copy.ready_s;
  one->next_s = progress_s + one->tier->interval_s;
  return stall_s;
}

double orr_campaign_checkpoints_take(OrrCampaignCheckpoints *c, double now_s, double progress_s) {
  double stall_s = 0;
  for (guint i = 0; i < c->n; i++)
    if (c->saved[i].next_s <= progress_s + NEAR_S)
      stall_s += take(&c->saved[i], now_s + stall_s, progress_s);
  return stall_s;
}

double orr_campaign_checkpoints_take_all(OrrCampaignCheckpoints *c, double now_s,
                                         double progress_s) {
  double ready_s = now_s;
  for (guint i = 0; i < c->n; i++) {
    take(&c->saved[i], now_s, progress_s);
    ready_s = fmax(ready_s, c->saved[i].busy_s);
  }
  return ready_s - now_s;
}

static void drop(Saved *one) { g_array_set_size(one->copies, 0); }

void orr_campaign_checkpoints_fail(OrrCampaignCheckpoints *c, double now_s) {
  for (guint i = 0; i < c->n; i++) {
    GArray *copies = c->saved[i].copies;
    while (copies->len > 0 && g_array_index(copies, Copy, copies->len - 1).ready_s > now_s)
      g_array_set_size(copies, copies->len - 1);
    trim(&c->saved[i], now_s);
  }
}

void orr_campaign_checkpoints_lose(OrrCampaignCheckpoints *c, gboolean kills_host,
                                   gboolean is_rack) {
  for (guint i = 0; kills_host && i < c->n; i++) {
    const OrrCampaignTier *tier = c->saved[i].tier;
    const gboolean is_local = tier->kind == ORR_SAVED_HOST || tier->kind == ORR_SAVED_SSD;
    if (is_local || (tier->kind == ORR_SAVED_PEER && is_rack && !tier->is_far)) drop(&c->saved[i]);
  }
}

void orr_campaign_checkpoints_end(OrrCampaignCheckpoints *c) {
  for (guint i = 0; i < c->n; i++)
    if (c->saved[i].tier->kind <= ORR_SAVED_PEER) drop(&c->saved[i]);
}

OrrCampaignFound orr_campaign_checkpoints_find(OrrCampaignCheckpoints *c, double most_s) {
  OrrCampaignFound best = {0, 0};
  for (guint i = 0; i < c->n; i++) {
    const Saved *one = &c->saved[i];
    GArray *copies = one->copies;
    while (copies->len > 0 &&
           g_array_index(copies, Copy, copies->len - 1).progress_s > most_s + NEAR_S)
      g_array_set_size(copies, copies->len - 1);
    if (copies->len == 0) continue;
    const double progress_s = g_array_index(copies, Copy, copies->len - 1).progress_s,
                 load_s = one->tier->load_s;
    const gboolean is_same = fabs(progress_s - best.progress_s) <= NEAR_S;
    if (progress_s > best.progress_s + NEAR_S || (is_same && load_s < best.load_s))
      best = (OrrCampaignFound){progress_s, load_s};
  }
  return best;
}

void orr_campaign_checkpoints_resume(OrrCampaignCheckpoints *c, double progress_s) {
  for (guint i = 0; i < c->n; i++) {
    Saved *one = &c->saved[i];
    one->busy_s = 0;
    one->next_s = progress_s + one->tier->interval_s;
  }
}

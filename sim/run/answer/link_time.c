/*
 * link_time.c - picks the busiest links, then spreads each communication's bytes over the bins that
 * it overlaps.
 *
 * A communication that was left out n times (orr_program_repeat) carried by time t, with s its
 * start, e its end, d the period and k = floor((t - s) / d):  bytes * (min(k, n + 1) + the fraction
 * of the k-th one by t), so n more cost no more than one.
 */
#include "sim/run/answer/answer_private.h"

typedef struct {
  const OrrProgram *program;
  double end_s;
  OrrRepetition repeated;
  guint n_links;
  guint32 links[ORR_LINK_TIME_LINKS];                    /* the busiest first */
  double bytes[ORR_LINK_TIME_LINKS][ORR_LINK_TIME_BINS]; /* carried */
} Tally;

static double utilization(const OrrReplayed *replayed, guint32 link) {
  return replayed->link_bytes[link] / orr_program_link_bandwidth(replayed->work->program, link);
}

/* Busiest first; equal links by number. */
static void choose_links(Tally *tally, const OrrReplayed *replayed) {
  for (guint32 link = 0; link < orr_program_n_links(tally->program); link++) {
    if (orr_program_link_stands_for(tally->program, link) == 0 || replayed->link_bytes[link] <= 0)
      continue;
    guint at = tally->n_links;
    while (at > 0 && utilization(replayed, link) > utilization(replayed, tally->links[at - 1]))
      at--;
    if (at == ORR_LINK_TIME_LINKS) continue;
    if (tally->n_links < ORR_LINK_TIME_LINKS) tally->n_links++;
    for (guint i = tally->n_links - 1; i > at; i--) tally->links[i] = tally->links[i - 1];
    tally->links[at] = link;
  }
}

static void spread(Tally *tally, guint which, double bytes, double begin_s, double end_s) {
  const double bin_s = tally->end_s / ORR_LINK_TIME_BINS;
  const guint first = MIN((guint)(begin_s / bin_s), ORR_LINK_TIME_BINS - 1);
  const guint last = MIN((guint)(end_s / bin_s), ORR_LINK_TIME_BINS - 1);
  for (guint bin = first; bin <= last; bin++) {
    const double shared_s = fmin(end_s, (bin + 1) * bin_s) - fmax(begin_s, bin * bin_s);
    tally->bytes[which][bin] += end_s > begin_s ? bytes * fmax(shared_s, 0) / (end_s - begin_s)
                                                : bytes / (last - first + 1);
  }
}

/* How many times @span and its repetitions have happened by @at_s. */
static double times_by(const OrrRepetition *repeated, const OrrSpan *span, double at_s) {
  const double period_s = repeated->to_s - repeated->from_s, took_s = span->end_s - span->started_s;
  const double whole = floor((at_s - span->started_s) / period_s);
  if (whole < 0) return 0;
  if (whole > repeated->times) return 1.0 + repeated->times;
  const double since_s = at_s - span->started_s - whole * period_s;
  return whole + (since_s < took_s ? since_s / took_s : 1);
}

static void spread_repeated(Tally *tally, guint which, double bytes, const OrrSpan *span) {
  const double bin_s = tally->end_s / ORR_LINK_TIME_BINS;
  double before = 0;
  for (guint bin = 0; bin < ORR_LINK_TIME_BINS; bin++) {
    const gboolean is_last = bin + 1 == ORR_LINK_TIME_BINS;
    const double by_now = times_by(&tally->repeated, span, is_last ? INFINITY : (bin + 1) * bin_s);
    tally->bytes[which][bin] += bytes * (by_now - before);
    before = by_now;
  }
}

static gboolean is_repeated(const OrrRepetition *repeated, const OrrSpan *span) {
  return repeated->times > 0 && span->end_s > repeated->from_s && span->end_s <= repeated->to_s;
}

static void add_comm(Tally *tally, const OrrSpan *span) {
  guint n_phases = 0, n_uses = 0;
  const OrrPhase *phases = orr_program_phases(tally->program, span->comm, &n_phases);
  for (guint p = 0; p < n_phases; p++) {
    if (phases[p].path == ORR_NO_PATH || phases[p].bytes <= 0) continue;
    const OrrLinkUse *uses = orr_program_path_uses(tally->program, phases[p].path, &n_uses);
    for (guint u = 0; u < n_uses; u++)
      for (guint i = 0; i < tally->n_links; i++)
        if (uses[u].link == tally->links[i] && is_repeated(&tally->repeated, span))
          spread_repeated(tally, i, phases[p].bytes * uses[u].weight, span);
        else if (uses[u].link == tally->links[i])
          spread(tally, i, phases[p].bytes * uses[u].weight, span->started_s, span->end_s);
  }
}

static void add_rows(const Tally *tally, OrrOutcome *outcome) {
  const double bin_s = tally->end_s / ORR_LINK_TIME_BINS;
  for (guint i = 0; i < tally->n_links; i++)
    for (guint bin = 0; bin < ORR_LINK_TIME_BINS; bin++)
      ORR_APPEND(
          outcome->link_times, OrrLinkTimeRow,
          {
              .link =
                  (char *)g_intern_string(orr_program_link_name(tally->program, tally->links[i])),
              .begin_s = bin * bin_s,
              .end_s = (bin + 1) * bin_s,
              .bytes = tally->bytes[i][bin],
              .utilization = tally->bytes[i][bin] /
                             (orr_program_link_bandwidth(tally->program, tally->links[i]) * bin_s),
          });
}

void orr_link_time_add(const OrrReplayed *replayed, OrrOutcome *outcome) {
  if (!replayed->spans || replayed->replay.end_s <= 0) return;
  g_autofree Tally *tally = g_new0(Tally, 1);
  tally->program = replayed->work->program;
  tally->end_s = replayed->replay.end_s;
  tally->repeated = orr_ledger_repetition(replayed->ledger);
  choose_links(tally, replayed);
  g_autofree gboolean *seen = g_new0(gboolean, orr_program_n_comms(tally->program) + 1);
  ORR_EACH(const OrrSpan, span, replayed->spans) { /* each of its members has a span: count one */
    if (span->comm == G_MAXUINT32 || seen[span->comm]) continue;
    seen[span->comm] = orr_program_comm_members(tally->program, span->comm) > 1;
    add_comm(tally, span);
  }
  add_rows(tally, outcome);
}

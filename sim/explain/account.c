/*
 * account.c - sweeps over the events of a step three times: computing kernels, then collectives in
 * what these leave, then copies in what both leave.
 */
#include "sim/explain/explain.h"

typedef struct {
  double from_s, to_s;
} Interval;

typedef enum { COMPUTE, COMM, COPIES, N_PASSES } Pass;

static Pass pass_of(OrrExplainKind kind) {
  return kind == ORR_EXPLAIN_COMM ? COMM : kind == ORR_EXPLAIN_COPIES ? COPIES : COMPUTE;
}

static void cover(GArray *union_of, double from_s, double to_s) {
  if (to_s <= from_s) return;
  Interval *last = union_of->len > 0 ? &g_array_index(union_of, Interval, union_of->len - 1) : NULL;
  if (last && from_s <= last->to_s) {
    last->to_s = fmax(last->to_s, to_s);
  } else {
    ORR_APPEND(union_of, Interval, {from_s, to_s});
  }
}

/* The time of [from, to) that @covered leaves. @at moves on with from, which never falls. */
static double left_over(const GArray *covered, guint *at, double from_s, double to_s) {
  double left_s = 0;
  while (*at < covered->len && g_array_index(covered, Interval, *at).to_s <= from_s) (*at)++;
  for (guint i = *at; from_s < to_s; i++) {
    const Interval next =
        i < covered->len ? g_array_index(covered, Interval, i) : (Interval){INFINITY, INFINITY};
    left_s += fmax(fmin(next.from_s, to_s) - from_s, 0);
    from_s = fmax(from_s, next.to_s);
  }
  return left_s;
}

ORR_LEAST_FIRST(by_from, Interval, from_s)

/* @covered becomes the union of itself and @more. */
static void unite(GArray *covered, const GArray *more) {
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Interval));
  g_array_append_vals(all, covered->data, covered->len);
  g_array_append_vals(all, more->data, more->len);
  g_array_sort(all, by_from);
  g_array_set_size(covered, 0);
  for (guint i = 0; i < all->len; i++)
    cover(covered, g_array_index(all, Interval, i).from_s, g_array_index(all, Interval, i).to_s);
}

static OrrAccountPart *part_of(OrrAccount *account, const OrrTimelineName *name) {
  ORR_EACH(OrrAccountPart, part, account->parts)
    if (part->family == name->family && part->purpose == name->purpose) return part;
  ORR_APPEND(account->parts, OrrAccountPart, {.family = name->family, .purpose = name->purpose});
  return &g_array_index(account->parts, OrrAccountPart, account->parts->len - 1);
}

static void count(OrrAccount *account, const OrrTimeline *timeline, const OrrTimelineEvent *event,
                  double seconds) {
  const OrrTimelineName *name = &g_array_index(timeline->names, OrrTimelineName, event->name);
  OrrAccountPart *part = part_of(account, name);
  double *of_name = &g_array_index(account->name_s, double, event->name);
  const gboolean begins_here = event->begin_s >= account->begin_s;
  part->calls += begins_here;
  part->seconds += seconds;
  part->bytes += begins_here ? name->bytes : 0;
  *of_name += seconds;
  if (*of_name > part->most_s) {
    part->most_s = *of_name;
    part->most = event->name;
  }
}

static void sweep(OrrAccount *account, const OrrTimeline *timeline, gint64 device, Pass pass,
                  GArray *covered) {
  g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(Interval));
  double until_s = account->begin_s;
  guint at = 0;
  ORR_EACH(const OrrTimelineEvent, event, timeline->events) {
    if (event->begin_s >= account->end_s) break;
    const OrrExplainKind kind =
        g_array_index(timeline->names, OrrTimelineName, event->name).family->kind;
    if (event->device != device || pass_of(kind) != pass || event->end_s < account->begin_s)
      continue;
    const double from_s = fmax(event->begin_s, account->begin_s),
                 to_s = fmin(event->end_s, account->end_s);
    count(account, timeline, event, to_s - from_s);
    account->seconds[kind] += left_over(covered, &at, fmax(from_s, until_s), to_s);
    until_s = fmax(until_s, to_s);
    cover(own, from_s, to_s);
  }
  for (guint i = 0; pass == COMM && i < own->len; i++)
    account->comm_s +=
        g_array_index(own, Interval, i).to_s - g_array_index(own, Interval, i).from_s;
  unite(covered, own);
}

ORR_MOST_FIRST(by_seconds, OrrAccountPart, seconds)

OrrAccount *orr_account_new(const OrrTimeline *timeline, gint64 device, double begin_s,
                            double end_s) {
  OrrAccount *account = g_new0(OrrAccount, 1);
  g_autoptr(GArray) covered = g_array_new(FALSE, FALSE, sizeof(Interval));
  account->parts = g_array_new(FALSE, FALSE, sizeof(OrrAccountPart));
  account->name_s = g_array_new(FALSE, TRUE, sizeof(double));
  g_array_set_size(account->name_s, timeline->names->len);
  account->begin_s = begin_s;
  account->end_s = end_s;
  for (int pass = 0; pass < N_PASSES; pass++) sweep(account, timeline, device, (Pass)pass, covered);
  double busy_s = 0;
  for (guint i = 0; i < covered->len; i++)
    busy_s += g_array_index(covered, Interval, i).to_s - g_array_index(covered, Interval, i).from_s;
  account->seconds[ORR_EXPLAIN_IDLE] = fmax(end_s - begin_s - busy_s, 0);
  account->overlapped_s = -busy_s;
  ORR_EACH(const OrrAccountPart, part, account->parts) account->overlapped_s += part->seconds;
  g_array_sort(account->parts, by_seconds);
  return account;
}

void orr_account_free(OrrAccount *account) {
  if (!account) return;
  g_array_unref(account->parts);
  g_array_unref(account->name_s);
  g_free(account);
}

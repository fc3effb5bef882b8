/*
 * distance.c - the terms of the distance and their weights.
 */
#include "sim/bands/band_private.h"

typedef enum { TEXT, SIZE, FRACTION, FULL, YEARS } TermKind;

typedef struct {
  TermKind kind;
  size_t offset;
  double weight;
} Term;

/* Searched for, but for scale_up (the search gave 0.2; eight GPUs on NVLink and none on it, three
 * octaves, must not look alike), transport (few rows do not go over InfiniBand) and a full cache:
 * requests then wait for its blocks, not for the engine, which a few rows measured (times to the
 * first token 2 to 6 times as long as simulated) and most did not. */
#define TERM(kind_, member_, weight_)                                                              \
  { kind_, offsetof(OrrLikenessRow, member_), weight_ }

static const Term terms[] = {
    TERM(TEXT, stack, 0.7),
    TERM(TEXT, device, 0.5),
    TERM(TEXT, architecture, 0.2),
    TERM(TEXT, family, 0.9),
    TERM(TEXT, format, 4),
    TERM(TEXT, form, 0.5),
    TERM(TEXT, method, 0.3),
    TERM(TEXT, model, 0.3),
    TERM(TEXT, cluster, 1),
    TERM(TEXT, bound, 2),
    TERM(TEXT, recompute, 0.05),
    TERM(TEXT, sharding, 1),
    TERM(TEXT, transport, 0.3),
    TERM(SIZE, scale_up, 1),
    TERM(SIZE, gpus, 0.4),
    TERM(SIZE, nodes, 0.8),
    TERM(SIZE, tp, 0.06),
    TERM(SIZE, pp, 0.04),
    TERM(SIZE, cp, 0.3),
    TERM(SIZE, ep, 0.7),
    TERM(SIZE, batch, 0.07),
    TERM(SIZE, micro, 0.1),
    TERM(SIZE, input, 0.07),
    TERM(SIZE, output, 0.07),
    TERM(SIZE, size, 0.3),
    TERM(SIZE, parameters, 0.2),
    TERM(FRACTION, gemm, 1),
    TERM(FRACTION, attention, 1),
    TERM(FRACTION, experts, 2),
    TERM(FRACTION, memory, 2),
    TERM(FRACTION, comm, 1),
    TERM(FRACTION, host, 3),
    TERM(FRACTION, bubble, 2),
    TERM(FRACTION, waiting, 1),
    TERM(FRACTION, cache, 1),
    TERM(FULL, cache, 4),
    TERM(FRACTION, measured, 0.08),
    TERM(FRACTION, interpolated, 0.5),
    TERM(FRACTION, carried, 0.4),
    TERM(FRACTION, modelled, 0.8),
    TERM(FRACTION, outside, 2),
    TERM(YEARS, release, 0.3),
};
G_STATIC_ASSERT(G_N_ELEMENTS(terms) <= ORR_DISTANCE_TERMS);
#define ALL_TERMS ((G_GUINT64_CONSTANT(1) << G_N_ELEMENTS(terms)) - 1)

/* The error of watts depends on: the board, what keeps it busy, and the data. The same kernels draw
 * the same whichever engine, network or layout they run under. */
static const size_t watts_members[] = {
    offsetof(OrrLikenessRow, device),     offsetof(OrrLikenessRow, architecture),
    offsetof(OrrLikenessRow, bound),      offsetof(OrrLikenessRow, model),
    offsetof(OrrLikenessRow, parameters), offsetof(OrrLikenessRow, batch),
    offsetof(OrrLikenessRow, input),      offsetof(OrrLikenessRow, gemm),
    offsetof(OrrLikenessRow, attention),  offsetof(OrrLikenessRow, experts),
    offsetof(OrrLikenessRow, memory),     offsetof(OrrLikenessRow, comm),
    offsetof(OrrLikenessRow, host),       offsetof(OrrLikenessRow, bubble)};

/* Of each extra; too few rows have any for a search to find it. */
#define EXTRA_WEIGHT 2.0
#define OCTAVES_IF_ABSENT 3.0
#define YEARS_IF_ABSENT 1.0

/* From this fraction on a cache counts as full. */
#define FULL_CACHE 0.95

static gboolean is_of_watts(const Term *term) {
  gboolean is = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(watts_members); i++) is |= watts_members[i] == term->offset;
  return is;
}

OrrDistancePoint orr_distance_point_for(const OrrLikenessRow *row, OrrQuantity quantity) {
  OrrDistancePoint point = orr_distance_point(row);
  for (guint i = 0; i < G_N_ELEMENTS(terms) && quantity == ORR_QUANTITY_POWER; i++)
    if (!is_of_watts(&terms[i])) point.terms &= ~(G_GUINT64_CONSTANT(1) << i);
  return point;
}

OrrDistancePoint orr_distance_point(const OrrLikenessRow *row) {
  OrrDistancePoint point = {.extras = orr_extras_bits(row->extras), .terms = ALL_TERMS};
  point.unlike = orr_extras_unlike(point.extras);
  for (guint i = 0; i < G_N_ELEMENTS(terms); i++) {
    const void *member = (const char *)row + terms[i].offset;
    if (terms[i].kind == TEXT) {
      point.texts[i] = *(char *const *)member;
      continue;
    }
    const double value = *(const double *)member;
    point.numbers[i] = terms[i].kind == SIZE && value > 0          ? log2(value)
                       : terms[i].kind == FRACTION && isnan(value) ? 0
                       : terms[i].kind == FULL                     ? value >= FULL_CACHE
                                                                   : value;
  }
  return point;
}

/* Texts are interned, so equal texts are equal pointers. */
static double text_distance(const char *a, const char *b) { return a == b ? 0 : 1; }

static double number_distance(TermKind kind, double a, double b) {
  if (isnan(a) && isnan(b)) return 0;
  if (isnan(a) || isnan(b)) return kind == YEARS ? YEARS_IF_ABSENT : OCTAVES_IF_ABSENT;
  return fabs(a - b);
}

static double extras_distance(guint32 a, guint32 b) {
  return EXTRA_WEIGHT * __builtin_popcount(a ^ b);
}

/* The lowest bit of @bits, which has one. */
static guint first_of(guint64 bits) { return (guint)__builtin_ctzll(bits); }

static gboolean is_same(const OrrDistancePoint *a, const OrrDistancePoint *b, guint i) {
  return terms[i].kind == TEXT ? a->texts[i] == b->texts[i]
                               : number_distance(terms[i].kind, a->numbers[i], b->numbers[i]) == 0;
}

guint64 orr_distance_shared(const OrrDistancePoint *points, guint n) {
  guint64 shared = n > 0 ? ALL_TERMS : 0;
  for (guint r = 1; r < n; r++)
    for (guint64 left = shared; left; left &= left - 1)
      if (!is_same(&points[r - 1], &points[r], first_of(left))) shared &= ~(left & -left);
  return shared;
}

void orr_distance_skip_shared(OrrDistancePoint *asked, const OrrDistancePoint *point,
                              guint64 shared) {
  for (; shared; shared &= shared - 1)
    if (is_same(asked, point, first_of(shared))) asked->terms &= ~(shared & -shared);
}

double orr_distance_within(const OrrDistancePoint *a, const OrrDistancePoint *b, double limit) {
  guint64 both = a->terms & b->terms; /* those left to add */
  double sum = extras_distance(a->unlike, b->unlike);
  for (; both && terms[first_of(both)].kind == TEXT; both &= both - 1) /* texts come first */
    if (a->texts[first_of(both)] != b->texts[first_of(both)]) sum += terms[first_of(both)].weight;
  for (; both && sum <= limit; both &= both - 1) {
    const guint i = first_of(both);
    const double apart = fabs(a->numbers[i] - b->numbers[i]); /* NAN: one of them is absent */
    sum += terms[i].weight *
           (isnan(apart) ? number_distance(terms[i].kind, a->numbers[i], b->numbers[i]) : apart);
  }
  return sum > limit ? INFINITY : sum;
}

double orr_distance(const OrrDistancePoint *a, const OrrDistancePoint *b) {
  return orr_distance_within(a, b, INFINITY);
}

double orr_distance_of_changes(const OrrDistancePoint *a, const OrrDistancePoint *b,
                               const OrrDistancePoint *c, const OrrDistancePoint *d) {
  double sum = extras_distance(a->unlike ^ b->unlike, c->unlike ^ d->unlike);
  for (guint i = 0; i < G_N_ELEMENTS(terms); i++) {
    const TermKind kind = terms[i].kind;
    if (kind == TEXT)
      sum += terms[i].weight * fabs(text_distance(a->texts[i], b->texts[i]) -
                                    text_distance(c->texts[i], d->texts[i]));
    else {
      const double ab = a->numbers[i] - b->numbers[i], cd = c->numbers[i] - d->numbers[i];
      sum += terms[i].weight * number_distance(kind, ab, cd);
    }
  }
  return sum;
}

double orr_distance_of_quantities(OrrQuantity asked, OrrQuantity measured) {
  static const struct {
    OrrQuantity a, b;
    double distance;
  } related[] = {{ORR_QUANTITY_TOKEN, ORR_QUANTITY_SERVED, 1},
                 {ORR_QUANTITY_TOKEN, ORR_QUANTITY_REQUEST, 0.7},
                 {ORR_QUANTITY_SERVED, ORR_QUANTITY_REQUEST, 1}};
  if (asked == measured) return 0;
  /* energy is power times time, so times speak for it from afar; it does not speak for times */
  if (asked == ORR_QUANTITY_ENERGY && measured == ORR_QUANTITY_TOKEN) return 4;
  for (guint i = 0; i < G_N_ELEMENTS(related); i++)
    if ((related[i].a == asked && related[i].b == measured) ||
        (related[i].b == asked && related[i].a == measured))
      return related[i].distance;
  return INFINITY;
}

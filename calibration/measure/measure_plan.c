/*
 * measure_plan.c - keeps the candidates of a session and picks the next one.
 *
 * Candidates are stored slice by slice in one array. A slice caches its best candidate until one of
 * its points is marked, and each candidate its nearest measured points, so a step costs one
 * distance for each shape of a slice.
 */
#include "calibration/measure/measure_session.h"

enum { NEIGHBOURS = 6 };

typedef enum { OPEN, MEASURED, DROPPED } State;

/* The nearest measured candidates of a slice, nearest first. */
typedef struct {
  guint n, at[NEIGHBOURS];
  double d2[NEIGHBOURS];
} Near;

typedef struct {
  OrrShape shape;
  double x
      /* position: log2 of each interpolated number, scaled to [0, 1] within the slice */
      [ORR_SHAPE_COLUMNS];
  double roofline_s, residual; /* log(time / roofline), once measured */
  double disagreement;         /* e of measure_session.h, once measured */
  State state;
  Near near; /* without itself */
} Candidate;

typedef struct {
  guint begin, end;
  guint n_axes, n_measured;
  gboolean is_fresh; /* @best and @score are up to date */
  gint64 best;
  double score;
} Slice;

struct OrrMeasurePlan {
  const OrrBenchFacts *facts;
  double longest_s;
  GArray *candidates; /* of Candidate */
  GArray *slices;     /* of Slice */
  GHashTable *places; /* of OrrShape * (in candidates' copies): index + 1 */
};

static guint shape_hash(gconstpointer key) {
  const OrrShape *shape = key;
  guint64 hash = (guint64)(gsize)shape->family;
  for (guint c = 0; c < ORR_SHAPE_COLUMNS; c++)
    hash = (hash ^ (guint64)shape->at[c]) * G_GUINT64_CONSTANT(1099511628211);
  return (guint)(hash ^ hash >> 32);
}

static gboolean shape_equal(gconstpointer a, gconstpointer b) {
  const OrrShape *x = a, *y = b;
  return x->family == y->family && memcmp(x->at, y->at, sizeof x->at) == 0;
}

OrrMeasurePlan *orr_measure_plan_new(const OrrBenchFacts *facts, double longest_s) {
  OrrMeasurePlan *plan = g_new0(OrrMeasurePlan, 1);
  plan->facts = facts;
  plan->longest_s = longest_s;
  plan->candidates = g_array_new(FALSE, TRUE, sizeof(Candidate));
  plan->slices = g_array_new(FALSE, TRUE, sizeof(Slice));
  plan->places = g_hash_table_new_full(shape_hash, shape_equal, g_free, NULL);
  return plan;
}

void orr_measure_plan_free(OrrMeasurePlan *plan) {
  if (!plan) return;
  g_array_unref(plan->candidates);
  g_array_unref(plan->slices);
  g_hash_table_unref(plan->places);
  g_free(plan);
}

static Candidate *candidate_at(const OrrMeasurePlan *plan, guint index) {
  return &g_array_index(plan->candidates, Candidate, index);
}

/* --- Filling it --- */

static gboolean is_axis(const OrrShapeColumn *column) {
  return !column->words && !column->is_slice;
}

static gboolean same_slice(const OrrShape *a, const OrrShape *b) {
  for (guint c = 0; a->family->columns[c].name; c++)
    if (!is_axis(&a->family->columns[c]) && a->at[c] != b->at[c]) return FALSE;
  return a->family == b->family;
}

static void scale_axis(OrrMeasurePlan *plan, const Slice *slice, guint column, guint axis) {
  double low = INFINITY, high = -INFINITY;
  for (guint i = slice->begin; i < slice->end; i++) {
    const double x = log2(1.0 + candidate_at(plan, i)->shape.at[column]);
    low = fmin(low, x);
    high = fmax(high, x);
  }
  for (guint i = slice->begin; i < slice->end; i++) {
    Candidate *candidate = candidate_at(plan, i);
    candidate->x[axis] =
        high > low ? (log2(1.0 + candidate->shape.at[column]) - low) / (high - low) : 0;
  }
}

static void add_slice(OrrMeasurePlan *plan, guint begin, guint end) {
  Slice slice = {.begin = begin, .end = end};
  const OrrShapeColumn *columns = candidate_at(plan, begin)->shape.family->columns;
  for (guint c = 0; columns[c].name; c++)
    if (is_axis(&columns[c])) scale_axis(plan, &slice, c, slice.n_axes++);
  g_array_append_val(plan->slices, slice);
}

static void add_candidate(OrrMeasurePlan *plan, const OrrShape *shape) {
  const OrrShapeWork work = shape->family->work(shape, plan->facts);
  Candidate candidate = {.shape = *shape, .roofline_s = orr_family_roofline(shape, plan->facts)};
  if (candidate.roofline_s > plan->longest_s || work.bytes > 0.8 * plan->facts->memory_bytes ||
      g_hash_table_contains(plan->places, shape))
    return;
  g_array_append_val(plan->candidates, candidate);
  g_hash_table_insert(plan->places, g_memdup2(shape, sizeof *shape),
                      GUINT_TO_POINTER(plan->candidates->len));
}

/* Adds the shapes of a family's plan, grouped by slice, in the order of each slice's first
 * shape. */
void orr_measure_plan_add(OrrMeasurePlan *plan, const OrrMeasureFamily *family) {
  g_autoptr(GArray) shapes = g_array_new(FALSE, FALSE, sizeof(OrrShape));
  family->plan(family, plan->facts, shapes);
  g_autofree gboolean *is_taken = g_new0(gboolean, shapes->len + 1);
  for (guint first = 0; first < shapes->len; first++) {
    if (is_taken[first]) continue;
    const guint begin = plan->candidates->len;
    for (guint i = first; i < shapes->len; i++) {
      if (is_taken[i] ||
          !same_slice(&g_array_index(shapes, OrrShape, first), &g_array_index(shapes, OrrShape, i)))
        continue;
      is_taken[i] = TRUE;
      add_candidate(plan, &g_array_index(shapes, OrrShape, i));
    }
    if (plan->candidates->len > begin) add_slice(plan, begin, plan->candidates->len);
  }
}

/* --- What is known --- */

static double distance2(const Candidate *a, const Candidate *b, guint n_axes) {
  double sum = 0;
  for (guint i = 0; i < n_axes; i++) sum += (a->x[i] - b->x[i]) * (a->x[i] - b->x[i]);
  return sum;
}

/* @index was measured: it may be among the nearest of @candidate. Of two as near, the first comes
 * first. */
static void meet(const OrrMeasurePlan *plan, Candidate *candidate, guint index, guint n_axes) {
  Near *near = &candidate->near;
  const double d2 = distance2(candidate, candidate_at(plan, index), n_axes);
  guint at = near->n < NEIGHBOURS ? near->n++ : NEIGHBOURS;
  for (; at > 0; at--) {
    if (near->d2[at - 1] < d2 || (near->d2[at - 1] == d2 && near->at[at - 1] < index)) break;
    if (at < NEIGHBOURS) near->at[at] = near->at[at - 1], near->d2[at] = near->d2[at - 1];
  }
  if (at < NEIGHBOURS) near->at[at] = index, near->d2[at] = d2;
}

static void meet_all(const OrrMeasurePlan *plan, const Slice *slice, guint index) {
  for (guint i = slice->begin; i < slice->end; i++)
    if (i != index) meet(plan, candidate_at(plan, i), index, slice->n_axes);
}

/* The neighbours' mean of what @offset points to, weighted by 1/d^2. */
static double blend(const OrrMeasurePlan *plan, const Near *near, size_t offset) {
  double sum = 0, weights = 0;
  for (guint i = 0; i < near->n; i++) {
    const double weight = 1 / fmax(near->d2[i], 1e-9);
    sum += weight * G_STRUCT_MEMBER(double, candidate_at(plan, near->at[i]), offset);
    weights += weight;
  }
  return near->n ? sum / weights : NAN;
}

static void leave_each_out(const OrrMeasurePlan *plan, const Slice *slice) {
  for (guint i = slice->begin; i < slice->end; i++) {
    Candidate *candidate = candidate_at(plan, i);
    if (candidate->state != MEASURED) continue;
    candidate->disagreement =
        fabs(blend(plan, &candidate->near, offsetof(Candidate, residual)) - candidate->residual);
  }
}

static Slice *slice_of(const OrrMeasurePlan *plan, guint candidate) {
  guint low = 0, high = plan->slices->len;
  while (high - low > 1) {
    const guint middle = (low + high) / 2;
    if (g_array_index(plan->slices, Slice, middle).begin <= candidate)
      low = middle;
    else
      high = middle;
  }
  return &g_array_index(plan->slices, Slice, low);
}

static Candidate *touch(OrrMeasurePlan *plan, const OrrShape *shape, Slice **ret_slice) {
  const guint place = GPOINTER_TO_UINT(g_hash_table_lookup(plan->places, shape));
  if (!place) return NULL;
  *ret_slice = slice_of(plan, place - 1);
  (*ret_slice)->is_fresh = FALSE;
  return candidate_at(plan, place - 1);
}

gboolean orr_measure_plan_mark(OrrMeasurePlan *plan, const OrrShape *shape, double us) {
  Slice *slice = NULL;
  Candidate *candidate = touch(plan, shape, &slice);
  if (!candidate) return FALSE;
  if (candidate->state != MEASURED) {
    slice->n_measured++;
    meet_all(plan, slice, (guint)(candidate - candidate_at(plan, 0)));
  }
  candidate->state = MEASURED;
  candidate->residual = log(us * 1e-6 / candidate->roofline_s);
  return TRUE;
}

void orr_measure_plan_drop(OrrMeasurePlan *plan, const OrrShape *shape) {
  Slice *slice = NULL;
  Candidate *candidate = touch(plan, shape, &slice);
  if (candidate && candidate->state == OPEN) candidate->state = DROPPED;
}

/* --- What is next --- */

/* The distance from all measured points; the first seed of a slice is the point nearest to its
 * middle. */
static double seed_score(const OrrMeasurePlan *plan, const Slice *slice, guint index) {
  const Candidate *candidate = candidate_at(plan, index);
  if (candidate->near.n) return candidate->near.d2[0];
  double d2 = 0;
  for (guint i = 0; i < slice->n_axes; i++) d2 += (candidate->x[i] - 0.5) * (candidate->x[i] - 0.5);
  return -d2;
}

static double fit_score(const OrrMeasurePlan *plan, guint index) {
  const Near *near = &candidate_at(plan, index)->near;
  return blend(plan, near, offsetof(Candidate, disagreement)) * sqrt(near->d2[0]);
}

static guint n_seeds(const Slice *slice) { return 2 * slice->n_axes + 1; }

static gboolean is_seeding(const Slice *slice) { return slice->n_measured < n_seeds(slice); }

static void refresh(OrrMeasurePlan *plan, Slice *slice) {
  const gboolean seeding = is_seeding(slice);
  slice->is_fresh = TRUE;
  slice->best = -1;
  slice->score = -INFINITY;
  if (!seeding) leave_each_out(plan, slice);
  for (guint i = slice->begin; i < slice->end; i++) {
    if (candidate_at(plan, i)->state != OPEN) continue;
    const double score = seeding ? seed_score(plan, slice, i) : fit_score(plan, i);
    if (slice->best < 0 || score > slice->score) slice->best = i, slice->score = score;
  }
}

static const OrrMeasureFamily *family_of(const OrrMeasurePlan *plan, const Slice *slice) {
  return candidate_at(plan, slice->begin)->shape.family;
}

/* The number of seeds that the slice's family has taken so far, over all its slices. */
static guint seeds_of_family(const OrrMeasurePlan *plan, const Slice *slice) {
  guint n = 0;
  ORR_EACH(const Slice, other, plan->slices)
    if (family_of(plan, other) == family_of(plan, slice))
      n += MIN(other->n_measured, n_seeds(other));
  return n;
}

/* Whether @slice comes before @best: a seed comes before a refinement; among seeds, the family
 * with the fewest and within it the slice with the fewest; among refinements, the highest score. */
static gboolean comes_before(const OrrMeasurePlan *plan, const Slice *slice, const Slice *best) {
  const gboolean seeds = is_seeding(slice);
  if (!best || seeds != is_seeding(best)) return !best || seeds;
  if (!seeds) return slice->score > best->score;
  if (family_of(plan, slice) == family_of(plan, best)) return slice->n_measured < best->n_measured;
  return seeds_of_family(plan, slice) < seeds_of_family(plan, best);
}

gint64 orr_measure_plan_next(OrrMeasurePlan *plan, double *ret_score) {
  const Slice *best = NULL;
  ORR_EACH(Slice, slice, plan->slices) {
    if (!slice->is_fresh) refresh(plan, slice);
    if (slice->best >= 0 && comes_before(plan, slice, best)) best = slice;
  }
  if (ret_score && best) *ret_score = is_seeding(best) ? INFINITY : best->score;
  return best ? best->best : -1;
}

const OrrShape *orr_measure_plan_shape(const OrrMeasurePlan *plan, gint64 index) {
  return index >= 0 && index < plan->candidates->len ? &candidate_at(plan, (guint)index)->shape
                                                     : NULL;
}

OrrPlanState orr_measure_plan_state(const OrrMeasurePlan *plan, const OrrMeasureFamily *family) {
  OrrPlanState state = {.disagreement = NAN};
  double sum = 0;
  guint n = 0;
  ORR_EACH(const Slice, slice, plan->slices) {
    if (family_of(plan, slice) != family) continue;
    state.n_slices++;
    state.n_seeds += MIN(n_seeds(slice), slice->end - slice->begin);
    if (slice->n_measured > 1) leave_each_out(plan, slice);
    for (guint i = slice->begin; i < slice->end; i++) {
      const Candidate *candidate = candidate_at(plan, i);
      state.n_planned += candidate->state != DROPPED;
      state.n_measured += candidate->state == MEASURED;
      if (candidate->state != MEASURED || slice->n_measured < 2) continue;
      sum += candidate->disagreement;
      n++;
    }
  }
  if (n) state.disagreement = sum / n;
  return state;
}

/*
 * judge.c - finds measured rows that should not be believed, by comparing them with the other
 * rows of their kind.
 *
 * A row is a call of some size (tokens, bytes) and of a volume per unit of size (what its
 * bottleneck carries: over NICs, bytes to other nodes). Of two calls, one at least as large as the
 * other in both, two laws hold whatever the kernel does:
 *
 *   1. order    the larger one takes no less time: the smaller one could be padded.
 *   2. growth   it takes at most as much more time as it has more work, size times volume: the
 *               larger one could be done in parts, each as large as the smaller one.
 *
 *      time |        . o   growth broken: o takes more than its work explains
 *           |      .
 *           |    x  . ' law 2, from x
 *           |  . '
 *           |_____________ work
 *
 * Real kernels break both a little: a library switches protocols, and a size fills tiles that the
 * next one does not. So a row contradicts another one where it breaks a law by more than a
 * tolerance:
 *
 *   within a curve    2     sizes that fill tiles are up to 1.9 times as fast as their neighbours
 *                           (fp8 experts of H100, each number of tokens of 512 and 1,024)
 *   between curves    1.3   DeepEP over 2 and 4 nodes of H100 agree to 1.2
 *
 * A row is excluded where at least two witnesses contradict it (in its own curve each row is one;
 * another curve is one, however many of its rows do) and no witness is contradicted by more
 * than half as many. So the majority decides, and a step in a curve, where rows below and above
 * contradict each other, stays. The most contradicted row goes first, and then no longer counts.
 *
 * A curve with two rows that other curves exclude was disturbed while it was measured: every row
 * of it that another curve contradicts goes, too.
 *
 * A kink that another curve of the table has at the same size in the same direction is the
 * kernel's, not the measurement's, and stays, too.
 *
 * In a curve of an engine's own all-reduce, which fills no tiles and has no protocols, a row can
 * take more than 1.3 times as long as the next larger one: the first law is broken, and no third
 * row decides. The one that lies farther from a power law through the rows next to it goes: of
 * vLLM's all-reduces over 8 B200, 8, 26, 17 and 39 us at 32 and 256 KiB, 1 and 8 MiB, the second,
 * which its neighbours put at 13; the third is nearer to their 31. At an end of the curve the two
 * rows next to it decide.
 */
#include "calibration/cost/cost_tables.h"

#include "sim/base/quantity.h"

static const double within_curve = 0.693147, between_curves = 0.262364; /* ln 2, ln 1.3 */
enum { LEAST_WITNESSES = 2 };

static OrrJudgedRow *row_at(const GArray *rows, guint i) {
  return &g_array_index(rows, OrrJudgedRow, i);
}

static gboolean is_within(const OrrJudgedRow *small, const OrrJudgedRow *large) {
  return small->size <= large->size && small->volume <= large->volume;
}

/* 1: @a is slow compared with @b, -1: fast; 0: they can both be right. */
static int contradicts(const OrrJudgedRow *a, const OrrJudgedRow *b) {
  const double off = a->log_time - b->log_time, work = a->log_work - b->log_work;
  const double tolerance = a->curve == b->curve ? within_curve : between_curves;
  if (is_within(a, b)) return off > tolerance ? 1 : off < work - tolerance ? -1 : 0;
  if (is_within(b, a)) return off > work + tolerance ? 1 : off < -tolerance ? -1 : 0;
  return 0;
}

/* Rows of one kind while they are judged: their indices, and who contradicts whom. */
typedef struct {
  GArray *rows;
  const guint *members;
  guint n;
  gint8 *signs; /* n times n */
} Kind;

static OrrJudgedRow *member(const Kind *kind, guint i) {
  return row_at(kind->rows, kind->members[i]);
}

/* Member @k, not excluded itself, contradicts member @i. */
static gboolean is_witness(const Kind *kind, guint i, guint k) {
  return kind->signs[i * kind->n + k] && !member(kind, k)->is_aside;
}

/* The witnesses against member @i. Members are in the order of their curves. */
static guint count_witnesses(const Kind *kind, guint i) {
  guint n = 0, last = G_MAXUINT;
  for (guint k = 0; k < kind->n; k++) {
    const OrrJudgedRow *other = member(kind, k);
    if (!is_witness(kind, i, k)) continue;
    if (other->curve == member(kind, i)->curve || other->curve != last) n++;
    last = other->curve;
  }
  return n;
}

/* Excludes member @i; the witness that it names is the one nearest in work. */
static void set_aside(const Kind *kind, guint i) {
  OrrJudgedRow *row = member(kind, i);
  double least = INFINITY;
  for (guint k = 0; k < kind->n; k++) {
    const double off = fabs(member(kind, k)->log_work - row->log_work);
    if (!is_witness(kind, i, k) || off >= least) continue;
    least = off;
    row->witness = kind->members[k];
  }
  row->is_aside = TRUE;
}

/* The member with the most witnesses, none of them contradicted by more than half as many;
 * G_MAXUINT: none is left. */
static guint find_worst(const Kind *kind) {
  g_autofree guint *counts = g_new0(guint, kind->n);
  guint worst = G_MAXUINT;
  for (guint i = 0; i < kind->n; i++)
    counts[i] = member(kind, i)->is_aside ? 0 : count_witnesses(kind, i);
  for (guint i = 0; i < kind->n; i++) {
    guint most = 0;
    for (guint k = 0; k < kind->n; k++)
      if (kind->signs[i * kind->n + k]) most = MAX(most, counts[k]);
    if (counts[i] >= MAX(LEAST_WITNESSES, 2 * most) &&
        (worst == G_MAXUINT || counts[i] > counts[worst]))
      worst = i;
  }
  return worst;
}

static gboolean has_foreign_witness(const Kind *kind, guint i) {
  for (guint k = 0; k < kind->n; k++)
    if (is_witness(kind, i, k) && member(kind, k)->curve != member(kind, i)->curve) return TRUE;
  return FALSE;
}

static gboolean is_disturbed(const Kind *kind, guint curve) {
  guint n = 0;
  for (guint i = 0; i < kind->n; i++)
    n += member(kind, i)->curve == curve && member(kind, i)->is_aside &&
         has_foreign_witness(kind, i);
  return n >= LEAST_WITNESSES;
}

static void judge_kind(GArray *rows, const guint *members, guint n) {
  g_autofree gint8 *signs = g_new0(gint8, (gsize)n * n);
  const Kind kind = {rows, members, n, signs};
  gboolean any = FALSE;
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n; k++) {
      signs[i * n + k] = i == k ? 0 : (gint8)contradicts(member(&kind, i), member(&kind, k));
      any |= signs[i * n + k] != 0;
    }
  for (guint worst; any && (worst = find_worst(&kind)) != G_MAXUINT;) set_aside(&kind, worst);
  for (guint i = 0; any && i < n; i++)
    if (!member(&kind, i)->is_aside && is_disturbed(&kind, member(&kind, i)->curve) &&
        has_foreign_witness(&kind, i))
      set_aside(&kind, i);
}

/* --- kinks that repeat --- */

/* The direction in which the row breaks the laws of its own curve; 0: it does not. @begin, @end:
 * the rows of the curve. */
static int own_sign(const GArray *rows, guint at, guint begin, guint end) {
  int sum = 0;
  for (guint i = begin; i < end; i++)
    sum += i == at ? 0 : contradicts(row_at(rows, at), row_at(rows, i));
  return sum >= LEAST_WITNESSES ? 1 : sum <= -LEAST_WITNESSES ? -1 : 0;
}

static guint curve_end(const GArray *rows, guint begin) {
  guint end = begin;
  while (end < rows->len && row_at(rows, end)->curve == row_at(rows, begin)->curve) end++;
  return end;
}

/* Whether another curve has the same kink as row @at, which is its curve's @sign. */
static gboolean is_repeated(const GArray *rows, guint at, int sign) {
  const OrrJudgedRow *row = row_at(rows, at);
  for (guint begin = 0, end; begin < rows->len; begin = end) {
    end = curve_end(rows, begin);
    if (row_at(rows, begin)->curve == row->curve) continue;
    for (guint i = begin; i < end; i++)
      if (row_at(rows, i)->size == row->size && own_sign(rows, i, begin, end) == sign) return TRUE;
  }
  return FALSE;
}

static void keep_repeated(GArray *rows) {
  g_autofree gboolean *keeps = g_new0(gboolean, rows->len);
  for (guint begin = 0, end; begin < rows->len; begin = end) {
    end = curve_end(rows, begin);
    for (guint i = begin; i < end; i++) {
      if (!row_at(rows, i)->is_aside) continue;
      const int sign = own_sign(rows, i, begin, end);
      keeps[i] = sign != 0 && is_repeated(rows, i, sign);
    }
  }
  for (guint i = 0; i < rows->len; i++)
    if (keeps[i]) row_at(rows, i)->is_aside = FALSE;
}

/* --- neighbours --- */

/* The next row after @at that is not excluded; @end: none. */
static guint next_kept(const GArray *rows, guint at, guint end) {
  guint next = at + 1;
  while (next < end && row_at(rows, next)->is_aside) next++;
  return next;
}

/* The last row before @at that is not excluded; @at: none. */
static guint last_kept(const GArray *rows, guint at, guint begin) {
  for (guint before = at; before-- > begin;)
    if (!row_at(rows, before)->is_aside) return before;
  return at;
}

/* How far row @at lies from the power law through the rows kept before and after it, or, at an end
 * of the curve, through the two next to it, as a logarithm; NAN: there are not two. */
static double off_neighbours(const GArray *rows, guint at, guint begin, guint end) {
  guint low = last_kept(rows, at, begin), high = next_kept(rows, at, end);
  if (low == at && high < end)
    low = high, high = next_kept(rows, low, end);
  else if (high == end)
    high = low, low = last_kept(rows, high, begin);
  if (high == end || low == high || low == at) return NAN;
  const OrrJudgedRow *a = row_at(rows, low), *b = row_at(rows, high), *row = row_at(rows, at);
  const double part = (row->log_work - a->log_work) / (b->log_work - a->log_work);
  return fabs(row->log_time - a->log_time - part * (b->log_time - a->log_time));
}

static gboolean falls(const OrrJudgedRow *small, const OrrJudgedRow *large) {
  return small->is_bytes && small->log_time - large->log_time > between_curves;
}

/* Whether another curve falls between the same two sizes. */
static gboolean falls_elsewhere(const GArray *rows, guint small, guint large) {
  const OrrJudgedRow *of = row_at(rows, small), *to = row_at(rows, large);
  for (guint i = 0; i + 1 < rows->len; i++) {
    const OrrJudgedRow *a = row_at(rows, i), *b = row_at(rows, i + 1);
    if (a->curve != of->curve && a->curve == b->curve && a->size == of->size &&
        b->size == to->size && falls(a, b))
      return TRUE;
  }
  return FALSE;
}

static void judge_neighbours(GArray *rows, guint begin, guint end) {
  for (guint at = begin, next; (next = next_kept(rows, at, end)) < end; at = next) {
    if (!falls(row_at(rows, at), row_at(rows, next)) || falls_elsewhere(rows, at, next)) continue;
    const double of_small = off_neighbours(rows, at, begin, end),
                 of_large = off_neighbours(rows, next, begin, end);
    const guint worst = of_small >= of_large ? at : next;
    if (isnan(of_small + of_large) || fmax(of_small, of_large) <= between_curves) continue;
    row_at(rows, worst)->is_aside = TRUE;
    row_at(rows, worst)->witness = worst == at ? next : at;
  }
}

/* --- the judge --- */

static int compare_members(gconstpointer a, gconstpointer b, gpointer rows) {
  const guint x = *(const guint *)a, y = *(const guint *)b;
  const OrrJudgedRow *row_x = row_at(rows, x), *row_y = row_at(rows, y);
  if (row_x->kind != row_y->kind) return row_x->kind < row_y->kind ? -1 : 1;
  return (x > y) - (x < y);
}

guint orr_judge_rows(GArray *rows) {
  g_autofree guint *members = g_new(guint, rows->len);
  guint n_aside = 0;
  for (guint i = 0; i < rows->len; i++) {
    OrrJudgedRow *row = row_at(rows, i);
    members[i] = i;
    row->is_aside = FALSE;
    row->log_time = log(row->time_s);
    row->log_work = log(row->size * row->volume);
  }
  g_qsort_with_data(members, (gint)rows->len, sizeof *members, compare_members, rows);
  for (guint begin = 0, end; begin < rows->len; begin = end) {
    for (end = begin;
         end < rows->len && row_at(rows, members[end])->kind == row_at(rows, members[begin])->kind;)
      end++;
    judge_kind(rows, members + begin, end - begin);
  }
  keep_repeated(rows);
  for (guint begin = 0, end; begin < rows->len; begin = end) {
    end = curve_end(rows, begin);
    judge_neighbours(rows, begin, end);
  }
  for (guint i = 0; i < rows->len; i++) n_aside += row_at(rows, i)->is_aside ? 1 : 0;
  return n_aside;
}

/* --- excluded rows --- */

static void aside_clear(gpointer aside) { g_free(((OrrAside *)aside)->why); }

GArray *orr_judge_asides_new(void) {
  GArray *asides = g_array_new(FALSE, FALSE, sizeof(OrrAside));
  g_array_set_clear_func(asides, aside_clear);
  return asides;
}

OrrAside orr_judge_aside(const GArray *rows, guint at, const char *witness) {
  const OrrJudgedRow *row = row_at(rows, at), *other = row_at(rows, row->witness);
  const double work = other->size * other->volume / (row->size * row->volume);
  g_autofree char *time = orr_quantity_format(row->time_s, ORR_UNIT_SECONDS),
                  *other_time = orr_quantity_format(other->time_s, ORR_UNIT_SECONDS);
  return (OrrAside){.how = ORR_HOW_INTERPOLATED,
                    .why = g_strdup_printf("excluded: the row here says %s, but %s, %.3g times "
                                           "the work, takes %s",
                                           time, witness, work, other_time)};
}

const OrrAside *orr_judge_near(const GArray *asides, const GArray *sizes, double size) {
  const double *x = (const double *)(const void *)sizes->data;
  const guint last = sizes->len - 1;
  ORR_EACH(const OrrAside, aside, asides) {
    const gboolean is_between = (aside->at == 0 || size > x[aside->at - 1]) &&
                                (aside->at == last || size < x[aside->at + 1]);
    if (is_between || (size > x[last] && aside->at + 1 >= last)) return aside;
  }
  return NULL;
}

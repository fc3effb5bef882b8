/*
 * store_effects.c - the SQL functions of the view `sensitivity`. SQL alone sorts all points twice
 * for each axis, which took seven of the ten seconds of a million points.
 *
 *   orr_effects(code, value, run, sign, sizes)   an aggregate over points. The digits of `code` are
 *       the numbers of the point's values on the axes, least significant first; `sizes` has how
 *       many values each axis has: "4,5,2". The answer is JSON, for each value of each axis
 *       [points, answered, mean, effect, least, run]
 *   orr_real(text)   a real of that JSON: text of 17 digits; SQLite reads other reals with 15
 *
 * Points that differ in one axis alone have the same code without that axis' digit: they are alike.
 *
 *   mean     of `value` over the points with the axis' value
 *   effect   mean of value / (mean of the points alike) - 1, over points that have another alike;
 *            a fraction
 *   least    of sign * value; run: of the first point that has it
 *
 * Sums run by that code, then in the order in which points come. The same view in SQL alone had
 * that order too, so its figures did not change, to the last bit.
 */
#include "results/store_private.h"

enum { BITS = 11, N_DIGITS = 1 << BITS, MOST_VALUES = 1 << 24 };

typedef struct {
  gint64 code, run;
  double value; /* NAN: none */
} Point;

typedef struct {
  gint64 points, answered, n_effects, run;
  double sum, effects, least;
} Effect;

/* SQLite's own memory, zero at first. */
typedef struct {
  GArray *points; /* of Point */
  GArray *sizes;  /* of gint64 */
  gint64 most;    /* the largest code */
  gint64 sign;
} Effects;

typedef struct {
  gint64 stride, size;
  Effect *effects; /* by digit */
} Axis;

static gint64 digit_of(const Axis *axis, gint64 code) { return code / axis->stride % axis->size; }

static gint64 others_of(const Axis *axis, gint64 code) {
  return code - axis->stride * digit_of(axis, code);
}

static gint64 code_at(const Effects *all, guint32 i) {
  return g_array_index(all->points, Point, i).code;
}

/* The points' indices by what others_of returns; points that agree stay in order. A radix sort:
 * @order and @spare have room for all. Returns one of the two. */
static guint32 *sort_points(const Effects *all, const Axis *axis, guint32 *order, guint32 *spare) {
  const guint n = all->points->len;
  for (guint i = 0; i < n; i++) order[i] = i;
  for (guint shift = 0; shift < 64 && all->most >> shift > 0; shift += BITS) {
    guint32 starts[N_DIGITS + 1] = {0};
    for (guint i = 0; i < n; i++)
      starts[(others_of(axis, code_at(all, i)) >> shift & (N_DIGITS - 1)) + 1]++;
    for (guint d = 0; d < N_DIGITS; d++) starts[d + 1] += starts[d];
    for (guint i = 0; i < n; i++)
      spare[starts[others_of(axis, code_at(all, order[i])) >> shift & (N_DIGITS - 1)]++] = order[i];
    guint32 *sorted = spare;
    spare = order;
    order = sorted;
  }
  return order;
}

/* Points that are alike. */
static void add_group(const Effects *all, const Axis *axis, const guint32 *order, guint n) {
  guint n_answered = 0;
  double sum = 0;
  for (guint i = 0; i < n; i++) {
    const Point *point = &g_array_index(all->points, Point, order[i]);
    if (isnan(point->value)) continue;
    sum += point->value;
    n_answered++;
  }
  const double mean = n_answered > 0 ? sum / n_answered : NAN;
  for (guint i = 0; i < n; i++) {
    const Point *point = &g_array_index(all->points, Point, order[i]);
    Effect *effect = &axis->effects[digit_of(axis, point->code)];
    effect->points++;
    if (isnan(point->value)) continue;
    const double off = mean != 0 ? point->value / mean - 1 : NAN,
                 signed_value = (double)all->sign * point->value;
    if (n_answered > 1 && !isnan(off)) {
      effect->effects += off;
      effect->n_effects++;
    }
    if (effect->answered == 0 || signed_value < effect->least) {
      effect->least = signed_value;
      effect->run = point->run;
    }
    effect->sum += point->value;
    effect->answered++;
  }
}

static void add_axis(const Effects *all, const Axis *axis, guint32 *order, guint32 *spare) {
  const guint32 *sorted = sort_points(all, axis, order, spare);
  const guint n = all->points->len;
  for (guint from = 0, to; from < n; from = to) {
    const gint64 others = others_of(axis, code_at(all, sorted[from]));
    for (to = from + 1; to < n && others_of(axis, code_at(all, sorted[to])) == others; to++)
      continue;
    add_group(all, axis, sorted + from, to - from);
  }
}

/* --- The answer --- */

static void append_real(GString *json, double value) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (isnan(value))
    g_string_append(json, ",null");
  else
    g_string_append_printf(json, ",\"%s\"", g_ascii_dtostr(text, sizeof text, value));
}

static void append_effect(GString *json, const Effect *effect) {
  g_string_append_printf(json, "%s[%ld,%ld", json->len > 1 ? "," : "", effect->points,
                         effect->answered);
  append_real(json, effect->answered > 0 ? effect->sum / (double)effect->answered : NAN);
  append_real(json, effect->n_effects > 0 ? effect->effects / (double)effect->n_effects : NAN);
  append_real(json, effect->answered > 0 ? effect->least : NAN);
  if (effect->answered > 0)
    g_string_append_printf(json, ",%ld]", effect->run);
  else
    g_string_append(json, ",null]");
}

static GString *answer(const Effects *all) {
  GString *json = g_string_new("[");
  g_autofree guint32 *order = g_new(guint32, all->points->len + 1),
                     *spare = g_new(guint32, all->points->len + 1);
  gint64 stride = 1;
  ORR_EACH_VALUE(const gint64, size, all->sizes) {
    g_autofree Effect *effects = g_new0(Effect, (gsize)size);
    add_axis(all, &(Axis){stride, size, effects}, order, spare);
    for (gint64 i = 0; i < size; i++) append_effect(json, &effects[i]);
    if (__builtin_mul_overflow(stride, size, &stride)) stride = G_MAXINT64; /* no code has it */
  }
  return g_string_append_c(json, ']');
}

/* --- The functions --- */

/* A sweep's axis has fewer values than MOST_VALUES; a user's own query can say anything. */
static GArray *read_sizes(const char *text) {
  GArray *sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
  g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);
  for (char **word = words; *word; word++) {
    const gint64 size = CLAMP(g_ascii_strtoll(*word, NULL, 10), 1, MOST_VALUES);
    g_array_append_val(sizes, size);
  }
  return sizes;
}

static void take_point(sqlite3_context *context, int n, sqlite3_value **values) {
  Effects *all = sqlite3_aggregate_context(context, sizeof *all);
  if (!all) return sqlite3_result_error_nomem(context);
  if (!all->points) {
    all->points = g_array_new(FALSE, FALSE, sizeof(Point));
    all->sign = sqlite3_value_int64(values[3]);
    all->sizes = read_sizes((const char *)sqlite3_value_text(values[4]));
  }
  const gint64 code = sqlite3_value_int64(values[0]);
  if (sqlite3_value_type(values[0]) == SQLITE_NULL || code < 0) return;
  const gboolean has_value = sqlite3_value_type(values[1]) != SQLITE_NULL;
  ORR_APPEND(
      all->points, Point,
      {code, sqlite3_value_int64(values[2]), has_value ? sqlite3_value_double(values[1]) : NAN});
  all->most = MAX(all->most, code);
}

static void give_effects(sqlite3_context *context) {
  Effects *all = sqlite3_aggregate_context(context, 0);
  if (!all || !all->points) return sqlite3_result_null(context);
  GString *json = answer(all);
  g_array_unref(all->points);
  g_array_unref(all->sizes);
  const guint64 length = json->len;
  sqlite3_result_text64(context, g_string_free(json, FALSE), length, g_free, SQLITE_UTF8);
}

static void give_real(sqlite3_context *context, int n, sqlite3_value **values) {
  const char *text = (const char *)sqlite3_value_text(values[0]);
  if (text)
    sqlite3_result_double(context, g_ascii_strtod(text, NULL));
  else
    sqlite3_result_null(context);
}

gboolean orr_store_effects(const OrrStore *store, GError **error) {
  enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY };
  return (sqlite3_create_function(store->db, "orr_effects", 5, FLAGS, NULL, NULL, take_point,
                                  give_effects) == SQLITE_OK &&
          sqlite3_create_function(store->db, "orr_real", 1, FLAGS, NULL, give_real, NULL, NULL) ==
              SQLITE_OK) ||
         orr_store_fail(store, "cannot be read", error);
}

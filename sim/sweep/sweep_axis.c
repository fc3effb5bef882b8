/*
 * sweep_axis.c - short names of paths, and the values of an axis: a list, {from, to, step},
 * {powers-of}, {divisors-of}, or all.
 */
#include "sim/sweep/sweep_axis.h"

#include "sim/sweep/sweep_facts.h"
#include "workloads/training/training.h"

/* Short names of paths, in the order of the documentation. */
static const struct {
  const char *name, *path;
} shorts[] = {
    {"tp", "workload.parallel.tp"},
    {"pp", "workload.parallel.pp"},
    {"dp", "workload.parallel.dp"},
    {"cp", "workload.parallel.cp"},
    {"ep", "workload.parallel.ep"},
    {"chunks", "workload.pipeline.chunks"},
    {"schedule", "workload.pipeline.kind"},
    {"micro-batch", "workload.batch.micro"},
    {"global-batch", "workload.batch.global"},
    {"sequence", "workload.sequence"},
    {"recompute", "workload.recompute"},
    {"sharding", "workload.optimizer.sharding"},
    {"precision", "workload.precision"},
    {"nodes", "cluster.nodes"},
    {"gpus", "cluster.gpus"},
    {"model", "model"},
    {"cluster", "cluster"},
};

#define MOST_VALUES 65535

static const char *short_name_of(const char *path) {
  for (guint i = 0; i < G_N_ELEMENTS(shorts); i++)
    if (strcmp(shorts[i].path, path) == 0) return shorts[i].name;
  return NULL;
}

const char *orr_sweep_axis_path(const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS(shorts); i++)
    if (strcmp(shorts[i].name, name) == 0) return shorts[i].path;
  return name;
}

void orr_sweep_axis_free(OrrSweepAxis *axis) {
  if (!axis) return;
  ORR_FREE(axis->name, axis->path);
  g_ptr_array_unref(axis->values);
  g_array_unref(axis->numbers);
  g_free(axis);
}

/* --- {from, to, step}, {powers-of}, {divisors-of} --- */

typedef struct {
  OrrSweepAxis *axis;
  const OrrNode *spec;
  const OrrSweepAxisFacts *facts;
  OrrDiags *diags;
  OrrUnit unit; /* in which a literal was given */
} Reading;

static void add_number(const Reading *r, double number) {
  g_autofree char *text = orr_quantity_exact(number, r->unit);
  g_ptr_array_add(r->axis->values, orr_node_new_scalar(r->spec->place, text));
}

/* "400 W": a number with or without a unit. */
static gboolean read_literal(const char *text, OrrUnit *ret_unit, double *ret_value) {
  for (int unit = ORR_UNIT_NONE; unit < ORR_N_UNITS; unit++) {
    *ret_unit = (OrrUnit)unit;
    if (orr_quantity_parse(text, *ret_unit, ret_value, NULL)) return TRUE;
  }
  return FALSE;
}

/* All literals with a unit have one of a kind. */
static gboolean take_unit(Reading *r, OrrUnit unit, const OrrNode *node) {
  const gboolean is_other = unit != ORR_UNIT_NONE && r->unit != ORR_UNIT_NONE && r->unit != unit;
  if (is_other)
    orr_diags_error(r->diags, node->place, "axis %s: '%s' has another unit than the numbers before",
                    r->axis->name, node->text);
  if (unit != ORR_UNIT_NONE) r->unit = unit;
  return !is_other;
}

/* The number under @key: a literal, or an expression of facts. */
static gboolean read_number(Reading *r, const char *key, double fallback, double *ret_value) {
  const OrrNode *node = orr_node_get(r->spec, key);
  *ret_value = fallback;
  if (!node) return TRUE;
  if (node->kind != ORR_NODE_SCALAR) {
    orr_diags_error(r->diags, node->place, "axis %s: %s takes a number or an expression of facts",
                    r->axis->name, key);
    return FALSE;
  }
  OrrUnit unit;
  if (read_literal(node->text, &unit, ret_value)) return take_unit(r, unit, node);
  g_autoptr(OrrExpression) expression =
      orr_expression_parse(node->text, node->place, r->facts->names, r->facts->n, r->diags);
  if (!expression) return FALSE;
  if (orr_expression_type(expression) != ORR_VALUE_NUMBER) {
    orr_diags_error(r->diags, node->place, "axis %s: %s takes a number", r->axis->name, key);
    return FALSE;
  }
  *ret_value = orr_expression_number(expression, r->facts->values);
  return TRUE;
}

static gboolean read_range(Reading *r) {
  double from, to, step;
  if (!read_number(r, "from", NAN, &from) || !read_number(r, "to", NAN, &to) ||
      !read_number(r, "step", 1, &step))
    return FALSE;
  if (!(step > 0) || !isfinite(from) || !isfinite(to) || (to - from) / step > MOST_VALUES) {
    orr_diags_error(r->diags, r->spec->place,
                    "axis %s: a range takes from and to, a step above 0, and at most %d values",
                    r->axis->name, MOST_VALUES);
    return FALSE;
  }
  const guint n = (guint)floor((to - from) / step * (1 + 1e-12) + 1e-9) +
                  1; /* so that steps of 0.1 reach `to` */
  for (guint i = 0; from <= to && i < n; i++) add_number(r, from + i * step);
  return TRUE;
}

static gboolean read_powers(Reading *r) {
  double base, from, to;
  if (!read_number(r, "powers-of", NAN, &base) || !read_number(r, "from", 1, &from) ||
      !read_number(r, "to", NAN, &to))
    return FALSE;
  if (!(base > 1) || !isfinite(to) || !(from > 0)) {
    orr_diags_error(r->diags, r->spec->place,
                    "axis %s: powers-of takes a base above 1, from above 0, and to", r->axis->name);
    return FALSE;
  }
  if (log(to) / log(base) >= MOST_VALUES) { /* a base of 1.0000001 would take hours */
    orr_diags_error(
        r->diags, r->spec->place,
        "axis %s: there are %.3g powers of %.10g up to %g, and an axis takes at most %d values",
        r->axis->name, floor(log(to) / log(base)) + 1, base, to, MOST_VALUES);
    return FALSE;
  }
  for (double value = 1; value <= to; value *= base)
    if (value >= from) add_number(r, value);
  return TRUE;
}

/* Adds the divisors of @of in rising order, in sqrt(@of) steps: each divisor up to the root has a
 * counterpart above it. */
static void add_divisors(const Reading *r, gint64 of, double from, double to) {
  gint64 root = (gint64)sqrt((double)of);
  for (gint64 d = 1; d <= root; d++)
    if (of % d == 0 && d >= from && d <= to) add_number(r, (double)d);
  for (gint64 d = root; d >= 1; d--)
    if (of % d == 0 && of / d > root && of / d >= from && of / d <= to)
      add_number(r, (double)(of / d));
}

static gboolean read_divisors(Reading *r) {
  double of, from, to;
  if (!read_number(r, "divisors-of", NAN, &of) || !read_number(r, "from", 1, &from) ||
      !read_number(r, "to", 1e9, &to))
    return FALSE;
  if (!(of >= 1) || of != floor(of) || of > 1e7) {
    orr_diags_error(r->diags, r->spec->place,
                    "axis %s: divisors-of takes a whole number from 1 to 10,000,000, found %g",
                    r->axis->name, of);
    return FALSE;
  }
  add_divisors(r, (gint64)of, from, to);
  return TRUE;
}

static gboolean read_map(Reading *r) {
  static const struct {
    const char *key;
    gboolean (*read)(Reading *r);
    const char *keys[4];
  } forms[] = {{"powers-of", read_powers, {"powers-of", "from", "to", NULL}},
               {"divisors-of", read_divisors, {"divisors-of", "from", "to", NULL}},
               {"from", read_range, {"from", "to", "step", NULL}}};
  for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
    if (!orr_node_get(r->spec, forms[i].key)) continue;
    ORR_EACH_KEY(key, r->spec) {
      if (g_strv_contains(forms[i].keys, key->text)) continue;
      g_autofree char *allowed = g_strjoinv(", ", (char **)forms[i].keys);
      orr_diags_error(r->diags, key->place, "axis %s: unknown key '%s' (allowed: %s)",
                      r->axis->name, key->text, allowed);
      return FALSE;
    }
    return forms[i].read(r);
  }
  orr_diags_error(r->diags, r->spec->place,
                  "axis %s takes a list, {from, to, step}, {powers-of, to}, {divisors-of}, or all",
                  r->axis->name);
  return FALSE;
}

/* --- all --- */

static void add_words(OrrSweepAxis *axis, OrrPlace place, const char *const *words) {
  for (; *words; words++) g_ptr_array_add(axis->values, orr_node_new_scalar(place, *words));
}

static void add_words_of_field(Reading *r, OrrPlace place) {
  void *data = NULL;
  const OrrField *field =
      orr_field_assign_member(&orr_scenario_table, (void *)r->facts->base, r->axis->path, &data);
  if (field && field->kind == ORR_FIELD_WORD) add_words(r->axis, place, field->words);
  if (!field || field->kind != ORR_FIELD_CHOICE) return;
  g_autofree const char **names = orr_registry_names(field->registry);
  add_words(r->axis, place, names);
}

static double fact(const Reading *r, OrrSweepFact which) { return r->facts->values[which].number; }

/* Adds the common divisors of @of and the number of GPUs. */
static void add_common_divisors(const Reading *r, gint64 of) {
  const gint64 n_gpus = (gint64)fact(r, ORR_FACT_N_GPUS);
  for (gint64 d = 1; d <= MIN(of, n_gpus); d++)
    if (of % d == 0 && n_gpus % d == 0) add_number(r, (double)d);
}

static gboolean read_all(Reading *r, OrrPlace place) {
  const char *name = r->axis->name;
  if (strcmp(name, "tp") == 0) {
    add_common_divisors(r, (gint64)fact(r, ORR_FACT_HEADS));
  } else if (strcmp(name, "pp") == 0) {
    add_common_divisors(r, (gint64)fact(r, ORR_FACT_LAYERS));
  } else if (strcmp(name, "dp") == 0 || strcmp(name, "cp") == 0 || strcmp(name, "ep") == 0) {
    add_common_divisors(r, (gint64)fact(r, ORR_FACT_N_GPUS));
  } else if (strcmp(name, "chunks") == 0) {
    add_divisors(r, (gint64)fact(r, ORR_FACT_LAYERS), 1, 1e9);
  } else if (strcmp(name, "micro-batch") == 0) {
    add_divisors(r, (gint64)fact(r, ORR_FACT_GLOBAL_BATCH), 1, 1e9);
  } else if (strcmp(name, "schedule") == 0) {
    g_autofree const char **names = orr_registry_names(&orr_pipeline_registry);
    add_words(r->axis, place, names);
  } else {
    add_words_of_field(r, place);
  }
  if (r->axis->values->len > 0) return TRUE;
  orr_diags_error(r->diags, place, "axis %s: cannot enumerate all its values; give a list", name);
  return FALSE;
}

/* --- The axis --- */

static gboolean read_list(Reading *r) {
  ORR_EACH_ITEM(item, r->spec) {
    if (item->kind != ORR_NODE_SCALAR) {
      orr_diags_error(r->diags, item->place, "axis %s: a value is a single word or number",
                      r->axis->name);
      return FALSE;
    }
    g_ptr_array_add(r->axis->values, orr_node_copy(item));
  }
  return TRUE;
}

static gboolean read_values(Reading *r) {
  switch (r->spec->kind) {
  case ORR_NODE_LIST:
    return read_list(r);
  case ORR_NODE_MAP:
    return read_map(r);
  default:
    if (strcmp(r->spec->text, "all") == 0) return read_all(r, r->spec->place);
    orr_diags_error(r->diags, r->spec->place,
                    "axis %s takes a list, {from, to, step}, {powers-of, to}, {divisors-of}, or "
                    "all; found '%s'",
                    r->axis->name, r->spec->text);
    return FALSE;
  }
}

static gboolean number_of(const char *text, double *ret_number) {
  for (OrrUnit unit = ORR_UNIT_NONE; unit < ORR_N_UNITS; unit++)
    if (orr_quantity_parse(text, unit, ret_number, NULL)) return TRUE;
  return FALSE;
}

static void settle_numbers(OrrSweepAxis *axis) {
  axis->is_number = TRUE;
  for (guint i = 0; i < axis->values->len; i++) {
    double number = NAN;
    axis->is_number =
        number_of(((const OrrNode *)axis->values->pdata[i])->text, &number) && axis->is_number;
    g_array_append_val(axis->numbers, number);
  }
}

static gboolean check_values(const OrrSweepAxis *axis, OrrDiags *diags) {
  if (axis->values->len == 0)
    orr_diags_error(diags, axis->place, "axis %s has no value", axis->name);
  else if (axis->values->len > MOST_VALUES)
    orr_diags_error(diags, axis->place, "axis %s has %u values, at most %d are allowed", axis->name,
                    axis->values->len, MOST_VALUES);
  for (guint i = 0; i < MIN(axis->values->len, 4096); i++)
    for (guint k = 0; k < i; k++) {
      const OrrNode *a = axis->values->pdata[i], *b = axis->values->pdata[k];
      if (strcmp(a->text, b->text) == 0) {
        orr_diags_error(diags, a->place, "axis %s: duplicate value %s", axis->name, a->text);
        return FALSE;
      }
    }
  return axis->values->len > 0 && axis->values->len <= MOST_VALUES;
}

OrrSweepAxis *orr_sweep_axis_new(const char *name, OrrPlace place, const OrrNode *spec,
                                 const OrrSweepAxisFacts *facts, OrrDiags *diags) {
  OrrSweepAxis *axis = g_new0(OrrSweepAxis, 1);
  const char *path = orr_sweep_axis_path(name), *short_name = short_name_of(path);
  axis->name = g_strdup(short_name ? short_name : path);
  axis->path = g_strdup(path);
  axis->place = place;
  axis->values = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  axis->numbers = g_array_new(FALSE, FALSE, sizeof(double));
  Reading reading = {axis, spec, facts, diags};
  if (read_values(&reading) && check_values(axis, diags)) {
    settle_numbers(axis);
    return axis;
  }
  orr_sweep_axis_free(axis);
  return NULL;
}

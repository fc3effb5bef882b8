/*
 * cost_build.c - builds the large tables of a cost model (products, attention, experts), each at
 * the first query that needs it.
 *
 * A profile has up to a megabyte of rows, and a run asks for a few of its tables: one all-reduce
 * asks for none, a training step for products and prefills in one format. Building all of them took
 * most of the time of such runs.
 *
 * Invariants:
 * 1. A table depends on the profile and the rates of the device it was measured on, not on what was
 *    asked before it.
 * 2. Building cannot fail: orr_profile_read checked the numbers, and orr_cost_build_check, when the
 *    model is made, what a document cannot express.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "sim/base/number.h"

/* Reports a defect: invariant 2 does not hold. */
static void report(const char *what, const GError *error) {
  g_critical("%s: %s", what, error ? error->message : "cannot be built");
}

/* --- products --- */

static const OrrProfileGemm *table_at(const OrrCostModel *model, guint table) {
  return model->profile->gemm->pdata[table];
}

gboolean orr_cost_build_gemm_is_of(const OrrProfileGemm *table, const char *release) {
  if (!release || !table->release || !g_str_has_prefix(table->release, release)) return FALSE;
  const char after = table->release[strlen(release)];
  return after == '\0' || after == '.';
}

gboolean orr_cost_has_release(const OrrCostModel *model, const char *release) {
  for (guint i = 0; model->profile && i < orr_profile_length(model->profile->gemm); i++)
    if (orr_cost_build_gemm_is_of(table_at(model, i), release)) return TRUE;
  return FALSE;
}

static gboolean holds(const OrrProfileGemm *table, const OrrGemmShape *shape) {
  for (guint i = 0; shape && i < table->rows->len; i++) {
    const OrrProfileGemmRow *row = table->rows->pdata[i];
    if (row->n == shape->n && row->k == shape->k) return TRUE;
  }
  return FALSE;
}

static int layout_rank(const OrrProfileGemm *table, OrrGemmLayout layout) {
  return table->layout == (int)layout ? 2 : table->layout == (int)ORR_GEMM_FORWARD;
}

/* "cublas-12.8" is of version 12.8. */
static const char *version_of(const OrrProfileGemm *table) {
  const char *dash = strrchr(table->release, '-');
  return dash ? dash + 1 : table->release;
}

/* Whether @table answers before @other. Of the same layout and of the asked release alike, the one
 * that has rows of the shape; then one that states no release; then the newer one. */
static gboolean is_better(const OrrProfileGemm *table, const OrrProfileGemm *other,
                          OrrGemmLayout layout, const OrrGemmShape *shape, const char *release) {
  const int by_layout = layout_rank(table, layout) - layout_rank(other, layout);
  if (by_layout) return by_layout > 0;
  const int by_release =
      orr_cost_build_gemm_is_of(table, release) - orr_cost_build_gemm_is_of(other, release);
  if (by_release) return by_release > 0;
  const gboolean is_stated = table->release != NULL, other_is = other->release != NULL;
  if (release && is_stated != other_is) return other_is;
  const int by_shape = holds(table, shape) - holds(other, shape);
  if (by_shape) return by_shape > 0;
  if (!is_stated || !other_is) return !is_stated && other_is;
  return orr_number_compare_versions(version_of(table), version_of(other)) > 0;
}

int orr_cost_build_gemm_find(const OrrCostModel *model, OrrDtype dtype, OrrGemmLayout layout,
                             const OrrGemmShape *shape, gint64 batch, const char *release) {
  const GPtrArray *tables = model->profile ? model->profile->gemm : NULL;
  int best = -1;
  for (guint i = 0; i < orr_profile_length(tables); i++) {
    const OrrProfileGemm *table = tables->pdata[i];
    if (table->dtype != (int)dtype || table->rows->len == 0 || MAX(1, table->batch) != batch)
      continue;
    if (best < 0 || is_better(table, tables->pdata[best], layout, shape, release)) best = (int)i;
  }
  return best;
}

gboolean orr_cost_build_has_gemm(const OrrCostModel *model, OrrDtype dtype) {
  return orr_cost_build_gemm_find(model, dtype, ORR_GEMM_FORWARD, NULL, 1, NULL) >= 0;
}

const OrrGrid *orr_cost_build_gemm_at(const OrrCostModel *model, guint table) {
  OrrCostTables *tables = model->tables;
  if (g_once_init_enter(&tables->has_built_gemm[table])) {
    g_autoptr(GError) error = NULL;
    const OrrProfileGemm *of = table_at(model, table);
    if (of->rows->len > 0) tables->gemm[table] = orr_cost_gemm_build(model->measured, of, &error);
    if (error) report("gemm", error);
    g_once_init_leave(&tables->has_built_gemm[table], 1);
  }
  return tables->gemm[table];
}

const OrrGrid *orr_cost_build_gemm(const OrrCostModel *model, OrrDtype dtype) {
  const int table = orr_cost_build_gemm_find(model, dtype, ORR_GEMM_FORWARD, NULL, 1, NULL);
  return table >= 0 ? orr_cost_build_gemm_at(model, (guint)table) : NULL;
}

/* --- attention --- */

static GPtrArray *build_attention(const OrrCostModel *model, OrrProfilePhase phase,
                                  OrrDtype kv_dtype) {
  const GPtrArray *tables = model->profile ? model->profile->attention : NULL;
  GPtrArray *built = g_ptr_array_new_with_free_func((GDestroyNotify)orr_cost_attention_free);
  for (guint i = 0; i < orr_profile_length(tables); i++) {
    g_autoptr(GError) error = NULL;
    const OrrProfileAttention *table = tables->pdata[i];
    if (table->phase == (int)phase && table->kv_dtype == (int)kv_dtype &&
        !orr_cost_attention_build(model->measured, table, built, &error))
      report("attention", error);
  }
  return built;
}

const GPtrArray *orr_cost_build_attention(const OrrCostModel *model, OrrProfilePhase phase,
                                          OrrDtype kv_dtype) {
  OrrCostTables *tables = model->tables;
  gsize *const has_built = &tables->has_built_attention[phase][kv_dtype];
  if (g_once_init_enter(has_built)) {
    tables->attention[phase][kv_dtype] = build_attention(model, phase, kv_dtype);
    g_once_init_leave(has_built, 1);
  }
  return tables->attention[phase][kv_dtype];
}

/* --- experts --- */

static GPtrArray *build_moe(const OrrCostModel *model) {
  const GPtrArray *tables = model->profile ? model->profile->moe : NULL;
  GPtrArray *built = g_ptr_array_new_with_free_func((GDestroyNotify)orr_cost_moe_free);
  for (guint i = 0; i < orr_profile_length(tables); i++) {
    g_autoptr(GError) error = NULL;
    OrrCostMoe *moe = orr_cost_moe_build(model->measured, tables->pdata[i], &error);
    if (moe) g_ptr_array_add(built, moe);
    if (error) report("moe", error);
  }
  return built;
}

const GPtrArray *orr_cost_build_moe(const OrrCostModel *model) {
  OrrCostTables *tables = model->tables;
  if (g_once_init_enter(&tables->has_built_moe)) {
    tables->moe = build_moe(model);
    g_once_init_leave(&tables->has_built_moe, 1);
  }
  return tables->moe;
}

/* --- checks --- */

static gboolean has_number(const char *us) { return strpbrk(us, "0123456789") != NULL; }

static gboolean gemm_has_number(const OrrProfileGemm *table) {
  for (guint i = 0; i < table->rows->len; i++)
    if (has_number(((const OrrProfileGemmRow *)table->rows->pdata[i])->us)) return TRUE;
  return table->rows->len == 0;
}

static gboolean check_gemm(const GPtrArray *tables, GError **error) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < orr_profile_length(tables); i++) {
    const OrrProfileGemm *table = tables->pdata[i];
    g_autofree char *label = orr_profile_gemm_label(table);
    const char *wrong = !gemm_has_number(table) ? "there is no row"
                        : table->rows->len > 0 && !g_hash_table_add(seen, g_strdup(label))
                            ? "there are two tables"
                            : NULL;
    if (wrong) return orr_fault_set(error, ORR_FAULT_DOCUMENT, "gemm %s: %s", label, wrong);
  }
  return TRUE;
}

/* Whether a row of @row's head size and grouping of heads has a number. */
static gboolean group_has_number(const OrrProfileAttention *table,
                                 const OrrProfileAttentionRow *row) {
  ORR_EACH_POINTER(const OrrProfileAttentionRow, other, table->rows)
    if (other->head_dim == row->head_dim &&
        other->heads / other->kv_heads == row->heads / row->kv_heads && has_number(other->us))
      return TRUE;
  return FALSE;
}

static gboolean check_attention(const OrrProfileAttention *table, GError **error) {
  ORR_EACH_POINTER(const OrrProfileAttentionRow, row, table->rows) {
    if (has_number(row->us) || group_has_number(table, row)) continue;
    return orr_fault_set(error, ORR_FAULT_DOCUMENT, "attention: head-dim %ld has no row",
                         row->head_dim);
  }
  return TRUE;
}

gboolean orr_cost_build_check(const OrrProfile *profile, GError **error) {
  if (!check_gemm(profile->gemm, error)) return FALSE;
  for (guint i = 0; i < orr_profile_length(profile->attention); i++)
    if (!check_attention(profile->attention->pdata[i], error)) return FALSE;
  return TRUE;
}

void orr_cost_build_all(const OrrCostModel *model) {
  for (guint i = 0; i < model->tables->n_gemm; i++) orr_cost_build_gemm_at(model, i);
  for (int d = 0; d < ORR_N_DTYPES; d++)
    for (int phase = 0; phase < ORR_N_PHASES; phase++)
      ORR_EACH_POINTER(const OrrCostAttention, attention,
                       orr_cost_build_attention(model, (OrrProfilePhase)phase, (OrrDtype)d))
        orr_cost_attention_fill(attention);
  orr_cost_build_moe(model);
}

OrrCostTables *orr_cost_tables_new(const OrrProfile *profile) {
  OrrCostTables *tables = g_new0(OrrCostTables, 1);
  tables->n_gemm = profile ? orr_profile_length(profile->gemm) : 0;
  tables->has_built_gemm = g_new0(gsize, tables->n_gemm);
  tables->gemm = g_new0(OrrGrid *, tables->n_gemm);
  return tables;
}

void orr_cost_tables_free(OrrCostTables *tables) {
  if (!tables) return;
  for (guint i = 0; i < tables->n_gemm; i++) orr_grid_free(tables->gemm[i]);
  ORR_FREE(tables->gemm, tables->has_built_gemm);
  for (int d = 0; d < ORR_N_DTYPES; d++)
    for (int phase = 0; phase < ORR_N_PHASES; phase++)
      if (tables->attention[phase][d]) g_ptr_array_unref(tables->attention[phase][d]);
  if (tables->moe) g_ptr_array_unref(tables->moe);
  if (tables->modules) g_ptr_array_unref(tables->modules);
  g_free(tables);
}

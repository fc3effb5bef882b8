/*
 * crossval_modules.c - sparse and linear attention: a shape is an operation with its heads,
 * sequences, queries and keys, on all devices and by all engines. Each profile predicts the
 * rows of its own device, and of the devices that stand under it.
 */
#include "calibration/cost/cost_module.h"
#include "calibration/crossval/crossval_private.h"

enum { HEADS, SEQUENCES, QUERIES, N_KEYS, GROUP };
static const char *const keys[] = {
    [HEADS] = "heads", [SEQUENCES] = "sequences", [QUERIES] = "queries",
    [N_KEYS] = "keys", [GROUP] = "group",         NULL};

enum { SGLANG, TRTLLM, VLLM, OTHER };
static const char *const regions[] = {
    [SGLANG] = "sglang", [TRTLLM] = "trtllm", [VLLM] = "vllm", [OTHER] = "other", "outside", NULL};

/* --- the tables of one kind --- */

static gboolean is_of(const OrrProfile *profile, const OrrProfileModuleGroup *group) {
  const OrrProfileModuleDevice *device =
      orr_profile_module_device(orr_profile_modules(profile), group->device);
  return strcmp(device->standing ? device->standing : device->name, profile->device) == 0;
}

static gboolean has_rows(const OrrProfile *profile, const OrrProfileModuleTable *table) {
  for (guint i = 0; i < table->groups->len; i++)
    if (is_of(profile, table->groups->pdata[i])) return TRUE;
  return FALSE;
}

/* Counts only tables of @kind with rows of the profile's device. */
static const OrrProfileModuleTable *table_at(const OrrProfile *profile, const char *kind,
                                             guint table) {
  const GPtrArray *tables = orr_profile_modules(profile)->tables;
  for (guint i = 0; i < orr_profile_length(tables); i++) {
    const OrrProfileModuleTable *one = tables->pdata[i];
    if (strcmp(one->kind, kind) == 0 && has_rows(profile, one) && table-- == 0) return one;
  }
  return NULL;
}

static guint count(const OrrProfile *profile, const char *kind) {
  guint n = 0;
  while (table_at(profile, kind, n)) n++;
  return n;
}

static guint fold_of(const OrrProfileModuleGroup *group, const double *row) {
  guint hash = g_str_hash(group->op);
  for (int i = 0; i < ORR_MODULE_NUMBERS - 1; i++) hash = hash * 31 + (guint)row[i];
  return orr_crossval_fold_of(hash);
}

/* The rows of a group outside @fold, as text; rows in it are appended to @left_out. */
static char *rest_of(const OrrProfileModuleGroup *group, guint at, guint fold, GArray *left_out,
                     GError **error) {
  g_autoptr(GArray) numbers = orr_profile_numbers(group->rows, FALSE, error);
  if (!numbers) return NULL;
  GString *rest = g_string_new(NULL);
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  for (guint i = 0; i + ORR_MODULE_NUMBERS <= numbers->len; i += ORR_MODULE_NUMBERS) {
    const double *row = &g_array_index(numbers, double, i);
    if (fold_of(group, row) == fold) {
      const OrrCrossvalPoint point = {.keys = {row[0], row[1], row[2], row[3], at},
                                      .measured_s = row[4] * 1e-6};
      if (left_out) g_array_append_val(left_out, point);
      continue;
    }
    for (int k = 0; k < ORR_MODULE_NUMBERS; k++)
      g_string_append_printf(rest, "%s ", g_ascii_dtostr(digits, sizeof digits, row[k]));
  }
  return g_string_free(rest, FALSE);
}

static gboolean leave_out(const OrrProfile *profile, const char *kind, guint table, guint fold,
                          OrrCrossvalFold *ret_fold, GError **error) {
  OrrProfileModuleTable rest = *table_at(profile, kind, table);
  g_autoptr(GPtrArray) groups = g_ptr_array_new();
  for (guint i = 0; i < rest.groups->len; i++) {
    OrrProfileModuleGroup group = *(OrrProfileModuleGroup *)rest.groups->pdata[i];
    GArray *left_out = is_of(profile, &group) ? ret_fold->left_out : NULL;
    group.rows = rest_of(&group, i, fold, left_out, error);
    if (!group.rows) return FALSE;
    orr_crossval_own_text(ret_fold, group.rows);
    g_ptr_array_add(groups, orr_crossval_own(ret_fold, &group, sizeof group));
  }
  rest.groups = orr_crossval_own_array(ret_fold, groups);
  ret_fold->rest.modules.tables =
      orr_crossval_own_list(ret_fold, orr_crossval_own(ret_fold, &rest, sizeof rest));
  return TRUE;
}

static const OrrProfileModuleGroup *group_of(const OrrProfile *profile, const char *kind,
                                             guint table, const OrrCrossvalPoint *point) {
  return table_at(profile, kind, table)->groups->pdata[(guint)point->keys[GROUP]];
}

static OrrCost query(const OrrCostModel *model, const OrrProfile *profile,
                     const OrrProfileModuleGroup *group, const OrrCrossvalPoint *point) {
  const OrrModuleCall call = {group->op,
                              group->device,
                              group->engine,
                              group->kernel,
                              group->weights,
                              group->cache,
                              group->mode ? group->mode : "",
                              orr_profile_module_layer(orr_profile_modules(profile), group->layer),
                              point->keys[HEADS],
                              point->keys[SEQUENCES],
                              point->keys[QUERIES],
                              point->keys[N_KEYS]};
  return orr_cost_module(model, &call);
}

static guint region(const OrrProfileModuleGroup *group) {
  for (guint i = SGLANG; i < OTHER; i++)
    if (strcmp(group->engine, regions[i]) == 0) return i;
  return OTHER;
}

/* --- the two families --- */

#define FAMILY(prefix_, kind_)                                                                     \
  static guint prefix_##_tables(const OrrProfile *profile) { return count(profile, kind_); }       \
  static char *prefix_##_label(const OrrProfile *profile, guint table) {                           \
    return g_strdup(table_at(profile, kind_, table)->name);                                        \
  }                                                                                                \
  static gboolean prefix_##_leave_out(const OrrProfile *profile, guint table, guint fold,          \
                                      OrrCrossvalFold *ret_fold, GError **error) {                 \
    return leave_out(profile, kind_, table, fold, ret_fold, error);                                \
  }                                                                                                \
  static OrrCost prefix_##_query(const OrrCostModel *model, const OrrProfile *profile,             \
                                 guint table, const OrrCrossvalPoint *point) {                     \
    return query(model, profile, group_of(profile, kind_, table, point), point);                   \
  }                                                                                                \
  static guint prefix_##_region(const OrrCostModel *model, const OrrProfile *profile, guint table, \
                                const OrrCrossvalPoint *point) {                                   \
    return region(group_of(profile, kind_, table, point));                                         \
  }                                                                                                \
  const OrrCrossvalFamily orr_crossval_##prefix_##_attention = {#prefix_ "-attention",             \
                                                                keys,                              \
                                                                regions,                           \
                                                                prefix_##_tables,                  \
                                                                prefix_##_label,                   \
                                                                prefix_##_leave_out,               \
                                                                prefix_##_query,                   \
                                                                prefix_##_region};

FAMILY(linear, "linear")
FAMILY(sparse, "sparse")

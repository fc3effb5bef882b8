/*
 * sweep_variant.c - combinations as scenarios, with as little reading as possible.
 *
 * There are two kinds of axes. A plain axis (a number or word of the workload) is assigned in a
 * scenario that was read before. Every other axis - the model, the machine, the pipeline's schedule
 * - is structural: its values make another variant of the scenario, which is read once and kept:
 *
 *   combination --structural values--> variant: tree, scenario, place of each plain axis in it
 *               --plain values-------> assigned in place, if they differ from the current values
 *   variant --cluster, seed, on-missing--> machine: profile, costs, fabric; shared by variants with
 *                                          equal ones
 *
 * Invariant: a machine borrows from the scenario it was made of, so that scenario must outlive it.
 * When there are too many variants, all variants and machines are dropped together.
 */
#include "sim/sweep/sweep_variant.h"

#include "sim/base/yaml.h"
#include "sim/sweep/sweep_axis.h"
#include "sim/sweep/sweep_combination.h"
#include "sim/sweep/sweep_facts.h"

#define MOST_VARIANTS 512
#define NOT_SET G_MAXUINT

typedef struct {
  const OrrField *field;
  void *data;
  guint at; /* index of the value assigned last, or NOT_SET */
} PlainAxis;

typedef struct {
  OrrNode *tree;
  OrrScenario *scenario;
  char *refusal; /* the reason when scenario is NULL */
  PlainAxis *plain;
  const OrrRunWorld *world; /* NULL: not made yet */
} Variant;

struct OrrSweepVariants {
  const OrrSweepPlan *plan;
  GHashTable *variants; /* text of the structural values -> Variant */
  GHashTable *worlds;   /* text of the cluster -> OrrRunWorld */
  GString *key;
  Variant *last;
  OrrDiags *diags;
};

static void variant_free(gpointer data) {
  Variant *variant = data;
  orr_node_free(variant->tree);
  orr_scenario_free(variant->scenario);
  ORR_FREE(variant->refusal, variant->plain, variant);
}

OrrSweepVariants *orr_sweep_variants_new(const OrrSweepPlan *plan) {
  OrrSweepVariants *variants = g_new0(OrrSweepVariants, 1);
  variants->plan = plan;
  variants->variants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, variant_free);
  variants->worlds =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)orr_run_world_free);
  variants->key = g_string_new(NULL);
  variants->diags = orr_diags_new();
  return variants;
}

void orr_sweep_variants_free(OrrSweepVariants *variants) {
  if (!variants) return;
  g_hash_table_unref(variants->worlds); /* first: machines borrow from scenarios */
  g_hash_table_unref(variants->variants);
  g_string_free(variants->key, TRUE);
  orr_diags_free(variants->diags);
  g_free(variants);
}

/* The first diagnostic without its place; newly allocated. */
static char *first_message(const OrrDiags *diags) {
  g_autofree char *text = orr_diags_text(diags);
  char *end = strchr(text, '\n');
  if (end) *end = '\0';
  const char *message = strstr(text, "error: ");
  return g_strdup(message ? message + strlen("error: ") : text);
}

static void clear_diags(OrrSweepVariants *variants) {
  if (orr_diags_n_errors(variants->diags) + orr_diags_n_warnings(variants->diags) == 0) return;
  orr_diags_free(variants->diags);
  variants->diags = orr_diags_new();
}

/* --- Making a variant --- */

static gboolean set(Variant *variant, const char *path, const char *text) {
  g_autoptr(GError) error = NULL;
  if (orr_field_set(&orr_scenario_table, variant->tree, path, text, &error)) return TRUE;
  variant->refusal = g_strdup(error->message);
  return FALSE;
}

static gboolean set_structural(const OrrSweepPlan *plan, Variant *variant, guint64 combination) {
  if (plan->schedule_axis >= 0 || plan->chunks_axis >= 0) {
    g_autofree char *pipeline =
        orr_sweep_combination_pipeline(plan, combination, &variant->refusal);
    if (variant->refusal || !set(variant, "workload.pipeline", pipeline)) return FALSE;
  }
  for (guint i = 0; i < plan->n_axes; i++) {
    const OrrSweepAxis *axis = plan->axes->pdata[i];
    if (axis->is_plain || (int)i == plan->schedule_axis || (int)i == plan->chunks_axis) continue;
    if (!set(variant, axis->path, orr_sweep_combination_value(plan, combination, i)->text))
      return FALSE;
  }
  return TRUE;
}

static void find_plain(const OrrSweepPlan *plan, Variant *variant) {
  variant->plain = g_new0(PlainAxis, plan->n_axes + 1);
  for (guint i = 0; i < plan->n_axes; i++) {
    const OrrSweepAxis *axis = plan->axes->pdata[i];
    PlainAxis *plain = &variant->plain[i];
    if (!axis->is_plain) continue;
    plain->field =
        orr_field_assign_member(&orr_scenario_table, variant->scenario, axis->path, &plain->data);
    plain->at = NOT_SET;
  }
}

static Variant *variant_new(OrrSweepVariants *variants, guint64 combination) {
  Variant *variant = g_new0(Variant, 1);
  variant->tree = orr_node_copy(variants->plan->tree);
  if (!set_structural(variants->plan, variant, combination)) return variant;
  variant->scenario =
      orr_scenario_read_fields(variants->plan->library, variant->tree, variants->diags);
  if (variant->scenario)
    find_plain(variants->plan, variant);
  else
    variant->refusal = first_message(variants->diags);
  clear_diags(variants);
  return variant;
}

static void make_key(OrrSweepVariants *variants, guint64 combination) {
  const OrrSweepPlan *plan = variants->plan;
  g_string_truncate(variants->key, 0);
  for (guint i = 0; i < plan->n_axes; i++)
    if (!((const OrrSweepAxis *)plan->axes->pdata[i])->is_plain)
      g_string_append_printf(variants->key, ",%u",
                             orr_sweep_combination_index(plan, combination, i));
}

static Variant *variant_of(OrrSweepVariants *variants, guint64 combination) {
  make_key(variants, combination);
  Variant *variant = g_hash_table_lookup(variants->variants, variants->key->str);
  if (variant) return variant;
  if (g_hash_table_size(variants->variants) >= MOST_VARIANTS) {
    g_hash_table_remove_all(variants->worlds);
    g_hash_table_remove_all(variants->variants);
  }
  variant = variant_new(variants, combination);
  g_hash_table_insert(variants->variants, g_strdup(variants->key->str), variant);
  return variant;
}

/* --- Scenarios and machines --- */

/* Assigns the plain axes, and writes the values of all axes into @values. */
static gboolean assign(OrrSweepVariants *variants, Variant *variant, guint64 combination,
                       OrrValue *values, char **ret_reason) {
  const OrrSweepPlan *plan = variants->plan;
  for (guint i = plan->n_axes; i-- > 0;) {
    const OrrSweepAxis *axis = plan->axes->pdata[i];
    const guint at = (guint)(combination % axis->values->len);
    const OrrNode *node = axis->values->pdata[at];
    PlainAxis *plain = &variant->plain[i];
    combination /= axis->values->len;
    OrrValue *value = &values[plan->first_axis + i];
    *value = axis->is_number ? (OrrValue){.type = ORR_VALUE_NUMBER,
                                          .number = g_array_index(axis->numbers, double, at)}
                             : (OrrValue){.type = ORR_VALUE_TEXT, .text = node->text};
    values[plan->first_axis + plan->n_axes + i] = *value;
    if (!axis->is_plain || plain->at == at) continue;
    if (!plain->field || !orr_field_assign(plain->field, node, variants->diags, plain->data)) {
      *ret_reason = plain->field ? first_message(variants->diags)
                                 : g_strdup_printf("this scenario has no %s", axis->path);
      clear_diags(variants);
      return FALSE;
    }
    plain->at = at;
  }
  return TRUE;
}

OrrScenario *orr_sweep_variants_scenario(OrrSweepVariants *variants, guint64 combination,
                                         OrrValue *ret_values, char **ret_reason) {
  Variant *variant = variant_of(variants, combination);
  variants->last = variant;
  *ret_reason = NULL;
  if (!variant->scenario) {
    *ret_reason = g_strdup(variant->refusal);
    return NULL;
  }
  if (!assign(variants, variant, combination, ret_values, ret_reason)) return NULL;
  orr_sweep_facts_fill(variants->plan, variant->scenario, ret_values);
  return variant->scenario;
}

char *orr_sweep_variants_check(OrrSweepVariants *variants) {
  const OrrPlace place = {g_intern_static_string("sweep"), 0, 0};
  orr_scenario_check(variants->last->scenario, place, variants->diags);
  char *finding = orr_diags_n_errors(variants->diags) > 0 ? first_message(variants->diags) : NULL;
  clear_diags(variants);
  return finding;
}

static char *world_key(const OrrScenario *scenario) {
  g_autoptr(OrrNode) cluster = orr_field_dump(&orr_cluster_table, &scenario->cluster);
  g_autofree char *text = orr_yaml_text(cluster);
  return g_strdup_printf("%ld %d %s", scenario->seed, scenario->on_missing, text);
}

const OrrRunWorld *orr_sweep_variants_world(OrrSweepVariants *variants, GError **error) {
  Variant *variant = variants->last;
  if (variant->world) return variant->world;
  g_autofree char *key = world_key(variant->scenario);
  OrrRunWorld *world = g_hash_table_lookup(variants->worlds, key);
  if (!world) {
    world = orr_run_world_new(variants->plan->library, variant->scenario, error);
    if (!world) return NULL;
    g_hash_table_insert(variants->worlds, g_steal_pointer(&key), world);
  }
  return variant->world = world;
}

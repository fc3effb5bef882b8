/*
 * sweep_variant.c - combinations as scenarios, with as little reading as possible.
 *
 * Axes are of two kinds. A plain one (a number or word of the workload) is assigned in the scenario
 * that was read; all others - the model, the machine, the pipeline's schedule - make another
 * variant, which is read once and kept:
 *
 *   combination --structural values--> variant: tree, scenario, where each plain axis lies in it
 *                --plain values------> assigned in place, where they differ from what stands there
 *   variant --cluster, seed, on-missing--> machine: profile, costs, fabric; shared by variants that have the same
 *
 * Invariant: what a machine was made of (a variant's scenario) outlives it; so all are dropped
 * together, when there are too many.
 */
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/sweep/sweep_private.h"
#include "workloads/training/training.h"

#define MOST_VARIANTS 512
#define NOT_SET G_MAXUINT

typedef struct {
  const OrrField *field;
  void *data;
  guint at; /* the value that stands there: index, or NOT_SET */
} PlainAxis;

typedef struct {
  OrrNode *tree;
  OrrScenario *scenario;
  char *refusal; /* why there is no scenario */
  PlainAxis *plain;
  const OrrRunWorld *world; /* NULL: not asked for yet */
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
  g_free(variant->refusal);
  g_free(variant->plain);
  g_free(variant);
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
  g_hash_table_unref(variants->worlds); /* first: they look into scenarios */
  g_hash_table_unref(variants->variants);
  g_string_free(variants->key, TRUE);
  orr_diags_free(variants->diags);
  g_free(variants);
}

/* The first finding without its place. */
static char *first_finding(const OrrDiags *diags) {
  g_autofree char *text = orr_diags_text(diags);
  char *end = strchr(text, '\n');
  if (end) *end = '\0';
  const char *message = strstr(text, "error: ");
  return g_strdup(message ? message + strlen("error: ") : text);
}

static void forget_findings(OrrSweepVariants *variants) {
  if (orr_diags_n_errors(variants->diags) + orr_diags_n_warnings(variants->diags) == 0) return;
  orr_diags_free(variants->diags);
  variants->diags = orr_diags_new();
}

char *orr_sweep_reason(const char *message) {
  GString *reason = g_string_new(NULL);
  for (const char *c = message; *c; c++) {
    const char before = c > message ? c[-1] : ' ';
    const gboolean in_word = g_ascii_isalnum(before) || strchr("-_.#", before);
    if (!g_ascii_isdigit(*c) || in_word) {
      g_string_append_c(reason, *c);
      continue;
    }
    while (g_ascii_isdigit(c[1]) || (c[1] == '.' && g_ascii_isdigit(c[2]))) c++;
    g_string_append_c(reason, '#');
  }
  if (reason->len >= ORR_REASON_BYTES) g_string_truncate(reason, ORR_REASON_BYTES - 1);
  char *valid = g_utf8_make_valid(reason->str, (gssize)reason->len);
  g_string_free(reason, TRUE);
  return valid;
}

/* --- Making a variant --- */

static const char *value_text(const OrrSweepPlan *plan, guint64 combination, int axis) {
  return axis < 0 ? NULL : orr_sweep_value(plan, combination, (guint)axis)->text;
}

/* schedule and chunks are one choice: chunks are parameters of some schedules alone, and a
 * schedule that takes them with one chunk is 1F1B again. */
char *orr_sweep_pipeline(const OrrSweepPlan *plan, guint64 combination, char **ret_refusal) {
  const char *schedule = value_text(plan, combination, plan->schedule_axis);
  const char *chunks = value_text(plan, combination, plan->chunks_axis);
  if (!chunks) return g_strdup(schedule);
  const gboolean one = g_str_equal(chunks, "1");
  const char *kind = schedule ? schedule : one ? "1f1b" : "interleaved-1f1b";
  const OrrEntry *entry = orr_registry_find(&orr_pipeline_registry, kind);
  gboolean takes = FALSE;
  for (size_t i = 0; entry && entry->params && i < entry->params->n_fields; i++)
    takes = takes || g_str_equal(entry->params->fields[i].name, "chunks");
  if (entry && takes == one)
    *ret_refusal = g_strdup(one ? "a schedule that takes chunks has one: that is 1f1b"
                                : "chunks are for a schedule that takes them");
  return takes ? g_strdup_printf("{kind: %s, chunks: %s}", kind, chunks) : g_strdup(kind);
}

static gboolean set(Variant *variant, const char *path, const char *text) {
  g_autoptr(GError) error = NULL;
  if (orr_field_set(&orr_scenario_table, variant->tree, path, text, &error)) return TRUE;
  variant->refusal = g_strdup(error->message);
  return FALSE;
}

static gboolean set_structural(const OrrSweepPlan *plan, Variant *variant, guint64 combination,
                               guint rung) {
  if (plan->schedule_axis >= 0 || plan->chunks_axis >= 0) {
    g_autofree char *pipeline = orr_sweep_pipeline(plan, combination, &variant->refusal);
    if (variant->refusal || !set(variant, "workload.pipeline", pipeline)) return FALSE;
  }
  for (guint i = 0; i < plan->n_axes; i++) {
    const OrrSweepAxis *axis = plan->axes->pdata[i];
    if (axis->is_plain || (int)i == plan->schedule_axis || (int)i == plan->chunks_axis) continue;
    if (!set(variant, axis->path, orr_sweep_value(plan, combination, i)->text)) return FALSE;
  }
  const OrrNode *settings = orr_sweep_rung(plan, rung);
  for (guint i = 0; settings && i < orr_node_length(settings); i++)
    if (!set(variant, ((const OrrNode *)settings->keys->pdata[i])->text,
             ((const OrrNode *)settings->items->pdata[i])->text))
      return FALSE;
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

static Variant *variant_new(OrrSweepVariants *variants, guint64 combination, guint rung) {
  Variant *variant = g_new0(Variant, 1);
  variant->tree = orr_node_copy(variants->plan->tree);
  if (!set_structural(variants->plan, variant, combination, rung)) return variant;
  variant->scenario =
      orr_scenario_read_fields(variants->plan->library, variant->tree, variants->diags);
  if (variant->scenario)
    find_plain(variants->plan, variant);
  else
    variant->refusal = first_finding(variants->diags);
  forget_findings(variants);
  return variant;
}

static void make_key(OrrSweepVariants *variants, guint64 combination, guint rung) {
  const OrrSweepPlan *plan = variants->plan;
  g_string_printf(variants->key, "%u", rung);
  for (guint i = 0; i < plan->n_axes; i++)
    if (!((const OrrSweepAxis *)plan->axes->pdata[i])->is_plain)
      g_string_append_printf(variants->key, ",%u", orr_sweep_value_index(plan, combination, i));
}

static Variant *variant_of(OrrSweepVariants *variants, guint64 combination, guint rung) {
  make_key(variants, combination, rung);
  Variant *variant = g_hash_table_lookup(variants->variants, variants->key->str);
  if (variant) return variant;
  if (g_hash_table_size(variants->variants) >= MOST_VARIANTS) {
    g_hash_table_remove_all(variants->worlds);
    g_hash_table_remove_all(variants->variants);
  }
  variant = variant_new(variants, combination, rung);
  g_hash_table_insert(variants->variants, g_strdup(variants->key->str), variant);
  return variant;
}

/* --- Asking --- */

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
      *ret_reason = plain->field ? first_finding(variants->diags)
                                 : g_strdup_printf("there is no %s here", axis->path);
      forget_findings(variants);
      return FALSE;
    }
    plain->at = at;
  }
  return TRUE;
}

OrrScenario *orr_sweep_scenario(OrrSweepVariants *variants, guint64 combination, guint rung,
                                OrrValue *ret_values, char **ret_reason) {
  Variant *variant = variant_of(variants, combination, rung);
  variants->last = variant;
  *ret_reason = NULL;
  if (!variant->scenario) {
    *ret_reason = g_strdup(variant->refusal);
    return NULL;
  }
  if (!assign(variants, variant, combination, ret_values, ret_reason)) return NULL;
  orr_sweep_fill_facts(variants->plan, variant->scenario, ret_values);
  return variant->scenario;
}

char *orr_sweep_check(OrrSweepVariants *variants) {
  const OrrPlace place = {g_intern_static_string("sweep"), 0, 0};
  orr_scenario_check(variants->last->scenario, place, variants->diags);
  char *finding = orr_diags_n_errors(variants->diags) > 0 ? first_finding(variants->diags) : NULL;
  forget_findings(variants);
  return finding;
}

static char *world_key(const OrrScenario *scenario) {
  g_autoptr(OrrNode) cluster = orr_field_dump(&orr_cluster_table, &scenario->cluster);
  g_autofree char *text = orr_yaml_text(cluster);
  return g_strdup_printf("%" G_GINT64_FORMAT " %d %s", scenario->seed, scenario->on_missing, text);
}

const OrrRunWorld *orr_sweep_world(OrrSweepVariants *variants, GError **error) {
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

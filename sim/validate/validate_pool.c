/*
 * validate_pool.c - simulates cases in child processes (children.h), which answer with one GVariant
 * of type ANSWER each.
 */
#include "sim/validate/validate_private.h"

#include "sim/base/yaml.h"
#include "sim/run/answer/training_rows.h"
#include "sim/base/children.h"
#include "sim/run/scenario_stack.h"

/* ok, failed, reason, OrrResult as its bytes, time parts, memory parts, engine, fidelity,
 * stack, likeness. */
#define ANSWER "(bbsayssssss)"

/* --- In the child --- */

static GVariant *pack(gboolean failed, const char *reason, const OrrScenario *scenario,
                      const OrrOutcome *outcome, const char *likeness) {
  static const OrrResult nothing;
  const OrrResult *result = outcome ? &outcome->result : &nothing;
  g_autofree char *times = outcome ? outcome->kind->explain(outcome) : g_strdup("");
  g_autofree char *memory = outcome ? orr_training_rows_memory_parts(outcome) : g_strdup("");
  g_autofree char *valid = g_utf8_make_valid(reason, -1);
  const char *engine = outcome && outcome->engine ? outcome->engine : "";
  const char *fidelity = outcome && outcome->fidelity ? outcome->fidelity : "";
  GVariant *bytes = g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, result, sizeof *result, 1);
  return g_variant_ref_sink(g_variant_new(
      "(bbs@ayssssss)", outcome != NULL, failed, valid, bytes, times, memory, engine, fidelity,
      scenario ? orr_scenario_stack_name(&scenario->workload) : "", likeness));
}

/* Divides the metrics of @result by the ones that the case's scenario `over` gives. FALSE with the
 * reason. */
static gboolean divide(OrrLibrary *library, const OrrValidateCase *one, OrrResult *result,
                       GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, one->over, diags);
  if (!scenario) {
    orr_diags_check(diags, error);
    g_prefix_error(error, "over: ");
    return FALSE;
  }
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, error);
  if (!outcome) {
    g_prefix_error(error, "over: ");
    return FALSE;
  }
  ORR_EACH_VALUE(const OrrField *const, field, one->metrics)
    *(double *)(void *)((char *)result + field->offset) /=
        *(const double *)(const void *)((const char *)&outcome->result + field->offset);
  return TRUE;
}

static GVariant *replay(OrrLibrary *library, const OrrValidateCase *one) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, one->tree, diags);
  if (!scenario) {
    g_autofree char *text = orr_diags_text(diags);
    return pack(FALSE, text, NULL, NULL, "");
  }
  g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
  if (!outcome) return pack(orr_fault_exit_status(error) != 2, error->message, scenario, NULL, "");
  const OrrLikenessRow row = orr_likeness_of(library, scenario, outcome);
  g_autofree char *likeness = orr_residuals_likeness_text(&row);
  if (one->over && !divide(library, one, &outcome->result, &error))
    return pack(orr_fault_exit_status(error) != 2, error->message, scenario, NULL, "");
  return pack(FALSE, "", scenario, outcome, likeness);
}

/* A pool: the cases, and which of them the children simulate. */
typedef struct {
  OrrLibrary *library;
  const GPtrArray *cases;
  const GArray *chosen; /* of guint */
  OrrValidationProgress progress;
  void *user;
} Pool;

/* A failure is part of the answer: @error stays unset. */
static GBytes *work(guint index, void *user, GError **error) {
  const Pool *pool = user;
  const OrrValidateCase *one = pool->cases->pdata[g_array_index(pool->chosen, guint, index)];
  g_autoptr(GVariant) answer = replay(pool->library, one);
  return g_variant_get_data_as_bytes(answer);
}

/* --- In the parent --- */

static void validate_answer_free(OrrValidateAnswer *answer) {
  if (!answer) return;
  ORR_FREE(answer->reason, answer->time_parts, answer->memory_parts, answer->engine,
           answer->fidelity, answer->stack, answer);
}

static OrrValidateAnswer *answer_failed(char *reason) {
  OrrValidateAnswer *answer = g_new0(OrrValidateAnswer, 1);
  answer->failed = TRUE;
  answer->reason = reason;
  return answer;
}

static OrrValidateAnswer *unpack(GBytes *bytes) {
  g_autoptr(GVariant) packed =
      g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(ANSWER), bytes, FALSE));
  g_autoptr(GVariant) result = NULL;
  g_autofree char *likeness = NULL;
  gsize n = 0;
  if (!g_variant_is_normal_form(packed))
    return answer_failed(g_strdup("the simulation ended before its result was complete"));
  OrrValidateAnswer *answer = g_new0(OrrValidateAnswer, 1);
  g_variant_get(packed, "(bbs@ayssssss)", &answer->ok, &answer->failed, &answer->reason, &result,
                &answer->time_parts, &answer->memory_parts, &answer->engine, &answer->fidelity,
                &answer->stack, &likeness);
  if (answer->ok) orr_residuals_likeness_parse(likeness, &answer->likeness);
  gconstpointer data = g_variant_get_fixed_array(result, &n, 1);
  memcpy(&answer->result, data, MIN(n, sizeof answer->result));
  return answer;
}

/* Answers a case that cannot be simulated. */
static OrrValidateAnswer *answer_refused(const OrrValidateCase *one) {
  OrrValidateAnswer *answer = answer_failed(g_strdup(one->refused));
  answer->failed = FALSE;
  return answer;
}

static void show_progress(guint n_done, void *user) {
  const Pool *pool = user;
  const guint n = pool->cases->len;
  if (pool->progress) pool->progress(n - pool->chosen->len + n_done, n, pool->user);
}

/* Each machine once. */
static void warm(const Pool *pool) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  ORR_EACH_VALUE(const guint, value, pool->chosen) {
    const OrrValidateCase *one = pool->cases->pdata[value];
    const OrrNode *cluster = orr_node_get(one->tree, "cluster");
    if (!cluster || !g_hash_table_add(seen, orr_yaml_text(cluster))) continue;
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrScenario) scenario = orr_scenario_read(pool->library, one->tree, diags);
    orr_run_world_warm(pool->library, scenario);
  }
}

GPtrArray *orr_validate_pool_run(OrrLibrary *library, GPtrArray *cases, guint jobs,
                                 OrrValidationProgress progress, void *user) {
  GPtrArray *answers = g_ptr_array_new_with_free_func((GDestroyNotify)validate_answer_free);
  g_autoptr(GArray) chosen = g_array_new(FALSE, FALSE, sizeof(guint));
  g_ptr_array_set_size(answers, (int)cases->len);
  ORR_EACH_POINTER_AT(i, const OrrValidateCase, one, cases) {
    if (one->refused)
      answers->pdata[i] = answer_refused(one);
    else
      g_array_append_val(chosen, i);
  }
  Pool pool = {library, cases, chosen, progress, user};
  const OrrChildren children = {
      .n = chosen->len, .jobs = jobs, .work = work, .progress = show_progress, .user = &pool};
  warm(&pool);
  orr_engine_prepare(ORR_ENGINE_SIMGRID, NULL); /* once, instead of in each child */
  g_autoptr(GPtrArray) found = orr_children_run(&children);
  ORR_EACH_POINTER_AT(i, OrrChildAnswer, one, found)
    answers->pdata[g_array_index(chosen, guint, i)] =
        one->bytes ? unpack(one->bytes) : answer_failed(g_strdup(one->error->message));
  return answers;
}

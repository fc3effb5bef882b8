#include "sim/run/simulate.h"

#include <string.h>

#include "sim/base/fault.h"
#include "sim/run/kinds.h"

/* What a profile does not hold of its own is told, not hidden. */
static void warn_of_rows(const OrrProfile *profile, const OrrDevice *device, GPtrArray *warnings) {
  const char *rows_of = orr_profile_device(profile);
  if (!orr_profile_has_kernels(profile))
    g_ptr_array_add(warnings,
                    g_strdup_printf("no kernel of %s was measured: all are modelled from its datasheet", device->name));
  else if (!device->profile && strcmp(rows_of, device->name) != 0)
    g_ptr_array_add(warnings, g_strdup_printf("no kernel of %s was measured: those of %s are carried to its datasheet",
                                              device->name, rows_of));
}

static OrrProfile *load_profile(OrrLibrary *library, const OrrDevice *device, OrrOutcome *outcome, GError **error) {
  const char *name = device->profile ? device->profile : device->name;
  g_autofree char *path = orr_library_path(library, "profile", name);
  if (!path && !device->profile) {
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("no measured profile of %s: kernels are modelled from its datasheet", device->name));
    return NULL;
  }
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrPlace place = {g_intern_string(device->name), 0, 0};
  g_autoptr(OrrNode) tree = orr_library_load(library, "profile", name, place, diags);
  g_autoptr(OrrProfile) profile = tree ? orr_profile_read(tree, library, diags) : NULL;
  if (!orr_diags_check(diags, error)) return NULL;
  warn_of_rows(profile, device, outcome->warnings);
  return g_steal_pointer(&profile);
}

/* The device that @profile's rows were measured on, from the library: a scenario may have changed its own. FALSE, and
 * @ret_device untouched, where the library does not know it. */
static gboolean load_measured_device(OrrLibrary *library, const OrrProfile *profile, OrrDevice *ret_device) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const char *name = orr_profile_device(profile);
  const OrrPlace place = {g_intern_string(orr_profile_name(profile)), 0, 0};
  g_autoptr(OrrNode) tree = orr_library_load(library, "device", name, place, diags);
  OrrDevice device;
  if (!tree) return FALSE;
  const gboolean is_read = orr_fields_read(&orr_device_table, tree, library, diags, &device);
  if (is_read)
    *ret_device = device;
  else
    orr_fields_clear(&orr_device_table, &device);
  return is_read;
}

typedef struct {
  OrrDevice device;
  gboolean is_known;
} MeasuredDevice;

static void measured_device_clear(MeasuredDevice *measured) {
  if (measured->is_known) orr_fields_clear(&orr_device_table, &measured->device);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MeasuredDevice, measured_device_clear)

static OrrEngine *choose_engine(const OrrScenario *scenario, const OrrWork *work, GError **error) {
  const gboolean ideal = scenario->engine == ORR_REPLAY_IDEAL ||
                         (scenario->engine == ORR_REPLAY_AUTO && orr_program_uncontended(work->program));
  return orr_engine_new(ideal ? ORR_ENGINE_IDEAL : ORR_ENGINE_SIMGRID, error);
}

static gboolean replay(const OrrScenario *scenario, const OrrWork *work, OrrReplayed *replayed, OrrOutcome *outcome,
                       GError **error) {
  g_autoptr(OrrEngine) engine = choose_engine(scenario, work, error);
  if (!engine) return FALSE;
  outcome->engine = g_strdup(orr_engine_settings(engine));
  if (!orr_executor_run(work->program, engine, orr_ledger_span, replayed->ledger, replayed->link_bytes,
                        &replayed->replay, error))
    return FALSE;
  orr_ledger_close(replayed->ledger, replayed->replay.end_s);
  return TRUE;
}

/* Members that every kind's result has. */
static void *result_member(OrrOutcome *outcome, const char *name) {
  for (size_t i = 0; i < outcome->kind->result->n_fields; i++)
    if (g_str_equal(outcome->kind->result->fields[i].name, name))
      return (char *)&outcome->result + outcome->kind->result->fields[i].offset;
  g_return_val_if_reached(NULL);
}

static void fill_integer(OrrOutcome *outcome, const char *name, gint64 value) {
  *(gint64 *)result_member(outcome, name) = value;
}

static void fill_wall_time(OrrOutcome *outcome, gint64 begin_us) {
  outcome->wall_time_s = (double)(g_get_monotonic_time() - begin_us) * 1e-6;
  *(double *)result_member(outcome, "wall-time-s") = outcome->wall_time_s;
}

static gboolean replay_and_collect(const OrrScenario *scenario, const OrrFabric *fabric, const OrrWork *work,
                                   gboolean keep_spans, OrrOutcome *outcome, GError **error) {
  g_autoptr(GArray) spans = keep_spans ? g_array_new(FALSE, FALSE, sizeof(OrrSpan)) : NULL;
  g_autoptr(OrrLedger) ledger = orr_ledger_new(work, spans);
  g_autofree double *link_bytes = g_new0(double, orr_program_n_links(work->program) + 1);
  OrrReplayed replayed = {.work = work, .fabric = fabric, .ledger = ledger, .spans = spans, .link_bytes = link_bytes};
  if (!replay(scenario, work, &replayed, outcome, error)) return FALSE;
  outcome->kind = orr_run_kind(work->kind);
  fill_integer(outcome, "n-gpus", work->n_gpus);
  fill_integer(outcome, "events", (gint64)replayed.replay.n_events);
  outcome->kind->rows(scenario, &replayed, outcome);
  return TRUE;
}

static OrrOutcome *outcome_new(void) {
  OrrOutcome *outcome = g_new0(OrrOutcome, 1);
  outcome->nccl_tests = g_array_new(FALSE, TRUE, sizeof(OrrNcclTestRow));
  outcome->steps = g_array_new(FALSE, TRUE, sizeof(OrrStepRow));
  outcome->lanes = g_array_new(FALSE, TRUE, sizeof(OrrLaneRow));
  outcome->spans = g_array_new(FALSE, TRUE, sizeof(OrrSpanRow));
  outcome->times = g_array_new(FALSE, TRUE, sizeof(OrrTimeRow));
  outcome->operators = g_array_new(FALSE, TRUE, sizeof(OrrOperatorRow));
  outcome->collectives = g_array_new(FALSE, TRUE, sizeof(OrrCollectiveRow));
  outcome->links = g_array_new(FALSE, TRUE, sizeof(OrrLinkRow));
  outcome->memory = g_array_new(FALSE, TRUE, sizeof(OrrMemoryRow));
  outcome->warnings = g_ptr_array_new_with_free_func(g_free);
  return outcome;
}

/* What the profile's loading warns of is that the device was not measured. */
static gboolean check_profile(const GPtrArray *warnings, GError **error) {
  if (warnings->len == 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s (on-missing: error)", (const char *)warnings->pdata[0]);
  return FALSE;
}

OrrOutcome *orr_simulate(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans, GError **error) {
  const gint64 begin = g_get_monotonic_time();
  g_autoptr(OrrOutcome) outcome = outcome_new();
  g_autoptr(GError) failure = NULL;
  g_autoptr(OrrProfile) profile = load_profile(library, &scenario->cluster.device, outcome, &failure);
  if (failure) {
    g_propagate_error(error, g_steal_pointer(&failure));
    return NULL;
  }
  if (scenario->on_missing == ORR_ON_MISSING_ERROR && !check_profile(outcome->warnings, error)) return NULL;
  const OrrDevice *device = &scenario->cluster.device;
  g_auto(MeasuredDevice) measured = {0};
  measured.is_known = profile && load_measured_device(library, profile, &measured.device);
  if (profile && !measured.is_known)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("the library has no device %s, which the profile was measured on: its rows are taken as %s's",
                        orr_profile_device(profile), device->name));
  g_autoptr(OrrCostModel) cost =
      orr_cost_model_new_scaled(profile, measured.is_known ? &measured.device : device, device, error);
  if (!cost) return NULL;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&scenario->cluster, scenario->seed, error);
  if (!fabric) return NULL;
  const OrrWorld world = {
      &scenario->model, &scenario->cluster, fabric, cost, scenario->fidelity, (OrrOnMissing)scenario->on_missing};
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  g_autoptr(OrrWork) work = kind->compile(scenario->workload.params, &world, error);
  if (!work || !replay_and_collect(scenario, fabric, work, keep_spans, outcome, error)) return NULL;
  outcome->fidelity = orr_fidelity_words[work->fidelity];
  fill_wall_time(outcome, begin);
  return g_steal_pointer(&outcome);
}

void orr_outcome_free(OrrOutcome *outcome) {
  if (!outcome) return;
  GArray *const arrays[] = {outcome->nccl_tests, outcome->steps,       outcome->lanes, outcome->spans, outcome->times,
                            outcome->operators,  outcome->collectives, outcome->links, outcome->memory};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++) g_array_unref(arrays[i]);
  g_ptr_array_unref(outcome->warnings);
  g_free(outcome->engine);
  g_free(outcome);
}

/*
 * simulate_faults.c - one workload on a machine on which things go wrong.
 *
 *   1. Where faults have a rate: compile the work without faults and replay it alone. Its end
 *      says for how long to draw outages.
 *   2. Draw the outages. Their marks split the rank classes that they touch, and no others.
 *   3. Compile the work, and once more for each set of dead links that routes avoid. Refine the
 *      classes until all compilations have the same, so that communication c is the same in all.
 *   4. Replay it alone, without faults: the baseline of the steps.
 *   5. Replay it with faults: links, lanes and routes change at their dates.
 */
#include "sim/run/run_private.h"

#include "workloads/serving/serving_work.h"

/* After this many rounds of refining, every replica is replayed. */
#define MOST_ROUNDS 8

/* --- Compilation --- */

typedef struct {
  OrrWorld world;
  const OrrScenario *scenario;
  const OrrFabric *fabric;
  GPtrArray *outages;
  OrrMarks *marks;
  GArray *detours;    /* of OrrDetour */
  GPtrArray *fabrics; /* of OrrFabric, per detour; NULL: as built */
  OrrWork *work;
  OrrWork **works; /* per detour; NULL: as built */
  OrrAlone clean;  /* without faults */
} Faulty;

static void free_works(Faulty *faulty) {
  g_clear_pointer(&faulty->work, orr_work_free);
  for (guint d = 0; faulty->works && d < faulty->detours->len; d++)
    g_clear_pointer(&faulty->works[d], orr_work_free);
}

static void faulty_clear(Faulty *faulty) {
  free_works(faulty);
  g_free(faulty->works);
  g_clear_pointer(&faulty->marks, orr_outages_free_marks);
  g_clear_pointer(&faulty->fabrics, g_ptr_array_unref);
  g_clear_pointer(&faulty->detours, g_array_unref);
  g_clear_pointer(&faulty->outages, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Faulty, faulty_clear)

static OrrWork *compile_on(const Faulty *faulty, const OrrFabric *fabric, GError **error) {
  OrrWorld world = faulty->world;
  world.fabric = fabric;
  world.marks = faulty->marks;
  world.is_faulty = TRUE;
  world.is_shared = faulty->marks && g_hash_table_size(faulty->marks->links) > 0;
  return ((const OrrWorkloadKind *)faulty->scenario->workload.entry)
      ->compile(faulty->scenario->workload.params, &world, error);
}

static gboolean same_lanes(const OrrWork *a, const OrrWork *b) {
  if (orr_work_is_live(a)) return TRUE;
  return a->lane_of_gpu->len == b->lane_of_gpu->len &&
         memcmp(a->lane_of_gpu->data, b->lane_of_gpu->data,
                a->lane_of_gpu->len * sizeof(guint32)) == 0;
}

static gboolean all_agree(const Faulty *faulty) {
  for (guint d = 0; d < faulty->detours->len; d++)
    if (faulty->works[d] && !same_lanes(faulty->work, faulty->works[d])) return FALSE;
  return TRUE;
}

/* GPUs in different classes in any of the works get different marks, hence classes in all. */
static void refine_marks(Faulty *faulty) {
  for (guint g = 0; g < faulty->work->lane_of_gpu->len; g++) {
    guint64 mark = orr_random_hash3(faulty->marks->gpus[g],
                                    g_array_index(faulty->work->lane_of_gpu, guint32, g), 9);
    for (guint d = 0; d < faulty->detours->len; d++)
      if (faulty->works[d])
        mark = orr_random_hash3(mark, g_array_index(faulty->works[d]->lane_of_gpu, guint32, g), d);
    faulty->marks->gpus[g] = mark;
  }
}

static gboolean compile_each(Faulty *faulty, GError **error) {
  free_works(faulty);
  faulty->work = compile_on(faulty, faulty->fabric, error);
  for (guint d = 0; faulty->work && d < faulty->detours->len; d++) {
    const OrrFabric *fabric = faulty->fabrics->pdata[d];
    if (!fabric) continue;
    faulty->works[d] = compile_on(faulty, fabric, error);
    if (!faulty->works[d]) return FALSE;
  }
  return faulty->work != NULL;
}

static gboolean compile_all(Faulty *faulty, GError **error) {
  faulty->detours = orr_detours_find(faulty->outages, faulty->fabric);
  if (!orr_detours_check(faulty->detours, error)) return FALSE;
  faulty->marks = orr_outages_marks(faulty->outages, NULL, orr_fabric_n_gpus(faulty->fabric));
  faulty->fabrics = orr_detours_fabrics(faulty->detours, faulty->fabric);
  faulty->works = g_new0(OrrWork *, faulty->detours->len + 1);
  for (guint round = 0; round < MOST_ROUNDS; round++) {
    if (!compile_each(faulty, error)) return FALSE;
    if (all_agree(faulty)) return TRUE;
    refine_marks(faulty);
  }
  faulty->world.fidelity = ORR_FIDELITY_FULL;
  return compile_each(faulty, error);
}

static OrrOutageJob outage_job(const Faulty *faulty) {
  return (OrrOutageJob){.work = faulty->work,
                        .n_gpus = orr_fabric_n_gpus(faulty->fabric),
                        .gpus_per_node = faulty->scenario->cluster.node.gpus};
}

static void take_changes(Faulty *faulty, const OrrOutageJob *job) {
  faulty->work->gpu_changes = orr_outages_gpu_changes(faulty->outages, job);
  faulty->work->fabric_changes =
      orr_fabric_changes_find(faulty->outages, faulty->detours, faulty->fabrics, faulty->fabric);
}

/* Whether faults of links slow what an engine itself sends: collectives, sends between stages. */
static gboolean feels_links(const OrrWork *work) {
  return work->fabric_changes && work->kind == &orr_serving_kind &&
         ((const OrrServingWork *)work)->params.parallel.feed.gpus == 0;
}

void orr_simulate_faults_warn(const OrrWork *work, const GPtrArray *outages, GPtrArray *warnings) {
  gboolean any = FALSE;
  for (guint i = 0; i < outages->len; i++) {
    const GArray *effects = ((const OrrOutage *)outages->pdata[i])->effects;
    ORR_EACH(const OrrFaultEffect, effect, effects) any |= effect->kind == ORR_FAULT_EFFECT_LINK;
  }
  if (!any || !orr_work_is_live(work) || feels_links(work)) return;
  g_ptr_array_add(
      warnings, g_strdup("faults of links slow flows between engines, but not the collectives and "
                         "exchanges within them, which take as long as without faults"));
}

/* Replaces the work's program with one to which the outages happen. */
static gboolean strike(Faulty *faulty, GError **error) {
  OrrOutageJob job = outage_job(faulty);
  const OrrProgramPart part = {NULL, faulty->work->program,
                               (const guint32 *)(void *)faulty->work->links->data, 0};
  g_autoptr(OrrProgram) program = orr_program_merge(&part, 1, &job.offset);
  orr_outages_apply(program, &job, 1, faulty->outages, faulty->detours, faulty->works);
  if (orr_work_is_live(faulty->work)) take_changes(faulty, &job);
  if (!orr_program_seal(program, error)) return FALSE;
  orr_program_free(faulty->work->program);
  faulty->work->program = g_steal_pointer(&program);
  return TRUE;
}

/* --- Answers --- */

gboolean orr_simulate_faults_check_end(const OrrScenario *scenario, const GPtrArray *outages,
                                       double end_s, GError **error) {
  ORR_EACH_POINTER(const OrrOutage, outage, outages) {
    const OrrFaultSpec *spec = scenario->faults->pdata[outage->spec];
    if (spec->mtbf_s > 0 || outage->begin_s < end_s) continue;
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "faults.%u: %s begins at %g s, after the run ends at %.6g s: it would have no effect",
        outage->spec + 1, outage->what, outage->begin_s, end_s);
  }
  return TRUE;
}

/* Over the steps within [@from_s, @to_s], or, where @whole is FALSE, the steps that overlap it. */
static double mean_step(const GArray *steps, double from_s, double to_s, gboolean whole) {
  double sum = 0;
  guint n = 0;
  ORR_EACH(const OrrStepRow, step, steps) {
    const gboolean inside = whole ? step->begin_s >= from_s && step->end_s <= to_s
                                  : step->begin_s < to_s && step->end_s > from_s;
    if (!inside) continue;
    sum += step->end_s - step->begin_s;
    n++;
  }
  return n > 0 ? sum / n : NAN;
}

void orr_simulate_faults_rows(const OrrStruckJob *job, GArray *rows) {
  const GArray *steps = job->steps;
  ORR_EACH_POINTER(const OrrOutage, outage, job->outages) {
    if (outage->begin_s > job->end_s) continue;
    const double begin_s = outage->begin_s - job->start_s, over_s = outage->end_s - job->start_s;
    ORR_APPEND(
        rows, OrrFaultRow,
        {
            .fault = outage->spec + 1,
            .kind = (char *)outage->kind,
            .what = (char *)g_intern_string(outage->what),
            .begin_s = outage->begin_s,
            .end_s = isfinite(outage->end_s) ? outage->end_s : NAN,
            .step_before_s = mean_step(steps, 0, begin_s, TRUE),
            .step_during_s = mean_step(steps, begin_s, over_s, FALSE),
            .step_after_s = isfinite(over_s) ? mean_step(steps, over_s, INFINITY, TRUE) : NAN,
            .step_without_s = job->n_steps > 0 ? job->clean_s / (double)job->n_steps : NAN,
        });
  }
}

/* A job that loses one of its nodes stops there. */
static gboolean check_loss(const Faulty *faulty, const OrrOutcome *outcome, GError **error) {
  const OrrOutageJob job = outage_job(faulty);
  const OrrOutage *loss = orr_outages_loss(faulty->outages, &job);
  guint whole = 0;
  if (!loss || loss->begin_s >= outcome->job->end_s) return TRUE;
  ORR_EACH(const OrrStepRow, row, outcome->steps) whole += row->end_s <= loss->begin_s;
  return orr_fault_set(error, ORR_FAULT_STUCK,
                       "%s at %g s: the job stopped in step %u, with %u of %u steps complete",
                       loss->what, loss->begin_s, whole, whole, outcome->steps->len);
}

static void note_end(const Faulty *faulty, double end_s, OrrOutcome *outcome) {
  OrrJobRow *row = g_new0(OrrJobRow, 1);
  outcome->job = outcome->own_job = row;
  *row = (OrrJobRow){.job = (char *)g_intern_string(faulty->scenario->name),
                     .n_gpus = faulty->work->n_gpus,
                     .gpus = g_strdup_printf("0-%ld", faulty->work->n_gpus - 1),
                     .end_s = end_s,
                     .together_s = end_s,
                     .alone_s = faulty->clean.end_s,
                     .slowdown = faulty->clean.end_s > 0 ? end_s / faulty->clean.end_s : 1};
  if (!orr_work_is_live(faulty->work)) return;
  orr_work_times(faulty->work, NULL, &row->together_s);
  row->alone_s = faulty->clean.answer_s;
  row->slowdown = row->alone_s > 0 ? row->together_s / row->alone_s : 1;
}

static gboolean run(Faulty *faulty, const OrrSimulation *simulation, OrrOutcome *outcome,
                    GError **error) {
  double end_s = 0;
  OrrSimulation whole = *simulation;
  whole.brief = FALSE; /* nothing is steady while things change */
  const OrrRunWork one = {faulty->scenario, faulty->fabric, faulty->work, &whole};
  if (!orr_run_work(&one, outcome, &end_s, error)) {
    if (error && g_error_matches(*error, ORR_FAULT, ORR_FAULT_STUCK) &&
        !orr_work_is_live(faulty->work))
      g_prefix_error(error, "job %s: ", faulty->scenario->name);
    return FALSE;
  }
  note_end(faulty, end_s, outcome);
  if (!orr_simulate_faults_check_end(faulty->scenario, faulty->outages, end_s, error) ||
      !check_loss(faulty, outcome, error))
    return FALSE;
  const OrrStruckJob job = {.outages = faulty->outages,
                            .steps = outcome->steps,
                            .n_steps = outcome->steps->len,
                            .end_s = end_s,
                            .clean_s = faulty->clean.end_s};
  orr_simulate_faults_rows(&job, outcome->faults);
  orr_simulate_faults_warn(faulty->work, faulty->outages, outcome->warnings);
  if (end_s > ORR_FAULT_HORIZON * faulty->clean.end_s)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("the run took more than %d times as long as without faults: no faults "
                        "at a rate were drawn after that",
                        ORR_FAULT_HORIZON));
  return TRUE;
}

static gboolean find_horizon(const Faulty *faulty, double *ret_horizon_s, GError **error) {
  OrrAlone alone = {0};
  g_autoptr(OrrWork) work = compile_on(faulty, faulty->fabric, error);
  if (!work || !orr_alone_simulate(faulty->scenario, work, &alone, error)) return FALSE;
  *ret_horizon_s = ORR_FAULT_HORIZON * alone.end_s;
  return TRUE;
}

gboolean orr_simulate_faults_run(const OrrWorld *world, const OrrScenario *scenario,
                                 const OrrSimulation *simulation, OrrOutcome *outcome,
                                 GError **error) {
  g_auto(Faulty) faulty = {.world = *world, .scenario = scenario, .fabric = world->fabric};
  const OrrFaults faults = orr_scenario_faults(scenario);
  double horizon_s = 0;
  if (orr_faults_at_rates(&faults) && !find_horizon(&faulty, &horizon_s, error)) return FALSE;
  faulty.outages = orr_faults_draw(&faults, world->fabric, horizon_s, error);
  if (!faulty.outages || !compile_all(&faulty, error) ||
      !orr_alone_simulate(scenario, faulty.work, &faulty.clean, error) || !strike(&faulty, error) ||
      !run(&faulty, simulation, outcome, error))
    return FALSE;
  outcome->fidelity = orr_fidelity_words[faulty.work->fidelity];
  return TRUE;
}

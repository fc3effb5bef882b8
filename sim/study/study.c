/*
 * study.c - reads and replays each variant in a child, which answers with an OrrStudyAnswer.
 *
 * The engine's module, profiles and tables of kernels are there before the children fork: they take
 * longer to read and to build than most replays.
 */
#include "sim/study/study.h"

#include "sim/base/children.h"

/* A step is shortened as far as it has a steady state; SimGrid has one attempt in a process. */
static OrrOutcome *simulate_brief(const OrrRunWorld *world, const OrrScenario *scenario,
                                  GError **error) {
  for (guint shorten = scenario->engine == ORR_REPLAY_SIMGRID ? 0 : 1;; shorten++) {
    gboolean too_short = FALSE;
    const OrrSimulation options = {.brief = TRUE, .shorten = shorten, .too_short = &too_short};
    OrrOutcome *outcome = orr_simulate_in(world, scenario, &options, error);
    if (!too_short) return outcome;
  }
}

static OrrOutcome *simulate(const OrrStudy *study, const OrrScenario *scenario, GError **error) {
  g_autoptr(OrrRunWorld) own =
      study->world ? NULL : orr_run_world_new(study->library, scenario, error);
  const OrrRunWorld *world = study->world ? study->world : own;
  if (!world || study->is_brief) return world ? simulate_brief(world, scenario, error) : NULL;
  return orr_simulate_in(world, scenario, &(OrrSimulation){0}, error);
}

static GBytes *work(guint index, void *user, GError **error) {
  const OrrStudy *study = user;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = study->tree(index, study->user, error);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read(study->library, tree, diags) : NULL;
  if (tree && !scenario) orr_diags_check(diags, error);
  g_autoptr(OrrOutcome) outcome = scenario ? simulate(study, scenario, error) : NULL;
  if (!outcome) return NULL;
  OrrStudyAnswer answer = {.kind = outcome->kind->kind, .result = outcome->result};
  memcpy(answer.seconds, outcome->time_by_kind, sizeof answer.seconds);
  return g_bytes_new(&answer, sizeof answer);
}

static void warm(const OrrStudy *study) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = study->n > 1 ? study->tree(0, study->user, NULL) : NULL;
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read(study->library, tree, diags) : NULL;
  orr_run_world_warm(study->library, scenario);
}

static void progress(guint n_done, void *user) {
  const OrrStudy *study = user;
  if (study->progress) study->progress(n_done, study->user);
}

static gboolean stop(void *user) {
  const OrrStudy *study = user;
  return study->stop(study->user);
}

OrrStudyAnswer *orr_study_run(const OrrStudy *study) {
  OrrStudyAnswer *answers = g_new0(OrrStudyAnswer, MAX(study->n, 1));
  const OrrChildren children = {.n = study->n,
                                .jobs = study->jobs,
                                .work = work,
                                .progress = progress,
                                .stop = study->stop ? stop : NULL,
                                .user = (void *)study};
  /* Where it fails, the child that needs SimGrid reports it. */
  orr_engine_prepare(ORR_ENGINE_SIMGRID, NULL);
  if (!study->world) warm(study);
  g_autoptr(GPtrArray) found = orr_children_run(&children);
  for (guint i = 0; i < study->n; i++) {
    OrrChildAnswer *one = found->pdata[i];
    if (one->bytes) memcpy(&answers[i], g_bytes_get_data(one->bytes, NULL), sizeof answers[i]);
    answers[i].error = g_steal_pointer(&one->error);
  }
  return answers;
}

void orr_study_free(OrrStudyAnswer *answers, guint n) {
  for (guint i = 0; answers && i < n; i++) g_clear_error(&answers[i].error);
  g_free(answers);
}

/*
 * sweep_point.c - checks a point's scenario and its memory, then simulates it.
 *
 * A process can run one SimGrid engine in its life, so a point that needs SimGrid runs in a child:
 *
 *   worker --fork--> child: simulates, sends the answer, exits 0
 *                    exits TOO_SHORT_STATUS: the shortened step has no steady state; try a longer
 *                                            one
 *                    killed: the worker exits too, and the pool tries the point again
 */
#include "sim/sweep/sweep_point.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sweep/sweep_facts.h"
#include "sim/sweep/sweep_report.h"

static void set_status(OrrSweepAnswer *answer, OrrPointStatus status, const char *reason) {
  answer->status = (gint32)status;
  orr_sweep_reasons_copy(answer->reason, reason);
}

static void set_fault(OrrSweepAnswer *answer, const GError *error) {
  set_status(answer, orr_fault_exit_status(error) == 2 ? ORR_POINT_REFUSED : ORR_POINT_FAILED,
             error->message);
}

/* The first constraint on results that does not hold; NULL: all hold. */
static const OrrSweepRule *judge(const OrrSweepPlan *plan, OrrValue *values,
                                 OrrSweepAnswer *answer) {
  const OrrSweepRule *violated = NULL;
  orr_sweep_facts_fill_result(plan, &answer->result, values);
  ORR_EACH_POINTER(const OrrSweepRule, rule, plan->wheres)
    if (!violated && rule->after && !orr_expression_holds(rule->expression, values))
      violated = rule;
  answer->eligible = !violated;
  for (guint i = 0; i < plan->objectives->len; i++)
    answer->score[i] = orr_expression_number(
        ((const OrrSweepRule *)plan->objectives->pdata[i])->expression, values);
  return violated;
}

/* --- A child for SimGrid --- */

typedef struct {
  pid_t child; /* in the worker: its child; 0: this process simulates */
} Fork;

#define TOO_SHORT_STATUS 78 /* exit status of a child that found no steady state */

static gboolean fork_here(void *user) {
  Fork *state = user;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends with the worker */
  state->child = pid > 0 ? pid : 0;
  return pid <= 0; /* without a child, this process simulates and uses up its engine */
}

/* Waits for the child, which sends the answer itself; sends one for a child that crashed. FALSE:
 * the shortened step had no steady state. */
static gboolean wait_for(pid_t child, OrrSweepAnswer *answer, OrrSweepSend send, void *user) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == TOO_SHORT_STATUS) return FALSE;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TRUE;
  g_autofree char *reason = WIFSIGNALED(status)
                                ? g_strdup_printf("ended by signal %d (%s)", WTERMSIG(status),
                                                  g_strsignal(WTERMSIG(status)))
                                : g_strdup_printf("left with status %d", WEXITSTATUS(status));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) _exit(ORR_KILLED_STATUS);
  set_status(answer, ORR_POINT_CRASHED, reason);
  send(answer, user);
  return TRUE;
}

/* --- The point --- */

/* Whether the point's memory fits. FALSE: @answer has the reason, and there is nothing to
 * simulate. */
static gboolean fits(OrrSweepVariants *variants, const OrrScenario *scenario,
                     OrrSweepAnswer *answer) {
  g_autoptr(GError) error = NULL;
  const OrrRunWorld *machine = orr_sweep_variants_world(variants, &error);
  if (!machine) {
    set_fault(answer, error);
    return FALSE;
  }
  g_autofree char *reason = orr_run_world_refuse(machine, scenario, &answer->memory_bytes);
  if (!reason) return TRUE;
  set_status(answer, ORR_POINT_UNFIT, reason);
  return FALSE;
}

/* The state of a point while it is simulated. */
typedef struct {
  OrrSweepVariants *variants;
  const OrrSweepPlan *plan;
  OrrSweepReport *seen;
  const OrrScenario *scenario;
  OrrValue *values; /* of the plan's names: facts and axes, later results */
  OrrSweepAnswer answer;
  OrrSweepSend send;
  void *user;
} Point;

static void fill(Point *point, const OrrOutcome *outcome) {
  OrrSweepAnswer *answer = &point->answer;
  answer->status = ORR_POINT_OK;
  answer->result = outcome->result;
  answer->folded = g_strcmp0(outcome->fidelity, "folded") == 0;
  memcpy(answer->seconds, outcome->time_by_kind, sizeof answer->seconds);
  g_strlcpy(answer->engine, outcome->engine, sizeof answer->engine);
  const OrrSweepRule *violated = judge(point->plan, point->values, answer);
  if (violated) orr_sweep_reasons_copy(answer->reason, violated->text);
  if (!orr_sweep_report_add(point->seen, point->plan, answer)) return;
  const OrrLikenessRow likeness = orr_likeness_of(point->plan->library, point->scenario, outcome);
  orr_sweep_likeness_pack(&likeness, &answer->likeness);
}

/* Simulates the point once; FALSE if the step was shortened too much. */
static gboolean attempt(Point *point, guint shorten) {
  g_autoptr(GError) error = NULL;
  Fork state = {0};
  gboolean too_short = FALSE;
  const gint64 begin_us = g_get_monotonic_time();
  const pid_t self = getpid();
  const OrrSimulation options = {.before_simgrid = fork_here,
                                 .user = &state,
                                 .brief = TRUE,
                                 .shorten = shorten,
                                 .too_short = &too_short,
                                 .looks = point->answer.looks};
  g_autoptr(OrrOutcome) outcome = orr_simulate_in(orr_sweep_variants_world(point->variants, NULL),
                                                  point->scenario, &options, &error);
  if (state.child > 0) return wait_for(state.child, &point->answer, point->send, point->user);
  if (too_short && getpid() != self) _exit(TOO_SHORT_STATUS);
  if (too_short) return FALSE;
  if (outcome)
    fill(point, outcome);
  else
    set_fault(&point->answer, error);
  point->answer.wall_time_s = (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
  point->send(&point->answer, point->user);
  if (getpid() != self) _exit(0);
  return TRUE;
}

/* A bound of the point's objectives. Faults can end a step before its time. Where no outline can be
 * made, compiling reports why. Scores that are not numbers rule nothing out. */
static void bound(Point *point) {
  const OrrScenario *scenario = point->scenario;
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  const OrrWorld world =
      orr_run_world_of(orr_sweep_variants_world(point->variants, NULL), scenario);
  OrrSweepAnswer *answer = &point->answer;
  answer->is_bound = TRUE;
  for (guint i = 0; i < ORR_SWEEP_MOST_OBJECTIVES; i++) answer->score[i] = NAN;
  if (!kind->outline || orr_scenario_has_faults(scenario)) return;
  g_autoptr(OrrWork) work =
      kind->outline(scenario->workload.params, &world, &answer->least_s, NULL);
  if (!work) return;
  g_autoptr(OrrOutcome) outcome = orr_outcome_new();
  const OrrReplayed outline = {.work = work,
                               .cluster = &scenario->cluster,
                               .prices = &scenario->prices,
                               .fabric = world.fabric};
  orr_kinds_outline(&outline, answer->least_s, outcome);
  answer->result = outcome->result;
  judge(point->plan, point->values, answer);
}

/* Simulates a shortened step, whose steady state stands for the micro-batches that it leaves out;
 * when it has no steady state, tries longer steps up to the whole one. */
static void simulate(Point *point) {
  guint shorten = point->plan->whole_steps ? 0 : 1;
  while (!attempt(point, shorten)) shorten++;
}

/* The scenario of the task; NULL when the workload's checks refuse it, with the reason in the
 * answer. */
static const OrrScenario *check(Point *point, const OrrSweepTask *task) {
  g_autofree char *finding = NULL;
  const OrrScenario *scenario =
      orr_sweep_variants_scenario(point->variants, task->combination, point->values, &finding);
  if (scenario) finding = orr_sweep_variants_check(point->variants);
  if (!finding) return scenario;
  set_status(&point->answer, ORR_POINT_REFUSED, finding);
  return NULL;
}

void orr_sweep_point_run(OrrSweepVariants *variants, const OrrSweepPlan *plan, OrrSweepReport *seen,
                         const OrrSweepTask *task, OrrSweepSend send, void *user) {
  g_autofree OrrValue *values = g_new0(OrrValue, plan->names->len);
  Point point = {.variants = variants,
                 .plan = plan,
                 .seen = seen,
                 .values = values,
                 .send = send,
                 .user = user};
  point.answer = (OrrSweepAnswer){.point = task->point, .combination = task->combination};
  point.scenario = check(&point, task);
  const gboolean runs = point.scenario && fits(variants, point.scenario, &point.answer);
  if (runs && task->work == ORR_SWEEP_SIMULATE) return simulate(&point);
  if (runs) bound(&point);
  send(&point.answer, user);
}

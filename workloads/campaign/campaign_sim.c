/*
 * campaign_sim.c - one seed of a campaign.
 *
 *   run_until_trouble   the job trains: checkpoints, slow intervals, nodes that come back
 *        | a failure, or a planned restart
 *   recover             detect, diagnose, plan (policy.h), wait, reschedule, initialise, load
 *        | a failure in one of the last three begins the recovery again
 *        v
 *   run_until_trouble ...
 *
 * While the job trains, progress grows by 1/slow a second; `slow` is what a replay found for the
 * worst straggler of the moment, times the same for the replicas that are missing. A step waits for
 * its slowest part: of two that are slow at once, or one that is slow twice, the worse counts.
 *
 * The nodes that the job has fail whether it trains or waits; nodes in repair and spares do not.
 * With m of n nodes missing a process of nodes has (n - m) / n of its hazard: exact for nodes that
 * fail one by one; racks are taken as if whole ones were missing.
 */
#include "workloads/campaign/campaign_sim.h"

const char *const orr_campaign_phase_words[] = {"run",        "detect",     "diagnose", "wait",
                                                "reschedule", "initialise", "load",     "recompute",
                                                "slow",       "stall",      "planned",  NULL};

typedef struct {
  double back_s;
  gint64 nodes, lemons;
} Repair;

typedef struct {
  double end_s, slow;
  guint cause;
} Slow;

typedef struct {
  double found_s, since_s; /* since this progress the job computes nonsense */
  guint process;
} Corruption;

typedef struct {
  const OrrCampaignInput *input;
  OrrCampaignHistory *history;
  OrrCampaignDraw *draws;
  guint n_draws;
  guint first; /* of @draws, the one that strikes next */
  OrrCampaignCheckpoints *checkpoints;
  GArray *repairs;     /* of Repair */
  GArray *slows;       /* of Slow */
  GArray *corruptions; /* of Corruption */
  double now_s, progress_s, planned_s;
  double together_s;          /* when replicas that are apart rejoin; INFINITY: none is */
  gint64 free, out, missing;  /* spares; nodes out of service; nodes that the job lacks */
  gint64 lemons, free_lemons; /* of the job's nodes; of the spares */
  OrrRandom lots;             /* which node is a lemon */
  OrrRandom finds;            /* which lemon is found out */
  gint64 apart;               /* replicas that copy their state from others */
  gboolean stopped;
} Sim;

static const OrrCampaignProcess *process_at(const Sim *sim, guint i) {
  return sim->draws[i].process;
}

/* As fmin and fmax, which are calls and take a tenth of a campaign; no date is NaN. */
static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

/* --- Time --- */

static void lose(Sim *sim, guint cause, int phase, double seconds) {
  g_array_index(sim->history->lost, double, cause *ORR_N_PHASES + (guint)phase) += seconds;
}

/* Replicas that have a part on one of @nodes nodes, which hold whole ones. */
static gint64 replicas_on(const Sim *sim, gint64 nodes) {
  const OrrCampaignInput *in = sim->input;
  return in->replicas > 0 ? (nodes * in->replicas + in->nodes - 1) / in->nodes : 0;
}

static gint64 replicas_lost(const Sim *sim) {
  return MAX(replicas_on(sim, sim->missing), sim->apart);
}

static void note(Sim *sim, double begin_s, int phase, guint cause) {
  GArray *events = sim->history->events;
  if (!events || sim->now_s <= begin_s) return;
  /* The thousands of waits for checkpoints that are shorter than a step count as running. */
  if (phase == ORR_PHASE_STALL && sim->now_s - begin_s < sim->input->step_s) {
    phase = ORR_PHASE_RUN;
    cause = 0;
  }
  const OrrCampaignEvent event = {
      begin_s,  sim->now_s,     phase, (int)cause, sim->input->replicas - replicas_lost(sim),
      sim->out, sim->progress_s};
  OrrCampaignEvent *last =
      events->len > 0 ? &g_array_index(events, OrrCampaignEvent, events->len - 1) : NULL;
  if (last && last->phase == phase && last->cause == event.cause &&
      last->replicas == event.replicas && last->nodes_out == event.nodes_out) {
    last->end_s = event.end_s;
    last->progress_s = event.progress_s;
  } else {
    g_array_append_val(events, event);
  }
}

static void pass(Sim *sim, double to_s) {
  GArray *out_s = sim->history->out_s;
  if (out_s->len <= (guint)sim->out) g_array_set_size(out_s, (guint)sim->out + 1);
  g_array_index(out_s, double, sim->out) += to_s - sim->now_s;
  sim->history->most_out = MAX(sim->history->most_out, sim->out);
  sim->now_s = to_s;
}

/* --- Nodes --- */

static double next_back(const Sim *sim) {
  double back_s = INFINITY;
  ORR_EACH(const Repair, repair, sim->repairs) back_s = least(back_s, repair->back_s);
  return back_s;
}

static void take_back(Sim *sim) {
  for (guint i = sim->repairs->len; i-- > 0;) {
    const Repair repair = g_array_index(sim->repairs, Repair, i);
    if (repair.back_s > sim->now_s) continue;
    sim->free += repair.nodes;
    sim->free_lemons += repair.lemons;
    sim->out -= repair.nodes;
    g_array_remove_index_fast(sim->repairs, i);
  }
}

/* After each change of a date. */
static void find_first(Sim *sim) {
  sim->first = 0;
  for (guint i = 1; i < sim->n_draws; i++)
    if (sim->draws[i].next_s < sim->draws[sim->first].next_s) sim->first = i;
}

/* --- Lemons: nodes that fail more often --- */

/* Lemons among @taken of @nodes nodes, @lemons of them lemons; @weight: how many times as likely as
 * another node one is taken. */
static gint64 draw_lemons(Sim *sim, gint64 taken, gint64 nodes, gint64 lemons, double weight) {
  gint64 found = 0;
  for (gint64 i = 0; i < taken && lemons > found; i++) {
    const double left = (double)(lemons - found) * weight;
    const double others = (double)(nodes - lemons - (i - found));
    found += orr_random_unit(&sim->lots) * (left + others) < left;
  }
  return found;
}

/* Whether a process strikes single nodes, whether or not they go out of service. */
static gboolean knows_lemons(const OrrCampaignProcess *p) { return !p->is_of_job && !p->is_rack; }

/* At @at_s the job's nodes are others, and so is how often they fail. */
static void scale_rates(Sim *sim, double at_s) {
  const double n = (double)sim->input->nodes, present = n - (double)sim->missing;
  const double worse = (double)sim->lemons * (sim->input->lemon_multiple - 1);
  for (guint i = 0; i < sim->n_draws; i++) {
    OrrCampaignDraw *draw = &sim->draws[i];
    if (draw->process->is_of_job) continue; /* stragglers, too */
    const double factor = (present + (knows_lemons(draw->process) ? worse : 0)) / n;
    if (draw->next_s > at_s)
      orr_campaign_draw_scale(draw, at_s, factor);
    else
      draw->factor = factor; /* of the strike after this one */
  }
  find_first(sim);
}

static void take_spares(Sim *sim) {
  const gint64 taken = MIN(sim->free, sim->missing);
  const gint64 lemons = draw_lemons(sim, taken, sim->free, sim->free_lemons, 1);
  sim->free -= taken;
  sim->free_lemons -= lemons;
  sim->missing -= taken;
  sim->lemons += lemons;
  if (taken > 0) scale_rates(sim, sim->now_s);
}

/* Of @lemons that failed, those that come back: the others are found out and replaced. */
static gint64 keep_lemons(Sim *sim, gint64 lemons) {
  gint64 kept = 0;
  for (gint64 i = 0; i < lemons; i++)
    kept += orr_random_unit(&sim->finds) >= sim->input->lemon_found;
  return kept;
}

static void send_to_repair(Sim *sim, OrrCampaignDraw *draw) {
  const gint64 present = sim->input->nodes - sim->missing;
  const gint64 nodes = MIN(draw->process->nodes, present);
  const double weight = knows_lemons(draw->process) ? sim->input->lemon_multiple : 1;
  Repair repair = {draw->next_s + orr_campaign_draw_repair(draw), nodes, 0};
  if (nodes <= 0) return;
  repair.lemons = draw_lemons(sim, nodes, present, sim->lemons, weight);
  sim->lemons -= repair.lemons;
  sim->out += nodes;
  sim->missing += nodes;
  scale_rates(sim, draw->next_s);
  repair.lemons = keep_lemons(sim, repair.lemons);
  g_array_append_val(sim->repairs, repair);
}

/* --- Failures --- */

static double next_strike(const Sim *sim) {
  return sim->n_draws > 0 ? sim->draws[sim->first].next_s : INFINITY;
}

static void draw_next(Sim *sim, guint i) {
  orr_campaign_draw_next(&sim->draws[i]);
  find_first(sim);
}

static void count(Sim *sim, guint process) {
  sim->history->n_failures += process_at(sim, process)->slow <= 0; /* the job goes on */
  g_array_index(sim->history->failures, gint64, process + ORR_N_CAUSES)++;
}

/* The job is down already: what fails now is replaced with the rest. */
static void absorb(Sim *sim) {
  while (next_strike(sim) <= sim->now_s) {
    const guint i = sim->first;
    const OrrCampaignProcess *p = process_at(sim, i);
    if (p->nodes > 0 && !p->is_silent && p->slow <= 0) {
      count(sim, i);
      send_to_repair(sim, &sim->draws[i]);
      orr_campaign_checkpoints_lose(sim->checkpoints, p->kills_host, p->is_rack);
    }
    draw_next(sim, i);
  }
}

/* Passes time in which the job does not train. Whatever strikes at its very end is left. */
static void idle(Sim *sim, double to_s, int phase, guint cause) {
  to_s = least(to_s, sim->input->duration_s);
  while (sim->now_s < to_s) {
    const double begin_s = sim->now_s;
    pass(sim, least(to_s, most(least(next_back(sim), next_strike(sim)), sim->now_s)));
    take_back(sim);
    if (sim->now_s > begin_s) lose(sim, cause, phase, sim->now_s - begin_s);
    note(sim, begin_s, phase, cause);
    if (sim->now_s < to_s) absorb(sim);
  }
}

/* --- Recovery --- */

/* Whether the failure of @cause leaves no replica that is healthy. */
static gboolean loses_all(const Sim *sim, guint cause) {
  const gint64 replicas = sim->input->replicas;
  return process_at(sim, cause - ORR_N_CAUSES)->is_of_job || replicas <= 1 ||
         replicas_lost(sim) >= replicas;
}

static OrrRecoveryPlan make_plan(const Sim *sim, gboolean is_planned, gboolean all_lost) {
  OrrRecoveryPlan plan = {0};
  const OrrRecoveryCase what = {is_planned, all_lost,           sim->missing,
                                sim->free,  sim->input->step_s, &sim->input->times};
  sim->input->policy->plan(sim->input->policy_params, &what, &plan);
  return plan;
}

static gint64 most_lost(const Sim *sim) { return (gint64)sim->input->shrunk->len - 1; }

/* Spares take the places of lost nodes; without enough, the job shrinks or waits. FALSE: for ever.
 * */
static gboolean fill_places(Sim *sim, const OrrRecoveryPlan *plan, guint cause) {
  while (sim->now_s < sim->input->duration_s) {
    take_back(sim);
    take_spares(sim);
    if (sim->missing == 0 || (plan->shrinks && replicas_lost(sim) <= most_lost(sim))) return TRUE;
    if (isinf(next_back(sim))) return FALSE; /* nobody repairs them */
    idle(sim, next_back(sim), ORR_PHASE_WAIT, cause);
    absorb(sim);
  }
  return TRUE;
}

/* One phase of a recovery that a failure interrupts: FALSE, with its process in @cause. */
static gboolean step_through(Sim *sim, double seconds, int phase, guint *cause) {
  const double end_s = sim->now_s + seconds;
  while (next_strike(sim) < least(end_s, sim->input->duration_s)) {
    const guint i = sim->first;
    const OrrCampaignProcess *p = process_at(sim, i);
    idle(sim, sim->draws[i].next_s, phase, *cause);
    const gboolean stops = p->nodes > 0 && !p->is_silent && p->slow <= 0;
    absorb(sim);
    if (!stops) continue;
    *cause = i + ORR_N_CAUSES;
    return FALSE;
  }
  idle(sim, end_s, phase, *cause);
  return TRUE;
}

static void roll_back(Sim *sim, double to_s, guint cause) {
  if (to_s >= sim->progress_s) return;
  lose(sim, cause, ORR_PHASE_RECOMPUTE, sim->progress_s - to_s);
  sim->progress_s = to_s;
  GArray *events = sim->history->events; /* the last one ends with what is left */
  if (events && events->len > 0)
    g_array_index(events, OrrCampaignEvent, events->len - 1).progress_s = to_s;
}

/* Replicas that the failure of @cause took, with the nodes that are out of service. */
static gint64 struck_replicas(const Sim *sim, guint cause) {
  const gint64 struck = process_at(sim, cause - ORR_N_CAUSES)->struck;
  return MAX(replicas_on(sim, MAX(sim->missing, struck)), 1);
}

/* The campaign ends: what remains of it is the newest sound checkpoint that outlives the job. */
static void give_up(Sim *sim, double sound_s, guint cause) {
  sim->stopped = TRUE;
  orr_campaign_checkpoints_end(sim->checkpoints);
  roll_back(
      sim,
      orr_campaign_checkpoints_find(sim->checkpoints, least(sound_s, sim->progress_s)).progress_s,
      cause);
}

/* From the decision to the first step; FALSE: a failure came between. */
static gboolean start_again(Sim *sim, gboolean is_planned, gboolean all_lost, double sound_s,
                            guint *cause) {
  const OrrRecoveryPlan plan = make_plan(sim, is_planned, all_lost);
  if (plan.stops) give_up(sim, sound_s, *cause);
  if (sim->stopped) return TRUE;
  const gint64 apart = plan.apart_s > 0 && !is_planned ? struck_replicas(sim, *cause) : 0;
  if (!fill_places(sim, &plan, *cause)) give_up(sim, sound_s, *cause);
  if (sim->stopped) return TRUE;
  if (apart > most_lost(sim)) { /* the others wait for them */
    if (!step_through(sim, plan.apart_s, ORR_PHASE_INITIALISE, cause)) return FALSE;
  } else if (apart > 0) {
    sim->apart = MAX(sim->apart, apart);
    sim->together_s = sim->now_s + plan.apart_s;
  }
  if (plan.loses_host) orr_campaign_checkpoints_end(sim->checkpoints);
  if (!step_through(sim, plan.reschedule_s, ORR_PHASE_RESCHEDULE, cause) ||
      !step_through(sim, plan.initialise_s, ORR_PHASE_INITIALISE, cause))
    return FALSE;
  if (plan.keeps_progress && isinf(sound_s)) return TRUE;
  const OrrCampaignFound found =
      orr_campaign_checkpoints_find(sim->checkpoints, least(sound_s, sim->progress_s));
  if (!step_through(sim, found.load_s, ORR_PHASE_LOAD, cause)) return FALSE;
  roll_back(sim, found.progress_s, *cause);
  return TRUE;
}

static void begin_attempt(Sim *sim) {
  sim->history->n_restarts++;
  absorb(sim);
  orr_campaign_checkpoints_resume(sim->checkpoints, sim->progress_s);
  for (guint i = 0; i < sim->n_draws; i++) orr_campaign_draw_attempt(&sim->draws[i], sim->now_s);
  find_first(sim);
  for (guint i = sim->corruptions->len; i-- > 0;)
    if (g_array_index(sim->corruptions, Corruption, i).since_s >= sim->progress_s)
      g_array_remove_index_fast(sim->corruptions, i);
}

/* @sound_s: later checkpoints are corrupt. */
static void recover(Sim *sim, guint cause, gboolean is_planned, double sound_s) {
  gboolean is_running = FALSE, all_lost = FALSE;
  while (!is_running && !sim->stopped && sim->now_s < sim->input->duration_s) {
    if (!is_planned) {
      const OrrCampaignProcess *p = process_at(sim, cause - ORR_N_CAUSES);
      const double detect_s = p->is_silent ? 0 : p->detect_s;
      idle(sim, sim->now_s + detect_s, ORR_PHASE_DETECT, cause);
      absorb(sim);
      idle(sim, sim->now_s + p->diagnose_s, ORR_PHASE_DIAGNOSE, cause);
      absorb(sim);
    }
    all_lost = all_lost || (!is_planned && loses_all(sim, cause));
    is_running = start_again(sim, is_planned, all_lost, sound_s, &cause);
    if (!is_running) is_planned = FALSE;
  }
  if (!sim->stopped) begin_attempt(sim);
}

/* --- Training --- */

/* The worst straggler of the moment; NULL: there is none. */
static const Slow *worst(const Sim *sim) {
  const Slow *found = NULL;
  ORR_EACH(const Slow, one, sim->slows)
    if (!found || one->slow > found->slow) found = one;
  return found;
}

static double slowness(const Sim *sim) {
  const Slow *straggler = worst(sim);
  return g_array_index(sim->input->shrunk, double, MIN(replicas_lost(sim), most_lost(sim))) *
         (straggler ? straggler->slow : 1);
}

/* Whose slowness it is: the worst straggler's, or the missing replica's. */
static guint slow_cause(const Sim *sim) {
  const Slow *straggler = worst(sim);
  return straggler ? straggler->cause : ORR_CAUSE_REJOIN;
}

static double next_slow_end(const Sim *sim) {
  double end_s = INFINITY;
  ORR_EACH(const Slow, slow, sim->slows) end_s = least(end_s, slow->end_s);
  return end_s;
}

static double next_found(const Sim *sim) {
  double found_s = INFINITY;
  ORR_EACH(const Corruption, corruption, sim->corruptions)
    found_s = least(found_s, corruption->found_s);
  return found_s;
}

static void train(Sim *sim, double to_s) {
  const double begin_s = sim->now_s, slow = slowness(sim);
  if (to_s <= begin_s) return;
  const guint cause = slow_cause(sim);
  sim->progress_s += (to_s - begin_s) / slow;
  if (slow > 1) lose(sim, cause, ORR_PHASE_SLOW, (to_s - begin_s) * (1 - 1 / slow));
  pass(sim, to_s);
  note(sim, begin_s, slow > 1 ? ORR_PHASE_SLOW : ORR_PHASE_RUN, slow > 1 ? cause : 0);
}

/* The job waits for a checkpoint; a failure in it is met at its end's side of the loop. */
static void stall(Sim *sim) {
  const double stall_s =
      orr_campaign_checkpoints_take(sim->checkpoints, sim->now_s, sim->progress_s);
  const double end_s = least(sim->now_s + stall_s, most(next_strike(sim), sim->now_s));
  sim->history->n_checkpoints++;
  idle(sim, end_s, ORR_PHASE_STALL, ORR_CAUSE_CHECKPOINT);
}

/* A node is back where the job lacks one, or a replica has copied its state. */
static gboolean wants_back(const Sim *sim) { return sim->missing > 0 && sim->free > 0; }

static void strike(Sim *sim) {
  const guint i = sim->first;
  const OrrCampaignProcess *p = process_at(sim, i);
  count(sim, i);
  if (p->slow > 0) {
    ORR_APPEND(sim->slows, Slow, {sim->now_s + p->slow_s, p->slow, i + ORR_N_CAUSES});
    draw_next(sim, i);
  } else if (p->is_silent) {
    ORR_APPEND(sim->corruptions, Corruption, {sim->now_s + p->detect_s, sim->progress_s, i});
    draw_next(sim, i);
  } else {
    if (p->nodes > 0) send_to_repair(sim, &sim->draws[i]);
    orr_campaign_checkpoints_fail(sim->checkpoints, sim->now_s);
    orr_campaign_checkpoints_lose(sim->checkpoints, p->kills_host, p->is_rack);
    draw_next(sim, i);
    recover(sim, i + ORR_N_CAUSES, FALSE, INFINITY);
  }
}

static void find_corruption(Sim *sim) {
  ORR_EACH_VALUE_AT(i, const Corruption, corruption, sim->corruptions) {
    if (corruption.found_s > sim->now_s) continue;
    g_array_remove_index_fast(sim->corruptions, i);
    orr_campaign_checkpoints_fail(sim->checkpoints, sim->now_s);
    recover(sim, corruption.process + ORR_N_CAUSES, FALSE, corruption.since_s);
    return;
  }
}

static void plan_restart(Sim *sim) {
  sim->planned_s += sim->input->planned_every_s;
  const double stall_s =
      orr_campaign_checkpoints_take_all(sim->checkpoints, sim->now_s, sim->progress_s);
  idle(sim, sim->now_s + stall_s, ORR_PHASE_STALL, ORR_CAUSE_PLANNED);
  idle(sim, sim->now_s + sim->input->planned_s, ORR_PHASE_PLANNED, ORR_CAUSE_PLANNED);
  absorb(sim);
  recover(sim, ORR_CAUSE_PLANNED, TRUE, INFINITY);
}

static void end_slows(Sim *sim) {
  for (guint i = sim->slows->len; i-- > 0;)
    if (g_array_index(sim->slows, Slow, i).end_s <= sim->now_s) g_array_remove_index(sim->slows, i);
}

static void rejoin(Sim *sim) {
  const double restart_s = sim->input->times.restart_s + sim->input->times.initialise_s;
  sim->apart = 0;
  sim->together_s = INFINITY;
  const gint64 before = sim->missing;
  take_spares(sim);
  if (sim->missing < before)
    idle(sim, sim->now_s + restart_s, ORR_PHASE_INITIALISE, ORR_CAUSE_REJOIN);
  absorb(sim);
}

/* Trains until something happens, and has it happen. */
static void advance(Sim *sim) {
  const OrrCampaignInput *in = sim->input;
  const double slow = slowness(sim);
  const double checkpoint_s =
      sim->now_s + (orr_campaign_checkpoints_next(sim->checkpoints) - sim->progress_s) * slow;
  const double goal_s = sim->now_s + (in->goal_s - sim->progress_s) * slow;
  const double strike_s = next_strike(sim), found_s = next_found(sim), back_s = next_back(sim),
               over_s = next_slow_end(sim);
  const double to_s =
      least(least(least(in->duration_s, goal_s), least(checkpoint_s, strike_s)),
            least(least(found_s, back_s), least(least(over_s, sim->planned_s), sim->together_s)));
  train(sim, most(to_s, sim->now_s));
  take_back(sim);
  end_slows(sim);
  if (to_s >= in->duration_s || to_s >= goal_s)
    sim->stopped = TRUE;
  else if (to_s >= strike_s)
    strike(sim);
  else if (to_s >= found_s)
    find_corruption(sim);
  else if (to_s >= sim->planned_s)
    plan_restart(sim);
  else if (to_s >= sim->together_s || wants_back(sim))
    rejoin(sim);
  else if (to_s >= checkpoint_s)
    stall(sim);
}

/* --- Life --- */

static void init(Sim *sim, const OrrCampaignInput *in, guint64 seed, gboolean keeps_events) {
  OrrCampaignHistory *history = g_new0(OrrCampaignHistory, 1);
  const guint n_causes = in->processes->len + ORR_N_CAUSES;
  history->lost = g_array_new(FALSE, TRUE, sizeof(double));
  g_array_set_size(history->lost, n_causes * ORR_N_PHASES);
  history->failures = g_array_new(FALSE, TRUE, sizeof(gint64));
  g_array_set_size(history->failures, n_causes);
  history->out_s = g_array_new(FALSE, TRUE, sizeof(double));
  if (keeps_events) history->events = g_array_new(FALSE, FALSE, sizeof(OrrCampaignEvent));
  *sim = (Sim){.input = in,
               .history = history,
               .draws = g_new0(OrrCampaignDraw, in->processes->len + 1),
               .n_draws = in->processes->len,
               .checkpoints = orr_campaign_checkpoints_new(in->tiers),
               .repairs = g_array_new(FALSE, FALSE, sizeof(Repair)),
               .slows = g_array_new(FALSE, FALSE, sizeof(Slow)),
               .corruptions = g_array_new(FALSE, FALSE, sizeof(Corruption)),
               .planned_s = in->planned_every_s > 0 ? in->planned_every_s : INFINITY,
               .together_s = INFINITY,
               .free = in->spares,
               .lemons = llround(in->lemon_fraction * (double)in->nodes),
               .free_lemons = llround(in->lemon_fraction * (double)in->spares),
               .lots = orr_random_stream(seed, "campaign-lemons"),
               .finds = orr_random_stream(seed, "campaign-lemons-found")};
  for (guint i = 0; i < sim->n_draws; i++)
    orr_campaign_draw_init(&sim->draws[i], &g_array_index(in->processes, OrrCampaignProcess, i), i,
                           seed);
  scale_rates(sim, 0);
}

static void clear(Sim *sim) {
  g_free(sim->draws);
  orr_campaign_checkpoints_free(sim->checkpoints);
  g_array_unref(sim->repairs);
  g_array_unref(sim->slows);
  g_array_unref(sim->corruptions);
}

OrrCampaignHistory *orr_campaign_sim(const OrrCampaignInput *input, guint64 seed,
                                     gboolean keeps_events) {
  Sim sim;
  init(&sim, input, seed, keeps_events);
  while (!sim.stopped && sim.now_s < input->duration_s) advance(&sim);
  sim.history->has_stopped = sim.now_s < input->duration_s && sim.progress_s < input->goal_s;
  sim.history->wall_s = sim.now_s;
  sim.history->progress_s = sim.progress_s;
  clear(&sim);
  return sim.history;
}

void orr_campaign_sim_free(OrrCampaignHistory *history) {
  if (!history) return;
  g_array_unref(history->lost);
  g_array_unref(history->failures);
  g_array_unref(history->out_s);
  if (history->events) g_array_unref(history->events);
  g_free(history);
}

double orr_campaign_sim_lost(const OrrCampaignHistory *history, guint cause, int phase) {
  return g_array_index(history->lost, double, cause *ORR_N_PHASES + (guint)phase);
}

/*
 * campaign_advice.c - changes one thing of a ready campaign at a time, and simulates its seeds.
 */
#include "sim/run/campaign_advice.h"

#include "sim/run/run_private.h"

const char *const orr_campaign_advice_topics[] = {"checkpoints", "spares", "policy", "half", NULL};

typedef struct {
  const OrrScenario *scenario;
  const double *stall_upper; /* by tier */
  OrrCampaignAdvice *advice;
} Adviser;

typedef struct {
  double goodput, wall_s, failures, down_s;
} Tally;

static Tally simulate(const Adviser *adviser, const OrrCampaignInput *input) {
  static const int down[] = {ORR_PHASE_DETECT,     ORR_PHASE_DIAGNOSE,   ORR_PHASE_WAIT,
                             ORR_PHASE_RESCHEDULE, ORR_PHASE_INITIALISE, ORR_PHASE_LOAD};
  Tally tally = {0};
  const gint64 seeds = adviser->scenario->campaign.seeds;
  for (gint64 i = 0; i < seeds; i++) {
    const guint64 seed = (guint64)(adviser->scenario->seed + i);
    g_autoptr(OrrCampaignHistory) history = orr_campaign_sim(input, seed, FALSE);
    tally.goodput += history->progress_s / history->wall_s / (double)seeds;
    tally.wall_s += history->wall_s;
    tally.failures += (double)history->n_failures;
    for (guint cause = ORR_N_CAUSES; cause < history->failures->len; cause++)
      for (guint k = 0; k < G_N_ELEMENTS(down); k++)
        tally.down_s += orr_campaign_sim_lost(history, cause, down[k]);
  }
  return tally;
}

/* The goodput with stalls as long as measured ones may be; NAN: nothing says how long. */
static double simulate_late(const Adviser *adviser, const OrrCampaignInput *input) {
  OrrCampaignInput late = *input;
  g_autoptr(GArray) tiers = g_array_copy((GArray *)input->tiers);
  gboolean is_known = FALSE;
  ORR_EACH_AT(i, OrrCampaignTier, tier, tiers) {
    const OrrCampaignCheckpointSpec *spec = adviser->scenario->campaign.checkpoints->pdata[i];
    const double upper = adviser->stall_upper[tier->kind];
    if (isnan(upper)) continue;
    tier->stall_s = spec->planning_s + (tier->stall_s - spec->planning_s) * upper; /* is given */
    is_known = TRUE;
  }
  late.tiers = tiers;
  return is_known ? simulate(adviser, &late).goodput : NAN;
}

static void add_row(const Adviser *adviser, const OrrCampaignInput *input,
                    OrrCampaignAdviceRow row) {
  OrrCampaignAdvice *advice = adviser->advice;
  row.goodput = row.is_now ? advice->goodput : simulate(adviser, input).goodput;
  row.gain = row.goodput - advice->goodput;
  row.late_goodput = row.is_now ? advice->late_goodput : simulate_late(adviser, input);
  g_array_append_val(advice->rows, row);
}

/* --- Checkpoints --- */

/* Intervals are the scenario's times 2^from to 2^to: an eighth to eight times, and one further
 * where Young's lies beyond: each halving doubles what a simulation takes. */
enum { REACH = 3, MOST_REACH = 4 };

static void range_of(double young_s, double now_s, int *ret_from, int *ret_to) {
  const double at = young_s > 0 && isfinite(young_s) ? log2(young_s / now_s) : 0;
  *ret_from = (int)CLAMP(floor(at) - 1, -MOST_REACH, -REACH);
  *ret_to = (int)CLAMP(ceil(at) + 1, REACH, MOST_REACH);
}

/* The interval of @tier, and how many checkpoints it keeps if not @keep. */
static char *interval_text(const OrrCampaignTier *tier, gint64 keep) {
  g_autofree char *interval = orr_quantity_format(tier->interval_s, ORR_UNIT_SECONDS);
  return tier->keep == keep ? g_steal_pointer(&interval)
                            : g_strdup_printf("%s, keep %ld", interval, tier->keep);
}

static void advise_tier(const Adviser *adviser, OrrCampaignReady *ready, guint i) {
  int from = 0, to = 0;
  OrrCampaignTier *tier = &g_array_index(ready->tiers, OrrCampaignTier, i);
  const gint64 keep = tier->keep;
  const double now_s = tier->interval_s, mttf_s = adviser->advice->mttf_s;
  const char *name = orr_campaign_tier_words[tier->kind];
  const OrrCampaignAdviceTier forms = {name,
                                       tier->stall_s,
                                       now_s,
                                       orr_campaign_formulas_young_s(tier->stall_s, mttf_s),
                                       orr_campaign_formulas_daly_s(tier->stall_s, mttf_s),
                                       adviser->stall_upper[tier->kind]};
  g_array_append_val(adviser->advice->tiers, forms);
  range_of(forms.young_s, now_s, &from, &to);
  for (int k = from; k <= to; k++) {
    const double factor = ldexp(1, k);
    tier->interval_s = now_s * factor;
    /* They reach as far back, so that silent corruption finds a checkpoint from before it. */
    tier->keep = MAX(keep, 1 + (gint64)ceil((double)(keep - 1) / factor));
    add_row(adviser, &ready->input,
            (OrrCampaignAdviceRow){.topic = ORR_ADVICE_CHECKPOINTS,
                                   .subject = name,
                                   .choice = interval_text(tier, keep),
                                   .value = tier->interval_s,
                                   .keep = tier->keep,
                                   .is_now = k == 0});
  }
  tier->interval_s = now_s;
  tier->keep = keep;
}

/* --- Spares --- */

static void advise_spares(const Adviser *adviser, OrrCampaignReady *ready) {
  const OrrCampaignAdvice *advice = adviser->advice;
  const gint64 now = ready->input.spares;
  gint64 spares[] = {0, advice->spares_p50, advice->spares_p99, 2 * advice->spares_p99, now};
  qsort(spares, G_N_ELEMENTS(spares), sizeof *spares, orr_order_int64s);
  for (guint i = 0; i < G_N_ELEMENTS(spares); i++) {
    if (i > 0 && spares[i] == spares[i - 1]) continue;
    ready->input.spares = spares[i];
    add_row(adviser, &ready->input,
            (OrrCampaignAdviceRow){.topic = ORR_ADVICE_SPARES,
                                   .choice = g_strdup_printf("%ld", spares[i]),
                                   .value = (double)spares[i],
                                   .is_now = spares[i] == now});
  }
  ready->input.spares = now;
}

/* --- What half the time is worth --- */

typedef enum {
  HALF_DETECTION,
  HALF_DIAGNOSIS,
  HALF_RESCHEDULING,
  HALF_INITIALISATION,
  HALF_LOADS,
  HALF_STALLS,
  HALF_REPAIRS,
  N_HALVES
} Half;
static const char *const half_words[] = {"detection",      "diagnosis", "requeue and restart",
                                         "initialisation", "loads",     "checkpoint stalls",
                                         "repairs"};

/* Multiplies what @half names by @factor. */
static void scale(OrrCampaignReady *ready, int half, double factor) {
  ORR_EACH(OrrCampaignProcess, process, ready->processes) {
    if (half == HALF_DETECTION) process->detect_s *= factor;
    if (half == HALF_DIAGNOSIS) process->diagnose_s *= factor;
    if (half == HALF_REPAIRS) process->repair_s *= factor;
  }
  ORR_EACH(OrrCampaignTier, tier, ready->tiers) {
    if (half == HALF_LOADS) tier->load_s *= factor;
    if (half == HALF_STALLS) tier->stall_s *= factor;
  }
  if (half == HALF_RESCHEDULING) {
    ready->input.times.requeue_s *= factor;
    ready->input.times.restart_s *= factor;
  }
  if (half == HALF_INITIALISATION) ready->input.times.initialise_s *= factor;
}

static void advise_halves(const Adviser *adviser, OrrCampaignReady *ready) {
  for (int half = 0; half < N_HALVES; half++) {
    scale(ready, half, 0.5);
    add_row(adviser, &ready->input,
            (OrrCampaignAdviceRow){.topic = ORR_ADVICE_HALF,
                                   .subject = half_words[half],
                                   .choice = g_strdup(half_words[half]),
                                   .value = NAN});
    scale(ready, half, 2);
  }
}

/* --- Policies --- */

/* Gives a policy that can do without replicas as many as a node has, where its default is fewer:
 * TRUE where that changed @params and @row, which is then to be replayed again. */
static gboolean spare_a_node(const OrrCampaignInput *input, const OrrEntry *entry, void *params,
                             OrrCampaignAdviceRow *row) {
  const gint64 in_node = orr_simulate_campaign_in_node(input);
  void *data = NULL;
  const OrrField *field =
      params ? orr_field_assign_member(entry->params, params, "most-lost", &data) : NULL;
  if (!field || in_node <= G_STRUCT_MEMBER(gint64, data, field->offset) || in_node > field->max)
    return FALSE;
  G_STRUCT_MEMBER(gint64, data, field->offset) = in_node;
  g_free(row->choice);
  row->choice = g_strdup_printf("%s, %ld lost", entry->name, in_node);
  return TRUE;
}

/* @other with the policy that @entry and @params are, replayed. */
static gboolean replay_policy(const OrrRunWorld *world, OrrScenario *other, const OrrEntry *entry,
                              void *params, OrrCampaignAdviceRow *row, OrrCampaignReady *ready,
                              GError **error) {
  other->campaign.policy = (OrrChoice){.entry = entry, .params = params};
  if (!orr_simulate_campaign_ready(world, other, ready, error)) return FALSE;
  if (!spare_a_node(&ready->input, entry, params, row)) return TRUE;
  orr_simulate_campaign_clear(ready);
  *ready = (OrrCampaignReady){0};
  return orr_simulate_campaign_ready(world, other, ready, error);
}

static gboolean advise_policy(const Adviser *adviser, const OrrRunWorld *world,
                              const OrrEntry *entry, GError **error) {
  OrrScenario other = *adviser->scenario;
  OrrCampaignAdviceRow row = {
      .topic = ORR_ADVICE_POLICY, .choice = g_strdup(entry->name), .value = NAN};
  g_auto(OrrCampaignReady) ready = {0};
  row.is_now = other.campaign.policy.entry == entry;
  if (row.is_now) {
    add_row(adviser, NULL, row);
    return TRUE;
  }
  g_autofree void *params = entry->params ? g_malloc0(entry->params->size) : NULL;
  if (params) orr_field_defaults(entry->params, params);
  g_autoptr(GError) why = NULL;
  const gboolean ok = replay_policy(world, &other, entry, params, &row, &ready, &why);
  const gboolean is_refused = g_error_matches(why, ORR_FAULT, ORR_FAULT_DOCUMENT);
  if (ok) {
    add_row(adviser, &ready.input, row); /* reads @params */
  } else if (is_refused) {
    row.goodput = row.gain = row.late_goodput = NAN;
    row.refusal = g_strdup(why->message);
    g_array_append_val(adviser->advice->rows, row);
  } else {
    g_free(row.choice);
    g_propagate_error(error, g_steal_pointer(&why));
  }
  if (params) orr_field_clear(entry->params, params);
  return ok || is_refused;
}

static gboolean advise_policies(const Adviser *adviser, const OrrRunWorld *world, GError **error) {
  for (const OrrEntry *const *entry = orr_recovery_policy_registry.entries; *entry; entry++)
    if (!g_str_equal((*entry)->name, "none") && !advise_policy(adviser, world, *entry, error))
      return FALSE;
  return TRUE;
}

/* --- Life --- */

static void clear_row(gpointer data) {
  OrrCampaignAdviceRow *row = data;
  ORR_FREE(row->choice, row->refusal);
}

static OrrCampaignAdvice *advice_new(void) {
  OrrCampaignAdvice *advice = g_new0(OrrCampaignAdvice, 1);
  advice->tiers = g_array_new(FALSE, FALSE, sizeof(OrrCampaignAdviceTier));
  advice->rows = g_array_new(FALSE, FALSE, sizeof(OrrCampaignAdviceRow));
  g_array_set_clear_func(advice->rows, clear_row);
  return advice;
}

static void fill_now(const Adviser *adviser, const OrrCampaignReady *ready) {
  OrrCampaignAdvice *advice = adviser->advice;
  const Tally now = simulate(adviser, &ready->input);
  advice->seeds = adviser->scenario->campaign.seeds;
  advice->goodput = now.goodput;
  advice->late_goodput = simulate_late(adviser, &ready->input);
  advice->duration_s = now.wall_s / (double)advice->seeds;
  advice->mttf_s = now.failures > 0 ? now.wall_s / now.failures : INFINITY;
  advice->spares_p50 = orr_campaign_formulas_spares(&ready->input, 0.5);
  advice->spares_p99 = orr_campaign_formulas_spares(&ready->input, 0.99);
  advice->ettr = NAN;
  if (ready->tiers->len != 1 || now.failures <= 0) return;
  const OrrCampaignTier *tier = &g_array_index(ready->tiers, OrrCampaignTier, 0);
  advice->ettr = orr_campaign_formulas_ettr(advice->mttf_s, now.down_s / now.failures,
                                            tier->interval_s, tier->stall_s);
}

OrrCampaignAdvice *orr_campaign_advice(OrrLibrary *library, const OrrScenario *scenario,
                                       const double *stall_upper, GError **error) {
  g_autoptr(OrrCampaignAdvice) advice = advice_new();
  const Adviser adviser = {scenario, stall_upper, advice};
  g_auto(OrrCampaignReady) ready = {0};
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, error);
  if (!world || !orr_simulate_campaign_ready(world, scenario, &ready, error)) return NULL;
  fill_now(&adviser, &ready);
  for (guint i = 0; i < ready.tiers->len; i++) advise_tier(&adviser, &ready, i);
  advise_spares(&adviser, &ready);
  if (!advise_policies(&adviser, world, error)) return NULL;
  advise_halves(&adviser, &ready);
  return g_steal_pointer(&advice);
}

void orr_campaign_advice_free(OrrCampaignAdvice *advice) {
  if (!advice) return;
  g_array_unref(advice->tiers);
  g_array_unref(advice->rows);
  g_free(advice);
}

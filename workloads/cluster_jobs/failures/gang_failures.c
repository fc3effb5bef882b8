/*
 * gang_failures.c - draws strikes, and keeps the nodes in repair.
 */
#include "workloads/cluster_jobs/failures/gang_failures.h"

const char *const orr_gang_on_failure_words[] = {"requeue", "replace-node", "shrink", NULL};

typedef struct {
  const OrrFailureProcess *process;
  OrrCampaignProcess drawn; /* its rate is the highest that a component may have */
  OrrCampaignDraw draw;
  guint32 nodes; /* that one strike takes */
} Process;

struct OrrGangFailures {
  OrrGangFailureRules rules;
  guint n_nodes;
  gint64 gpus_per_node, *sizes; /* sizes: by node; NULL: all have as many */
  Process *processes;
  guint n_processes, n_lemons;
  double weight; /* of all nodes: their number, with lemons by their multiple */
  OrrRandom places;
  gint64 *back_us; /* by node; 0: in service */
  gint64 next_back_us;
};

static gboolean is_of_job(const OrrFailureProcess *p) { return p->scope == ORR_FAILURE_SCOPE_JOB; }

static OrrCampaignProcess drawn_process(const OrrGangFailures *failures, const OrrFailureProcess *p,
                                        guint32 nodes) {
  const double per_node =
      p->scope == ORR_FAILURE_SCOPE_GPU ? (double)failures->gpus_per_node : 1.0 / nodes;
  const double weight = nodes == 1 ? failures->weight : failures->n_nodes;
  const gboolean is_exponential = p->life == ORR_FAILURE_EXPONENTIAL;
  return (OrrCampaignProcess){.name = p->component,
                              .life = p->life,
                              .n = per_node * weight * fmax(p->infant, 1),
                              .scale_s = is_exponential ? 3600 / p->rate_per_hour : p->scale_s,
                              .shape = p->shape,
                              .repair = p->repair,
                              .repair_s = p->repair_s > 0 ? p->repair_s : failures->rules.repair_s,
                              .repair_sigma = p->repair_sigma};
}

static void open_process(OrrGangFailures *failures, guint i) {
  const OrrFailureProcess *p = failures->rules.set->processes->pdata[i];
  Process *own = &failures->processes[i];
  const gboolean has_nodes =
      p->scope == ORR_FAILURE_SCOPE_SWITCH || p->scope == ORR_FAILURE_SCOPE_RACK;
  own->process = p;
  own->nodes = has_nodes ? (guint32)p->nodes : 1;
  own->drawn = drawn_process(failures, p, own->nodes);
  if (is_of_job(p)) own->drawn.n = 0; /* drawn by attempt */
  orr_campaign_draw_init(&own->draw, &own->drawn, i, failures->rules.seed);
}

OrrGangFailures *orr_gang_failures_new(const OrrGangFailureRules *rules, guint n_nodes,
                                       gint64 gpus_per_node) {
  OrrGangFailures *failures = g_new0(OrrGangFailures, 1);
  const OrrFailureLemons *lemons = &rules->set->lemons;
  failures->rules = *rules;
  failures->rules.sizes = NULL;
  if (rules->sizes) failures->sizes = g_memdup2(rules->sizes, sizeof(gint64) * n_nodes);
  failures->n_nodes = n_nodes;
  failures->gpus_per_node = gpus_per_node;
  failures->n_lemons = (guint)llround(lemons->fraction * n_nodes);
  failures->weight = n_nodes + failures->n_lemons * (fmax(lemons->multiple, 1) - 1);
  failures->n_processes = rules->set->processes->len;
  failures->processes = g_new0(Process, failures->n_processes + 1);
  failures->places = orr_random_stream(rules->seed, "failures-places");
  failures->back_us = g_new0(gint64, n_nodes + 1);
  failures->next_back_us = G_MAXINT64;
  for (guint i = 0; i < failures->n_processes; i++) open_process(failures, i);
  return failures;
}

void orr_gang_failures_free(OrrGangFailures *failures) {
  if (!failures) return;
  ORR_FREE(failures->processes, failures->back_us, failures->sizes, failures);
}

const OrrGangFailureRules *orr_gang_failures_rules(const OrrGangFailures *failures) {
  return &failures->rules;
}

/* A date; G_MAXINT64: never. */
static gint64 whole_us(double s) {
  return s < ORR_GANG_END_S ? (gint64)ceil(s * ORR_GANG_US_PER_S) : G_MAXINT64;
}

/* The date @s after @now_us, at least a microsecond. */
static gint64 later_us(gint64 now_us, double s) {
  const gint64 span_us = whole_us(s), end_us = (gint64)(ORR_GANG_END_S * ORR_GANG_US_PER_S);
  return span_us < end_us - now_us ? now_us + MAX(span_us, 1) : G_MAXINT64;
}

static Process *next_process(const OrrGangFailures *failures) {
  Process *next = NULL;
  for (guint i = 0; i < failures->n_processes; i++)
    if (!next || failures->processes[i].draw.next_s < next->draw.next_s)
      next = &failures->processes[i];
  return next;
}

gint64 orr_gang_failures_next_us(const OrrGangFailures *failures) {
  const Process *next = next_process(failures);
  return MIN(failures->next_back_us, next ? whole_us(next->draw.next_s) : G_MAXINT64);
}

/* Lemons are spread evenly over the nodes. A node by weight: the first n / w of the draws pick one
 * evenly, the others a lemon. */
static guint pick_node(OrrGangFailures *failures, gboolean has_lemons) {
  const double at = orr_random_unit(&failures->places) *
                    (has_lemons ? failures->weight : (double)failures->n_nodes);
  if (at < failures->n_nodes) return (guint)at;
  const guint lemon = (guint)orr_random_below(&failures->places, failures->n_lemons);
  return (guint)((guint64)lemon * failures->n_nodes / failures->n_lemons);
}

gboolean orr_gang_failures_strike(OrrGangFailures *failures, gint64 now_us,
                                  OrrGangStrike *ret_strike) {
  Process *next = next_process(failures);
  if (!next || whole_us(next->draw.next_s) > now_us) return FALSE;
  const guint node = pick_node(failures, next->nodes == 1);
  const guint first = node - node % next->nodes;
  *ret_strike = (OrrGangStrike){.at_us = now_us,
                                .first = first,
                                .n = MIN(next->nodes, failures->n_nodes - first),
                                .back_us = -1,
                                .process = (guint)(next - failures->processes)};
  if (!next->process->transient)
    ret_strike->back_us = later_us(now_us, orr_campaign_draw_repair(&next->draw));
  orr_campaign_draw_next(&next->draw);
  return TRUE;
}

/* Whether it strikes one of the GPUs that the node has, of as many as the largest nodes have. */
static gboolean hits(OrrGangFailures *failures, const OrrFailureProcess *p, guint32 node) {
  if (!failures->sizes || p->scope != ORR_FAILURE_SCOPE_GPU) return TRUE;
  const double gpu = orr_random_unit(&failures->places) * (double)failures->gpus_per_node;
  return gpu < (double)failures->sizes[node];
}

/* Whether all nodes that it would strike are in repair: these cannot fail. */
static gboolean is_all_out(const OrrGangFailures *failures, const OrrGangStrike *strike) {
  guint node = strike->first;
  while (node < strike->first + strike->n && orr_gang_failures_is_out(failures, node)) node++;
  return node == strike->first + strike->n;
}

gboolean orr_gang_failures_counts(OrrGangFailures *failures, const OrrGangStrike *strike,
                                  gint64 age_us) {
  const OrrFailureProcess *p = failures->processes[strike->process].process;
  if (!hits(failures, p, strike->first)) return FALSE;
  if (!(p->infant > 1)) return !is_all_out(failures, strike);
  const gboolean is_young = (double)age_us < p->infant_s * ORR_GANG_US_PER_S;
  const double at = orr_random_unit(&failures->places); /* drawn always: streams do not shift */
  return (is_young || at * p->infant < 1) && !is_all_out(failures, strike);
}

void orr_gang_failures_take(OrrGangFailures *failures, const OrrGangStrike *strike,
                            GArray *ret_out) {
  for (guint node = strike->first; node < strike->first + strike->n; node++) {
    if (failures->back_us[node] == 0) g_array_append_val(ret_out, node);
    failures->back_us[node] = MAX(failures->back_us[node], strike->back_us);
    failures->next_back_us = MIN(failures->next_back_us, failures->back_us[node]);
  }
}

void orr_gang_failures_return(OrrGangFailures *failures, gint64 now_us, GArray *ret_back) {
  if (failures->next_back_us > now_us) return;
  failures->next_back_us = G_MAXINT64;
  for (guint node = 0; node < failures->n_nodes; node++) {
    const gint64 back_us = failures->back_us[node];
    if (back_us > now_us) failures->next_back_us = MIN(failures->next_back_us, back_us);
    if (back_us == 0 || back_us > now_us) continue;
    failures->back_us[node] = 0;
    g_array_append_val(ret_back, node);
  }
}

gboolean orr_gang_failures_is_out(const OrrGangFailures *failures, guint node) {
  return failures->back_us[node] > 0;
}

gint64 orr_gang_failures_back_us(const OrrGangFailures *failures, guint node) {
  return failures->back_us[node];
}

/* The hazard of an attempt: infant r t for its first seconds, then r t. */
static double attempt_life_s(const OrrFailureProcess *p, double hazard) {
  const double r = p->rate_per_hour / 3600, infant = fmax(p->infant, 1);
  const double early = infant * r * p->infant_s;
  return hazard < early ? hazard / (infant * r) : p->infant_s + (hazard - early) / r;
}

gint64 orr_gang_failures_of_job_us(const OrrGangFailures *failures, const OrrGangJob *job,
                                   gint64 now_us) {
  gint64 next_us = G_MAXINT64;
  for (guint i = 0; i < failures->n_processes; i++) {
    const OrrFailureProcess *p = failures->processes[i].process;
    if (!is_of_job(p)) continue;
    const guint64 attempt = (guint64)job->preemptions + job->failures;
    const guint64 mark = orr_random_hash3(failures->rules.seed + i, (guint64)job->number, attempt);
    const double unit = (double)(mark >> 11) / 9007199254740992.0;
    next_us = MIN(next_us, later_us(now_us, attempt_life_s(p, -log(1 - unit))));
  }
  return next_us;
}

/*
 * campaign.c - the fields of a campaign, and the checks that need more than one of them.
 */
#include "workloads/campaign/campaign.h"

#include "sim/base/idle.h"

#define SECONDS(type_, key_, member_, fallback_, ...)                                              \
  ORR_FIELD_REAL(type_, key_, member_, ORR_UNIT_SECONDS, fallback_, __VA_ARGS__)

const char *const orr_campaign_tier_words[] = {"host", "peer", "ssd", "storage", NULL};
static const char *const mode_words[] = {"async", "sync", NULL};
static const char *const rank_words[] = {"linear", "quadratic", NULL};

static const OrrField checkpoint_fields[] = {
    ORR_FIELD_WORD(OrrCampaignCheckpointSpec, "tier", tier, orr_campaign_tier_words, NULL,
                   "Where checkpoints go: memory of the node's host, also memory of another node "
                   "(peer), the node's disk (ssd), or the cluster's file system (storage)."),
    SECONDS(OrrCampaignCheckpointSpec, "interval", interval_s, NULL,
            "Training time from one checkpoint to the next.", .min = 1, .max = 1e9),
    ORR_FIELD_INT(OrrCampaignCheckpointSpec, "keep", keep, "1",
                  "Finished checkpoints that are kept; silent corruption goes back further than "
                  "one.",
                  .min = 1, .max = 1000),
    ORR_FIELD_WORD(OrrCampaignCheckpointSpec, "mode", mode, mode_words, "async",
                   "async: the job waits for the copy to the host's memory; sync: for the whole "
                   "write."),
    ORR_FIELD_BOOL(OrrCampaignCheckpointSpec, "other-rack", is_far, "false",
                   "peer: the other node is in another rack."),
    ORR_FIELD_REAL(OrrCampaignCheckpointSpec, "node-bandwidth", node_bytes_per_s,
                   ORR_UNIT_BYTES_PER_S, "0 B/s", "ssd: of a node's disks.", .min = 0, .max = 1e15),
    SECONDS(OrrCampaignCheckpointSpec, "planning", planning_s, "0 s",
            "Time per save in which ranks agree who writes what and one writes the metadata: the "
            "job waits, however many GPUs it has.",
            .min = 0, .max = 1e6),
};
static const OrrFieldTable checkpoint_table =
    ORR_FIELD_TABLE("campaign-checkpoint", "One tier of checkpoints.", OrrCampaignCheckpointSpec,
                    checkpoint_fields);

static const OrrField straggler_fields[] = {
    ORR_FIELD_CHOICE(
        OrrCampaignStraggler, "fault", fault, &orr_machine_fault_registry, NULL,
        "The slow part, and how slow: slow-gpu, nic or link. A step with it is replayed."),
    SECONDS(OrrCampaignStraggler, "mtbf", mtbf_s, NULL, "Mean time from one to the next.", .min = 1,
            .max = 1e12),
    SECONDS(OrrCampaignStraggler, "lasts", lasts_s, NULL, "How long it is slow.", .min = 1,
            .max = 1e9),
};
static const OrrFieldTable straggler_table =
    ORR_FIELD_TABLE("campaign-straggler", "A part that is slow now and then.", OrrCampaignStraggler,
                    straggler_fields);

static const OrrField detection_fields[] = {
    ORR_FIELD_TEXT(OrrCampaignDetection, "symptom", symptom, NULL,
                   "A symptom of the failures' document."),
    SECONDS(OrrCampaignDetection, "after", after_s, NULL, "Time until it is noticed.", .min = 0,
            .max = 1e9),
    SECONDS(OrrCampaignDetection, "diagnose", diagnose_s, "0 s",
            "Time from there to the decision: stress tests, people.", .min = 0, .max = 1e9),
};
static const OrrFieldTable detection_table =
    ORR_FIELD_TABLE("campaign-detection", "How long a failure with a symptom goes unnoticed.",
                    OrrCampaignDetection, detection_fields);

static const OrrField recovery_fields[] = {
    SECONDS(OrrCampaignRecovery, "requeue", requeue_s, NULL,
            "Until a new job has its nodes and its containers run.", .min = 0, .max = 1e9),
    SECONDS(OrrCampaignRecovery, "restart", restart_s, NULL,
            "Until processes run again on nodes that the job holds.", .min = 0, .max = 1e9),
    SECONDS(OrrCampaignRecovery, "initialise", initialise_s, NULL,
            "Process groups and compilation, without the part that grows with the ranks.", .min = 0,
            .max = 1e9),
    SECONDS(OrrCampaignRecovery, "per-rank", per_rank_s, "0 s",
            "Additional time of process groups for each rank, or each pair of ranks.", .min = 0,
            .max = 1e6),
    ORR_FIELD_WORD(OrrCampaignRecovery, "ranks", ranks, rank_words, "linear",
                   "linear: per-rank counts ranks; quadratic: their square, as where every rank "
                   "waits for a barrier of each group at one TCPStore (MegaScale, arXiv "
                   "2402.15627, 3.5)."),
};
static const OrrFieldTable recovery_table = ORR_FIELD_TABLE(
    "campaign-recovery", "Times of the phases of a restart.", OrrCampaignRecovery, recovery_fields);

static const OrrField maintenance_fields[] = {
    SECONDS(OrrCampaignMaintenance, "every", every_s, "0 s",
            "Time between planned restarts, for changes of code or data; 0: none.", .min = 0,
            .max = 1e12),
    SECONDS(OrrCampaignMaintenance, "lasts", lasts_s, "0 s",
            "How long people need before the job restarts.", .min = 0, .max = 1e9),
};
static const OrrFieldTable maintenance_table = ORR_FIELD_TABLE(
    "campaign-maintenance", "Planned restarts.", OrrCampaignMaintenance, maintenance_fields);

static const OrrField fields[] = {
    SECONDS(OrrCampaign, "duration", duration_s, NULL, "How long the campaign lasts.", .min = 60,
            .max = 1e10),
    ORR_FIELD_REAL(OrrCampaign, "tokens", tokens, ORR_UNIT_NONE, "0",
                   "It ends earlier with this many tokens; 0: it does not.", .min = 0, .max = 1e18),
    ORR_FIELD_INT(OrrCampaign, "seeds", seeds, "100",
                  "Campaigns that are simulated, from the scenario's seed on.", .min = 1,
                  .max = 100000),
    ORR_FIELD_SECTION(OrrCampaign, "failures", failures, &orr_failures_table, NULL,
                      "What fails, and how often.", .document = "failures"),
    ORR_FIELD_CHOICE(OrrCampaign, "policy", policy, &orr_recovery_policy_registry, NULL,
                     "What the job does after a failure."),
    ORR_FIELD_INT(OrrCampaign, "spares", spares, "0",
                  "Nodes in addition to the job's that can replace them.", .min = 0, .max = 1e6),
    SECONDS(OrrCampaign, "repair", repair_s, "0 s",
            "Mean time until a node is back, where the failures do not say.", .min = 0, .max = 1e9),
    ORR_FIELD_REAL(OrrCampaign, "lemon-detection", lemon_found, ORR_UNIT_FRACTION, "0",
                   "Probability that a lemon which failed is recognised and replaced by another "
                   "node, instead of coming back from repair.",
                   .min = 0, .max = 1),
    ORR_OPTIONAL_SECTIONS(OrrCampaign, "checkpoints", checkpoints, &checkpoint_table,
                          "Tiers of checkpoints."),
    ORR_OPTIONAL_SECTIONS(OrrCampaign, "detection", detection, &detection_table,
                          "By symptom, how long until a failure is noticed."),
    ORR_OPTIONAL_SECTIONS(OrrCampaign, "stragglers", stragglers, &straggler_table,
                          "Parts that are slow now and then."),
    ORR_FIELD_SECTION(OrrCampaign, "recovery", recovery, &recovery_table, NULL,
                      "Times of the phases of a restart."),
    ORR_FIELD_SECTION(OrrCampaign, "maintenance", maintenance, &maintenance_table, "{}",
                      "Planned restarts."),
};
const OrrFieldTable orr_campaign_table = ORR_FIELD_TABLE(
    "campaign", "Weeks of the workload: failures, recoveries, checkpoints.", OrrCampaign, fields);

double orr_campaign_initialise_s(const OrrCampaign *campaign, gint64 n_gpus) {
  const OrrCampaignRecovery *r = &campaign->recovery;
  const double n = (double)n_gpus;
  return r->initialise_s + r->per_rank_s * (r->ranks == ORR_RANKS_QUADRATIC ? n * n : n);
}

/* --- Checks --- */

typedef struct {
  const OrrCampaign *campaign;
  const OrrNode *tree; /* of the section */
  OrrDiags *diags;
} Check;

static OrrPlace place_of(const Check *check, const char *list, guint index) {
  const OrrNode *node = orr_node_get(check->tree, list);
  const gboolean has_item = node && node->kind == ORR_NODE_LIST && index < orr_node_length(node);
  const OrrNode *item = has_item ? node->items->pdata[index] : node;
  return orr_node_place(item ? item : check->tree);
}

/* Whether --set gave the failures, and not what is at @place: other failures than the file's leave
 * its answers to them idle on purpose. */
static gboolean has_other_failures(const Check *check, OrrPlace place) {
  return orr_idle_is_set(place_of(check, "failures", G_MAXUINT)) && !orr_idle_is_set(place);
}

static void check_tiers(const Check *check, const OrrCluster *cluster) {
  const GPtrArray *specs = check->campaign->checkpoints;
  guint seen = 0;
  ORR_EACH_POINTER_AT(i, const OrrCampaignCheckpointSpec, spec, specs) {
    const OrrPlace place = place_of(check, "checkpoints", i);
    const char *tier = orr_campaign_tier_words[spec->tier];
    if (seen & 1U << spec->tier) orr_diags_error(check->diags, place, "a second tier '%s'", tier);
    seen |= 1U << spec->tier;
    if (spec->tier == ORR_SAVED_SSD && spec->node_bytes_per_s <= 0)
      orr_diags_error(check->diags, place, "tier ssd needs node-bandwidth, e.g. 5 GB/s");
    if (spec->tier != ORR_SAVED_SSD && spec->node_bytes_per_s > 0)
      orr_diags_error(check->diags, place, "node-bandwidth is for tier ssd, found tier %s", tier);
    if (spec->tier != ORR_SAVED_PEER && spec->is_far)
      orr_diags_error(check->diags, place, "other-rack is for tier peer, found tier %s", tier);
    if (spec->tier == ORR_SAVED_STORAGE && cluster->storage.servers <= 0)
      orr_diags_error(check->diags, place,
                      "tier storage needs a file system, and the cluster has none: set "
                      "cluster.storage");
  }
}

/* The times assumed where `detection` lacks a symptom. How long slow parts and silent corruption go
 * unnoticed is the site's own practice, and nothing is published about it: they are asked. */
static const struct {
  OrrCampaignDetection detection;
  const char *source;
} assumed[] = {
    {{.symptom = "crash", .after_s = 40},
     "Kubernetes' node-monitor-grace-period until 1.31, after which a node counts as lost"},
    {{.symptom = "hang", .after_s = 600},
     "PyTorch's default timeout of NCCL's process groups, 10 min"},
};

/* NULL: it is neither given nor assumed. @ret_source: of what is assumed; NULL where it is
 * given. */
static const OrrCampaignDetection *
detection_or_default(const OrrCampaign *campaign, const char *symptom, const char **ret_source) {
  *ret_source = NULL;
  ORR_EACH_POINTER(const OrrCampaignDetection, detection, campaign->detection)
    if (g_str_equal(detection->symptom, symptom)) return detection;
  for (guint i = 0; i < G_N_ELEMENTS(assumed); i++) {
    if (!g_str_equal(assumed[i].detection.symptom, symptom)) continue;
    *ret_source = assumed[i].source;
    return &assumed[i].detection;
  }
  return NULL;
}

static const OrrCampaignDetection *detection_of(const OrrCampaign *campaign, const char *symptom) {
  const char *source;
  return detection_or_default(campaign, symptom, &source);
}

/* The most failures, slow intervals and checkpoints of a run, over all seeds: minutes of time. */
#define MOST_EVENTS 1e9

/* Components of the scope in the machine, and nodes that go out of service with one. */
static double components_of(const OrrFailureProcess *p, const OrrCluster *cluster) {
  const double nodes = (double)orr_cluster_n_nodes(cluster);
  switch (p->scope) {
  case ORR_FAILURE_SCOPE_GPU:
    return (double)orr_cluster_n_gpus(cluster);
  case ORR_FAILURE_SCOPE_NODE:
    return nodes;
  case ORR_FAILURE_SCOPE_JOB:
    return 1;
  default:
    return ceil(nodes / (double)p->nodes);
  }
}

static double expected_events(const OrrCampaign *campaign, const OrrCluster *cluster) {
  const double duration_s = campaign->duration_s;
  double events = 0;
  ORR_EACH_POINTER(const OrrFailureProcess, p, campaign->failures.processes) {
    const double each = p->rate_per_hour > 0 ? p->rate_per_hour * duration_s / 3600
                        : p->scale_s > 0     ? pow(duration_s / p->scale_s, fmax(p->shape, 1))
                                             : 0;
    const double lemons =
        1 + campaign->failures.lemons.fraction * campaign->failures.lemons.multiple;
    events += each * p->infant * components_of(p, cluster) * lemons;
  }
  for (guint i = 0; campaign->stragglers && i < campaign->stragglers->len; i++)
    events += duration_s / ((const OrrCampaignStraggler *)campaign->stragglers->pdata[i])->mtbf_s;
  ORR_EACH_POINTER(const OrrCampaignCheckpointSpec, spec, campaign->checkpoints)
    events += duration_s / spec->interval_s;
  if (campaign->maintenance.every_s > 0) events += duration_s / campaign->maintenance.every_s;
  return events * (double)campaign->seeds;
}

/* Progress that the kept checkpoints of the tier that reaches back furthest cover for certain: the
 * oldest of k is at least k - 1 intervals old. */
static double reach_of(const OrrCampaign *campaign) {
  double reach_s = 0;
  ORR_EACH_POINTER(const OrrCampaignCheckpointSpec, spec, campaign->checkpoints) {
    reach_s = fmax(reach_s, (double)(spec->keep - 1) * spec->interval_s);
  }
  return reach_s;
}

/* Corruption that is found after all checkpoints from before it are gone costs the whole campaign.
 */
static void check_silent(const Check *check, const OrrFailureProcess *p) {
  const OrrCampaignDetection *detection = detection_of(check->campaign, p->symptom);
  const double reach_s = reach_of(check->campaign);
  if (!orr_failures_is_silent(p) || !detection || detection->after_s <= reach_s) return;
  g_autofree char *after = orr_quantity_format(detection->after_s, ORR_UNIT_SECONDS);
  g_autofree char *reach = orr_quantity_format(reach_s, ORR_UNIT_SECONDS);
  orr_diags_warning(check->diags, place_of(check, "checkpoints", G_MAXUINT),
                    "%s corrupts silently and is found after %s, and the checkpoints that are kept "
                    "reach back %s for certain: where no sound one is left, training begins anew; "
                    "raise keep to interval * (keep - 1) >= %s",
                    p->component, after, reach, after);
}

typedef gboolean (*IsOf)(const OrrCampaign *campaign, const OrrFailureProcess *p,
                         const char *symptom);

/* "gpu, hbm, nic": the components of the failures that @is_of holds for; "": none. Newly
 * allocated. */
static char *components(const OrrCampaign *campaign, IsOf is_of, const char *symptom) {
  GString *text = g_string_new(NULL);
  ORR_EACH_POINTER(const OrrFailureProcess, p, campaign->failures.processes)
    if (is_of(campaign, p, symptom))
      g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", p->component);
  return g_string_free(text, FALSE);
}

static gboolean shows_as(const OrrCampaign *campaign, const OrrFailureProcess *p,
                         const char *symptom) {
  return g_str_equal(p->symptom, symptom);
}

/* Takes nodes out of service, nobody says for how long. */
static gboolean lacks_repair(const OrrCampaign *campaign, const OrrFailureProcess *p,
                             const char *symptom) {
  return orr_failures_takes_nodes(p) && p->repair_s <= 0 && campaign->repair_s <= 0;
}

/* One finding for each symptom, at its first failure. */
static void check_symptom(const Check *check, guint i) {
  const OrrCampaign *campaign = check->campaign;
  const char *symptom =
      ((const OrrFailureProcess *)campaign->failures.processes->pdata[i])->symptom;
  const OrrPlace place = place_of(check, "detection", G_MAXUINT);
  const char *source;
  for (guint k = 0; k < i; k++)
    if (shows_as(campaign, campaign->failures.processes->pdata[k], symptom)) return;
  const OrrCampaignDetection *detection = detection_or_default(campaign, symptom, &source);
  if (detection && !source) return;
  g_autofree char *of = components(campaign, shows_as, symptom);
  if (!detection)
    return orr_diags_error(
        check->diags, place,
        "detection does not say how long '%s' goes unnoticed, as which failures of %s "
        "show: add {symptom: %s, after: TIME}",
        symptom, of, symptom);
  g_autofree char *after = orr_quantity_format(detection->after_s, ORR_UNIT_SECONDS);
  orr_diags_warning(check->diags, place,
                    "detection does not say how long '%s' goes unnoticed: %s is assumed (%s)",
                    symptom, after, source);
}

/* One line per symptom, and only for symptoms that some failure has. */
static void check_detection(const Check *check) {
  const GPtrArray *processes = check->campaign->failures.processes;
  g_autoptr(GPtrArray) seen = g_ptr_array_new(), known = g_ptr_array_new();
  ORR_EACH_POINTER(const OrrFailureProcess, p, processes)
    if (!g_ptr_array_find_with_equal_func(known, p->symptom, g_str_equal, NULL))
      g_ptr_array_add(known, p->symptom);
  g_ptr_array_add(known, NULL);
  ORR_EACH_POINTER_AT(i, const OrrCampaignDetection, one, check->campaign->detection) {
    const OrrPlace place = place_of(check, "detection", i);
    if (g_ptr_array_find_with_equal_func(seen, one->symptom, g_str_equal, NULL))
      orr_diags_error(check->diags, place, "a second detection of symptom '%s'", one->symptom);
    g_ptr_array_add(seen, one->symptom);
    if (g_strv_contains((const char *const *)known->pdata, one->symptom) ||
        has_other_failures(check, place))
      continue;
    g_autofree char *all = g_strjoinv(", ", (char **)known->pdata);
    orr_diags_warning(check->diags, place, "detection of symptom '%s' has no effect: %s%s",
                      one->symptom, *all ? "failures show as " : "failures.processes is empty",
                      all);
  }
}

static gboolean has_silent(const OrrCampaign *campaign) {
  ORR_EACH_POINTER(const OrrFailureProcess, p, campaign->failures.processes)
    if (orr_failures_is_silent(p)) return TRUE;
  return FALSE;
}

/* Settings that nothing here reads: the answer does not move with them. */
static void check_idle(const Check *check) {
  const OrrCampaign *campaign = check->campaign;
  const OrrPlace place = orr_node_place(check->tree);
  const OrrIdleKey keys[] = {
      {"lemon-detection",
       campaign->failures.lemons.fraction <= 0 || campaign->failures.lemons.multiple <= 1,
       "the failures have no lemons"},
      {"maintenance.lasts", campaign->maintenance.every_s <= 0, "maintenance.every is 0: none"},
      {"recovery.ranks", campaign->recovery.per_rank_s <= 0, "recovery.per-rank is 0"},
  };
  const OrrIdleKey keep = {"keep", !has_silent(campaign),
                           "no failure is silent-corruption, and all others need only the newest"};
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, check->diags);
  for (guint i = 0; campaign->checkpoints && i < campaign->checkpoints->len; i++)
    if (!has_other_failures(check, place_of(check, "checkpoints", i)))
      orr_idle_warn_item(&keep, 1, place, "checkpoints", i, check->diags);
}

void orr_campaign_check(const OrrCampaign *campaign, const OrrCluster *cluster, const OrrNode *tree,
                        OrrDiags *diags) {
  const Check check = {campaign, tree, diags};
  const OrrPlace place = place_of(&check, "failures", G_MAXUINT);
  check_tiers(&check, cluster);
  check_detection(&check);
  check_idle(&check);
  const double events = expected_events(campaign, cluster);
  if (events > MOST_EVENTS)
    orr_diags_error(diags, orr_node_place(tree),
                    "up to %.3g failures and checkpoints over all seeds, and at most %.0g are "
                    "simulated: fewer seeds, lower rates or longer intervals",
                    events, MOST_EVENTS);
  orr_failures_check(&campaign->failures, place, diags);
  for (guint i = 0; i < campaign->failures.processes->len; i++) {
    check_symptom(&check, i);
    check_silent(&check, campaign->failures.processes->pdata[i]);
  }
  g_autofree char *unrepaired = components(campaign, lacks_repair, NULL);
  if (*unrepaired)
    orr_diags_error(diags, place,
                    "failures of %s take nodes out of service, and neither their repair nor "
                    "campaign.repair says for how long: add campaign.repair",
                    unrepaired);
}

/* --- Processes --- */

static OrrCampaignProcess process_of(const OrrCampaign *campaign, const OrrFailureProcess *p,
                                     const OrrCluster *cluster) {
  const OrrCampaignDetection *detection = detection_of(campaign, p->symptom);
  const gboolean is_shared =
      p->scope == ORR_FAILURE_SCOPE_SWITCH || p->scope == ORR_FAILURE_SCOPE_RACK;
  return (OrrCampaignProcess){.name = p->component,
                              .life = p->life,
                              .n = components_of(p, cluster),
                              .scale_s =
                                  p->rate_per_hour > 0 ? 3600 / p->rate_per_hour : p->scale_s,
                              .shape = p->shape,
                              .infant = p->infant,
                              .infant_s = p->infant_s,
                              .nodes = orr_failures_takes_nodes(p) ? (is_shared ? p->nodes : 1) : 0,
                              .struck = is_shared                            ? p->nodes
                                        : p->scope == ORR_FAILURE_SCOPE_NODE ? 1
                                                                             : 0,
                              .kills_host = orr_failures_takes_nodes(p),
                              .is_rack = is_shared,
                              .is_of_job = p->scope == ORR_FAILURE_SCOPE_JOB,
                              .repair = p->repair,
                              .repair_s = p->repair_s > 0 ? p->repair_s : campaign->repair_s,
                              .repair_sigma = p->repair_sigma,
                              .detect_s = detection->after_s,
                              .diagnose_s = detection->diagnose_s,
                              .is_silent = orr_failures_is_silent(p)};
}

void orr_campaign_processes(const OrrCampaign *campaign, const OrrCluster *cluster,
                            GArray *processes) {
  for (guint i = 0; i < campaign->failures.processes->len; i++) {
    const OrrCampaignProcess process =
        process_of(campaign, campaign->failures.processes->pdata[i], cluster);
    g_array_append_val(processes, process);
  }
  ORR_EACH_POINTER(const OrrCampaignStraggler, straggler, campaign->stragglers)
    ORR_APPEND(processes, OrrCampaignProcess,
               {.name = straggler->fault.entry->name,
                .n = 1,
                .is_of_job = TRUE,
                .scale_s = straggler->mtbf_s,
                .slow_s = straggler->lasts_s});
}

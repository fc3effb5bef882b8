/*
 * cluster_jobs.c - the document of a cluster of jobs, and its entry; its policy: cluster_policy.c.
 */
#include "workloads/cluster_jobs/cluster_jobs.h"

static const OrrFieldTable kind_table = ORR_FIELDS(
    "cluster-kind", "Nodes with one kind of GPU.", OrrClusterKind,
    ORR_FIELD_TEXT(OrrClusterKind, "name", name, NULL, "The kind, as a trace has it: v100."),
    ORR_FIELD_INT(OrrClusterKind, "nodes", nodes, NULL, "Its nodes.", .min = 1, .max = 1e6),
    ORR_FIELD_INT(OrrClusterKind, "gpus", gpus, "0", "GPUs of a node; 0: the cluster's.", .min = 0,
                  .max = 1e4),
    ORR_POSITIVE_REAL(OrrClusterKind, "speed", speed, ORR_UNIT_NONE, "1",
                      "Work of a job per time, relative to its run time in the trace.", .min = 1e-6,
                      .max = 1e6));

static const OrrFieldTable jobs_table = ORR_FIELDS(
    "cluster-jobs", "The jobs of a trace on a cluster, under a policy.", OrrClusterJobs,
    ORR_WORKLOAD_STACK_FIELD(OrrClusterJobs),
    ORR_FIELD_TEXT(OrrClusterJobs, "jobs", jobs, NULL,
                   "The trace: a CSV with submit_s, duration_s, gpus; Slurm's sacct -P; the traces "
                   "of Helios, Acme and Philly; or the Standard Workload Format (NAME.swf). A path "
                   "from the document's folder, from one of the "
                   "library's, or from the working directory. generate: jobs drawn from the "
                   "distributions of the key generate."),
    ORR_FIELD_SECTION(OrrClusterJobs, "generate", generate, &orr_job_generate_table, "{}",
                      "Arrivals, gangs and run times of drawn jobs, where jobs is generate."),
    ORR_FIELD_TEXT(OrrClusterJobs, "queue", queue, "all",
                   "Only the jobs of this queue of the trace, as if they had the cluster alone."),
    ORR_FIELD_SECTION(OrrClusterJobs, "policy", policy, &orr_cluster_policy_table, "{}",
                      "The scheduler's policy, by name (slurm, kueue, ...) or inline.",
                      .document = "policy"),
    ORR_FIELD_SECTIONS(OrrClusterJobs, "kinds", kinds, &kind_table, "[]",
                       "Kinds of GPUs, node after node; empty: one, the cluster's."),
    ORR_FIELD_TEXT(OrrClusterJobs, "throughputs", throughputs, "",
                   "How fast each model trains on each kind and number of GPUs: a CSV with model, "
                   "gpus (or scale_factor), gpu_type, steps_per_s; empty: kinds differ by their "
                   "speed alone."),
    ORR_UNSIGNED_REAL(OrrClusterJobs, "node-cpus", node_cpus, ORR_UNIT_NONE, "0",
                      "CPUs of a node, which jobs with a column cpus share, counted over the "
                      "cluster; 0: not counted.",
                      .min = 0, .max = 1e6),
    ORR_UNSIGNED_REAL(OrrClusterJobs, "node-memory", node_memory_bytes, ORR_UNIT_BYTES, "0 B",
                      "Memory of a node, the same with a column memory_gb; 0 B: not counted.",
                      .min = 0, .max = 1e16),
    ORR_FIELD_CHOICE(OrrClusterJobs, "speed", speed, &orr_gang_speed_registry, "given",
                     "Run times: the trace's, or as a gang's place lets it."),
    ORR_FIELD_SECTION(OrrClusterJobs, "failures", failures, &orr_cluster_failures_table, "{}",
                      "What fails under the jobs."),
    ORR_FIELD_SECTION(OrrClusterJobs, "window", window, &orr_cluster_window_table, "{}",
                      "The jobs that statistics count."),
    ORR_FIELD_SECTION(OrrClusterJobs, "ask", ask, &orr_cluster_ask_table, "{}",
                      "A job in addition to the trace's; its start is reported."));

static const OrrGangSpeedKind *speed_of(const OrrClusterJobs *params) {
  return (const OrrGangSpeedKind *)(gconstpointer)params->speed.entry;
}

/* NULL-terminated; the names are the document's. */
static const char **kind_names(const OrrClusterJobs *jobs) {
  const char **names = g_new0(const char *, jobs->kinds->len + 1);
  for (guint k = 0; k < jobs->kinds->len; k++)
    names[k] = ((const OrrClusterKind *)jobs->kinds->pdata[k])->name;
  return names;
}

static void check_kinds(const OrrClusterJobs *jobs, const OrrCluster *cluster, OrrPlace place,
                        OrrDiags *diags) {
  gint64 gpus = 0;
  ORR_EACH_POINTER(const OrrClusterKind, kind, jobs->kinds)
    gpus += kind->nodes * (kind->gpus > 0 ? kind->gpus : cluster->node.gpus);
  if (jobs->kinds->len > ORR_GANG_KINDS)
    orr_diags_error(diags, place, "kinds: there are %u, want at most %d", jobs->kinds->len,
                    ORR_GANG_KINDS);
  if (jobs->kinds->len > 0 && gpus != orr_cluster_n_gpus(cluster))
    orr_diags_error(diags, place, "kinds have %ld GPUs and the cluster %ld: want as many", gpus,
                    orr_cluster_n_gpus(cluster));
  if (*jobs->throughputs && jobs->kinds->len == 0)
    orr_diags_error(diags, place,
                    "throughputs are by kind of GPU: want kinds, with the names of the table");
}

static void check_placement(const OrrClusterJobs *jobs, const OrrCluster *cluster, OrrPlace place,
                            OrrDiags *diags) {
  const OrrChoice *choice = &jobs->policy.placement;
  const OrrGangPlacement *placement = (const OrrGangPlacement *)(gconstpointer)choice->entry;
  g_autofree char *reason =
      placement && placement->refuse
          ? placement->refuse(choice->params, orr_cluster_n_gpus(cluster) / cluster->node.gpus)
          : NULL;
  if (reason) orr_diags_error(diags, place, "policy.placement: %s", reason);
}

static void check_sections(const OrrClusterJobs *jobs, const OrrCluster *cluster, OrrPlace place,
                           OrrDiags *diags) {
  const OrrGangSpeedKind *speed = speed_of(jobs);
  if (speed->check)
    speed->check(jobs->speed.params, cluster, orr_node_place_in(place, "speed"), diags);
  if (orr_cluster_refuse_has_failures(jobs))
    orr_failures_check(&jobs->failures.set, orr_node_place_in(place, "failures"), diags);
}

static void check(const void *data, const OrrModel *model, const OrrCluster *cluster,
                  OrrPlace place, OrrDiags *diags) {
  const OrrClusterJobs *jobs = data;
  g_autofree const char **kinds = kind_names(jobs);
  orr_cluster_policy_check(&jobs->policy, orr_cluster_refuse_features(jobs, cluster), kinds, place,
                           diags);
  check_kinds(jobs, cluster, place, diags);
  check_placement(jobs, cluster, place, diags);
  orr_job_generate_check(&jobs->generate, place, diags);
  if (jobs->generate.models == ORR_JOB_MODELS_THROUGHPUTS && !*jobs->throughputs)
    orr_diags_error(diags, place, "generate.models throughputs: want workload.throughputs");
  check_sections(jobs, cluster, place, diags);
  if (orr_cluster_n_gpus(cluster) % cluster->node.gpus != 0)
    orr_diags_error(diags, place, "a cluster of jobs has whole nodes: want gpus of nodes x %ld",
                    cluster->node.gpus);
}

/* --- Compilation --- */

static char *find(const char *key, const char *path, char *const *folders, GError **error) {
  for (; folders && *folders && !g_path_is_absolute(path); folders++) {
    g_autofree char *below =
        strcmp(*folders, ".") == 0 ? g_strdup(path) : g_build_filename(*folders, path, NULL);
    if (g_file_test(below, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&below);
  }
  if (g_file_test(path, G_FILE_TEST_EXISTS)) return g_strdup(path);
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "workload.%s: there is no file %s", key, path);
}

/* Takes out the jobs that no empty cluster could start, and those that wait for jobs left out. */
static void leave_out(OrrClusterWork *work) {
  GArray *jobs = work->trace->jobs;
  OrrGangProbe *probe = orr_gang_probe_new(&work->rules);
  guint kept = 0;
  ORR_EACH_VALUE(const OrrGangJob, job, jobs)
    if (orr_gang_probe_fits(probe, &job))
      g_array_index(jobs, OrrGangJob, kept++) = job;
    else
      orr_job_after_leave_out(work->trace, job.id);
  orr_gang_probe_free(probe);
  work->n_too_large = jobs->len - kept;
  g_array_set_size(jobs, kept);
  work->n_waiting = orr_job_after_drop(work->trace);
}

static void work_free(OrrWork *data) {
  OrrClusterWork *work = (OrrClusterWork *)data;
  orr_gang_speed_free(work->rules.speed);
  orr_gang_failures_free(work->rules.failures);
  orr_gang_history_free(work->history);
  orr_gang_map_free(work->map);
  orr_job_trace_free(work->trace);
  g_array_unref(work->kinds);
  g_ptr_array_unref(work->unused);
  orr_gang_throughputs_free(work->speeds);
  g_free(work);
}

static GArray *kinds_of(const OrrClusterJobs *params, const OrrCluster *cluster) {
  GArray *kinds = g_array_new(FALSE, FALSE, sizeof(OrrGangKind));
  ORR_EACH_POINTER(const OrrClusterKind, of, params->kinds)
    ORR_APPEND(kinds, OrrGangKind,
               {of->name, (guint)of->nodes, of->gpus > 0 ? of->gpus : cluster->node.gpus});
  const OrrGangKind all = {"", (guint)(orr_cluster_n_gpus(cluster) / cluster->node.gpus),
                           cluster->node.gpus};
  if (kinds->len == 0 && params->policy.rounds.length_s > 0) g_array_append_val(kinds, all);
  return kinds;
}

static OrrGangRules rules_of(const OrrClusterJobs *params, const OrrWorld *world,
                             const GArray *kinds) {
  const OrrCluster *cluster = world->cluster;
  OrrGangRules rules = orr_cluster_policy_rules(&params->policy);
  rules.n_nodes = (guint)(orr_cluster_n_gpus(cluster) / cluster->node.gpus);
  rules.gpus_per_node = cluster->node.gpus;
  rules.kinds = (const OrrGangKind *)(gconstpointer)kinds->data;
  rules.n_kinds = kinds->len;
  rules.cpus = rules.n_nodes * params->node_cpus;
  rules.memory_bytes = rules.n_nodes * params->node_memory_bytes;
  rules.rounds.seed = (guint64)world->seed;
  return rules;
}

/* Every job has its queue among the policy's. */
static gboolean check_queues(const OrrClusterWork *work, const OrrClusterPolicy *policy,
                             GError **error) {
  OrrGangQueues queues;
  const gint64 none = 0;
  const char *missing = NULL;
  orr_gang_queues_init(&queues, policy->queues, NULL, &none, 0);
  for (guint i = 0; i < work->trace->jobs->len && !missing; i++) {
    const OrrGangJob *job = &g_array_index(work->trace->jobs, OrrGangJob, i);
    if (orr_gang_queues_find(&queues, job->queue) < 0) missing = job->queue;
  }
  orr_gang_queues_clear(&queues);
  if (!missing) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "workload.policy.queues: the trace has jobs of queue '%s', which is not a queue "
      "without others below it: list it, or one named default",
      missing);
}

/* A file that cannot be read, too, is the document's error: it names the file. */
static OrrJobTrace *read_trace(const OrrClusterJobs *params, const char *path, GError **error) {
  const gboolean is_all = strcmp(params->queue, "all") == 0;
  GError *own = NULL;
  OrrJobTrace *trace = orr_job_trace_read(path, NULL, is_all ? NULL : params->queue, &own);
  if (g_error_matches(own, ORR_FAULT, ORR_FAULT_RESOURCE)) {
    own->code = ORR_FAULT_DOCUMENT;
    g_prefix_error(&own, "workload.jobs: ");
  }
  if (own) g_propagate_error(error, own);
  return trace;
}

static void set_rates(OrrClusterWork *work, const OrrClusterJobs *params) {
  ORR_EACH(OrrGangJob, job, work->trace->jobs)
    for (guint k = 0; k < work->kinds->len; k++)
      job->rates[k] =
          params->kinds->len > 0 ? ((const OrrClusterKind *)params->kinds->pdata[k])->speed : 1;
}

static gboolean has_run_times(const OrrClusterWork *work, GError **error) {
  ORR_EACH(const OrrGangJob, job, work->trace->jobs) {
    if (job->work_us > 0 || !(job->steps > 0)) continue;
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "workload.jobs states steps and no run times: want workload.throughputs");
  }
  return TRUE;
}

static gboolean read_speeds(OrrClusterWork *work, const OrrClusterJobs *params,
                            const OrrWorld *world, GError **error) {
  if (!*params->throughputs) return TRUE;
  g_autofree char *path = find("throughputs", params->throughputs, world->folders, error);
  work->rules.speeds = work->speeds = path ? orr_gang_throughputs_read(path, error) : NULL;
  return work->speeds != NULL;
}

static gboolean apply_speeds(OrrClusterWork *work, GError **error) {
  const OrrGangThroughputs *speeds = work->speeds;
  if (!speeds) return has_run_times(work, error);
  guint n_missing = 0;
  ORR_EACH(OrrGangJob, job, work->trace->jobs)
    n_missing += !orr_gang_throughputs_apply(speeds, work->rules.kinds, work->rules.n_kinds, job);
  g_autofree char *text =
      g_strdup_printf("%u jobs are left out: the throughputs lack their model and gang", n_missing);
  if (n_missing > 0) orr_job_trace_assume(work->trace, text);
  return TRUE;
}

/* Rounds keep all work of a job that they stop, whatever checkpoints its trace has. */
static void note_checkpoints(const OrrClusterWork *work) {
  guint n = 0;
  for (guint i = 0; work->rules.rounds.length_us > 0 && i < work->trace->jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(work->trace->jobs, OrrGangJob, i);
    n += job->checkpoint_us > 0 || job->checkpoint_cost_us > 0;
  }
  g_autofree char *text =
      g_strdup_printf("%u jobs with checkpoints: rounds keep all work and charge none", n);
  if (n > 0) orr_job_trace_assume(work->trace, text);
}

static OrrJobTrace *jobs_of(const OrrClusterJobs *params, const OrrWorld *world,
                            const OrrClusterWork *work, GError **error) {
  const OrrJobGround ground = {.n_gpus = orr_cluster_n_gpus(world->cluster),
                               .seed = (guint64)world->seed,
                               .speeds = work->speeds,
                               .kind = work->rules.n_kinds > 0 ? work->rules.kinds[0].name : ""};
  if (strcmp(params->jobs, "generate") == 0)
    return orr_job_generate(&params->generate, &ground, error);
  g_autofree char *path = find("jobs", params->jobs, world->folders, error);
  return path ? read_trace(params, path, error) : NULL;
}

/* GPUs by node, and the most of one. */
static GArray *node_sizes(const GArray *kinds, gint64 *ret_largest) {
  GArray *sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
  *ret_largest = 0;
  ORR_EACH(const OrrGangKind, kind, kinds) {
    for (guint i = 0; i < kind->n_nodes; i++) g_array_append_val(sizes, kind->gpus_per_node);
    *ret_largest = MAX(*ret_largest, kind->gpus_per_node);
  }
  return sizes;
}

static OrrGangFailures *failures_of(const OrrClusterJobs *params, const OrrClusterWork *work,
                                    gint64 seed) {
  OrrGangFailureRules rules = {.set = &params->failures.set,
                               .repair_s = params->failures.repair_s,
                               .detection_us =
                                   llround(params->failures.detection_s * ORR_GANG_US_PER_S),
                               .on_failure = (OrrGangOnFailure)params->failures.on_failure,
                               .seed = (guint64)(seed + params->failures.seed)};
  if (!orr_cluster_refuse_has_failures(params)) return NULL;
  if (work->kinds->len == 0)
    return orr_gang_failures_new(&rules, work->rules.n_nodes, work->rules.gpus_per_node);
  gint64 largest = 0;
  g_autoptr(GArray) sizes = node_sizes(work->kinds, &largest);
  rules.sizes = (const gint64 *)(const void *)sizes->data;
  return orr_gang_failures_new(&rules, sizes->len, largest);
}

/* Sections that the run reads besides the policy, and keeps. */
static void equip(OrrClusterWork *work, const OrrClusterJobs *params, const OrrWorld *world) {
  OrrGangRules *rules = &work->rules;
  work->map = orr_gang_map_new(world->fabric, rules->n_nodes, rules->gpus_per_node);
  work->history = orr_gang_history_new();
  for (guint i = 0; i < work->trace->jobs->len; i++)
    g_array_index(work->trace->jobs, OrrGangJob, i).index = i;
  work->overloaded = params->window.overloaded;
  rules->map = work->map;
  rules->history = work->history;
  rules->failures = failures_of(params, work, world->seed);
  if (!speed_of(params)->is_given)
    rules->speed = orr_gang_speed_new(speed_of(params), params->speed.params, world, work->map);
  orr_cluster_sections_window(&params->window, work->trace->jobs->len, &work->first, &work->end);
}

static gboolean prepare(OrrClusterWork *work, const OrrClusterJobs *params, const OrrWorld *world,
                        GError **error) {
  if (!check_queues(work, &params->policy, error)) return FALSE;
  set_rates(work, params);
  if (!apply_speeds(work, error)) return FALSE;
  note_checkpoints(work);
  leave_out(work);
  equip(work, params, world);
  orr_cluster_unused(params, work);
  return TRUE;
}

static OrrWork *compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrClusterJobs *params = data;
  OrrClusterWork *work = g_new0(OrrClusterWork, 1);
  work->work.kind = &orr_cluster_jobs_kind;
  work->work.program = orr_program_new();
  work->work.fidelity = ORR_FIDELITY_FULL;
  work->work.n_gpus = orr_cluster_n_gpus(world->cluster);
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  work->unused = g_ptr_array_new();
  work->kinds = kinds_of(params, world->cluster);
  work->rules = rules_of(params, world, work->kinds);
  if (read_speeds(work, params, world, error)) work->trace = jobs_of(params, world, work, error);
  if (work->trace) orr_cluster_sections_ask(&params->ask, work->trace);
  if (work->trace && prepare(work, params, world, error) &&
      orr_program_seal(work->work.program, error))
    return &work->work;
  orr_work_free(&work->work);
  return NULL;
}

/* --- Run --- */

static gboolean begin(OrrWork *data, const OrrLivePlace *place, GError **error) {
  OrrClusterWork *work = (OrrClusterWork *)data;
  OrrGangSpeed *speed = work->rules.speed;
  orr_gang_sim_run(&work->rules, work->trace->jobs, &work->totals);
  if (work->totals.has_given_up)
    g_set_error(
        error, ORR_FAULT, ORR_FAULT_RESOURCE,
        "jobs fail faster than they work: %" G_GUINT64_FORMAT
        " failures after %.0f days and no end; set policy.preemption.checkpoint, a shorter restart "
        "or a shorter repair",
        work->totals.failures, (double)work->totals.end_us / ORR_GANG_US_PER_S / 86400);
  if (!speed || !speed->error) return !work->totals.has_given_up;
  g_clear_error(error);
  g_propagate_prefixed_error(error, g_steal_pointer(&speed->error), "workload.speed: ");
  return FALSE;
}

static gboolean finish(OrrWork *data, GError **error) { return TRUE; }

static void times(const OrrWork *data, double *ret_end_s, double *ret_answer_s) {
  const OrrClusterWork *work = (const OrrClusterWork *)data;
  double sum_s = 0;
  ORR_EACH(const OrrGangJob, job, work->trace->jobs)
    sum_s += (double)(job->end_us - job->submit_us) / ORR_GANG_US_PER_S;
  *ret_end_s = (double)work->totals.end_us / ORR_GANG_US_PER_S;
  *ret_answer_s = work->trace->jobs->len > 0 ? sum_s / work->trace->jobs->len : 0;
}

/* What gangs do where speed goes by their steps (speeds/gang_speed_steps.c). */
static const OrrWorkloadSection sections[] = {{"training", "training", "speed.jobs"},
                                              {NULL, NULL, NULL}};

const OrrWorkloadKind orr_cluster_jobs_kind = {
    .entry = {"cluster",
              "Many jobs on one cluster, for weeks: a trace of gangs under a scheduler's policy.",
              &jobs_table},
    .without_model = TRUE,
    .is_alone = TRUE,
    .sections = sections,
    .check = check,
    .compile = compile,
    .work_free = work_free,
    .begin = begin,
    .finish = finish,
    .times = times,
};

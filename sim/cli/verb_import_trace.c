/*
 * verb_import_trace.c - orrery import trace FILE: a trace of requests or of jobs becomes the
 * workload of a scenario that replays it, with what the trace holds as comments.
 */
#include "sim/base/registry.h"
#include "sim/cli/verb_import.h"
#include "workloads/cluster_jobs/traces/job_trace.h"
#include "workloads/serving/arrivals/arrival.h"

static const GOptionEntry options[] = {ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
                                       {NULL}};

static gboolean has_any(const char *head, const char *const *words, guint n) {
  for (guint i = 0; i < n; i++)
    if (strstr(head, words[i])) return TRUE;
  return FALSE;
}

/* The arrival process that replays a file that begins with @head; NULL: none. Conversations follow
 * their own turns. */
static const OrrArrival *arrival_of(const char *head) {
  static const char *const lengths[] = {"input_tokens", "num_prefill_tokens", "Request tokens",
                                        "prompt_size",  "prompt_tokens",      "num_input_tokens",
                                        "prompt_len",   "input_len"};
  static const char *const times[] = {"arriv", "Timestamp", "timestamp"};
  static const char *const keys[] = {"\"prompt_len\"", "\"conversations\"", "\"input_lens\"",
                                     "\"output_len\"", "\"output_tokens\""};
  const OrrEntry *const *entries = orr_arrival_registry.entries;
  const char *name = NULL;
  for (guint i = 0; entries[i] && !name; i++) {
    const OrrArrival *arrival = (gconstpointer)entries[i];
    if (arrival->takes && arrival->takes(head)) name = entries[i]->name;
  }
  if (g_strcmp0(name, "sharegpt") == 0 && !has_any(head, keys, G_N_ELEMENTS(keys))) name = NULL;
  if (g_strcmp0(name, "mooncake") == 0 && strstr(head, "\"session_id\""))
    name = "mooncake-sessions";
  g_autofree char *first = g_strndup(head, strcspn(head, "\r\n"));
  if (!name && has_any(first, lengths, G_N_ELEMENTS(lengths)) &&
      has_any(first, times, G_N_ELEMENTS(times)) && strchr(first, ',') && !strpbrk(first, "{}:"))
    name = "csv";
  return name ? (gconstpointer)orr_registry_find(&orr_arrival_registry, name) : NULL;
}

static const OrrJobReader *jobs_of(const char *head) {
  const OrrEntry *const *entries = orr_job_reader_registry.entries;
  for (guint i = 0; entries[i]; i++) {
    const OrrJobReader *reader = (gconstpointer)entries[i];
    if (reader->takes && reader->takes(head)) return reader;
  }
  return NULL;
}

const char *orr_verb_import_trace_kind(const char *text) {
  g_autofree char *head = g_strndup(text, 4096);
  if (jobs_of(head)) return "a trace of jobs";
  return arrival_of(head) ? "a trace of requests" : NULL;
}

static char *requests_text(const OrrArrival *arrival, const char *path, GError **error) {
  const OrrTraceFile file = {.file = (char *)path, .speed = 1, .repeat = 1};
  char *folders[] = {NULL};
  OrrTraceFacts facts = {0};
  if (!arrival->cycle)
    return g_strdup_printf("# sessions of several turns: what comes when depends on the answers\n"
                           "workload:\n  kind: serving\n  load: {kind: %s, file: \"%s\"}\n",
                           arrival->entry.name, path);
  if (!orr_trace_facts(arrival, &file, 0, folders, &facts, error)) return NULL;
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "# %ld requests", facts.requests);
  if (facts.rate > 0 && isfinite(facts.rate))
    g_string_append_printf(text, ", %.4g per second as recorded", facts.rate);
  g_string_append_printf(
      text, "; prompts of %.0f tokens on average (%ld to %ld), outputs of %.0f (%ld to %ld)\n",
      facts.mean_prompt, facts.shortest_prompt, facts.longest_prompt, facts.mean_output,
      facts.shortest_output, facts.longest_output);
  if (facts.left_out) g_string_append_printf(text, "# %s\n", facts.left_out);
  g_string_append_printf(text, "workload:\n  kind: serving\n  load: {kind: %s, file: \"%s\"}\n",
                         arrival->entry.name, path);
  orr_trace_facts_clear(&facts);
  return g_string_free(text, FALSE);
}

static char *jobs_text(const OrrJobReader *reader, const char *path, GError **error) {
  g_autoptr(OrrJobTrace) trace = orr_job_trace_read(path, reader, NULL, error);
  double gpu_hours = 0;
  gint64 most = 0, last_us = 0;
  if (!trace) return NULL;
  ORR_EACH(const OrrGangJob, job, trace->jobs) {
    gpu_hours += (double)job->gpus * (double)job->work_us / (3600.0 * ORR_GANG_US_PER_S);
    most = MAX(most, job->gpus);
    last_us = MAX(last_us, job->submit_us);
  }
  GString *text = g_string_new(NULL);
  g_string_append_printf(text,
                         "# %u job%s of up to %ld GPUs in %.4g h, %.5g GPU-hours; %u job%s without "
                         "GPUs or run time left "
                         "out\n",
                         trace->jobs->len, trace->jobs->len == 1 ? "" : "s", most,
                         (double)last_us / (3600.0 * ORR_GANG_US_PER_S), gpu_hours,
                         trace->n_without_gpus, trace->n_without_gpus == 1 ? "" : "s");
  for (guint i = 0; i < trace->assumed->len; i++)
    g_string_append_printf(text, "# assumed: %s\n", (char *)trace->assumed->pdata[i]);
  g_string_append_printf(text, "workload:\n  kind: cluster\n  jobs: \"%s\"\n", path);
  return g_string_free(text, FALSE);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  char head[4097];
  if (!orr_verb_import_check_source(args, "import trace takes one trace", error) ||
      !orr_verb_import_check_paths(args, error))
    return 2;
  FILE *file = fopen(args[0], "rb");
  const gsize n = file ? fread(head, 1, sizeof head - 1, file) : 0;
  if (file) fclose(file);
  head[n] = '\0';
  const OrrJobReader *jobs = jobs_of(head);
  const OrrArrival *arrival = jobs ? NULL : arrival_of(head);
  if (!arrival && !jobs) {
    orr_fault_set(error, ORR_FAULT_DOCUMENT,
                  "%s: no trace of requests or jobs that is known ('orrery list loads' and "
                  "'orrery describe workload cluster' have them)",
                  args[0]);
    return 2;
  }
  g_autofree char *text =
      jobs ? jobs_text(jobs, args[0], error) : requests_text(arrival, args[0], error);
  return text ? orr_verb_import_write(text, error) : 2;
}

const OrrCommand orr_verb_import_trace = {
    .verb = "trace",
    .sentence = "A trace of requests or of jobs becomes the workload of a scenario.",
    .usage = "FILE [-o FILE]",
    .more = "Reads requests of Azure, Mooncake, ShareGPT, BurstGPT, Vidur and Splitwise, or a CSV "
            "of arrivals and lengths; jobs of Slurm's sacct, Helios, Acme, Philly, Alibaba's openb "
            "and MIT Supercloud. Prints the keys of a scenario that replay them.",
    .options = options,
    .run = run,
};

/*
 * job_trace.c - what all traces of jobs have in common.
 */
#include "workloads/cluster_jobs/traces/job_trace.h"

#include "sim/base/file.h"

/* The most GPUs of one job: beyond any cluster, and their sums stay exact. */
#define MOST_GPUS 1e7
/* The sum of all run times must stay far below 2^63 us. */
#define MOST_SUM_S 4e12

OrrJobTrace *orr_job_trace_new(void) {
  OrrJobTrace *trace = g_new0(OrrJobTrace, 1);
  trace->jobs = g_array_new(FALSE, TRUE, sizeof(OrrGangJob));
  trace->texts = g_string_chunk_new(4096);
  trace->assumed = g_ptr_array_new_with_free_func(g_free);
  trace->phases = g_ptr_array_new_with_free_func((GDestroyNotify)orr_gang_phases_free);
  trace->left_out = g_hash_table_new(g_str_hash, g_str_equal);
  return trace;
}

void orr_job_trace_free(OrrJobTrace *trace) {
  if (!trace) return;
  ORR_EACH(OrrGangJob, job, trace->jobs) g_clear_pointer(&job->shares, g_array_unref);
  g_array_unref(trace->jobs);
  g_clear_pointer(&trace->after, g_array_unref);
  g_hash_table_unref(trace->left_out);
  g_string_chunk_free(trace->texts);
  g_ptr_array_unref(trace->assumed);
  g_ptr_array_unref(trace->phases);
  g_free(trace);
}

char *orr_job_trace_text(const char *path, GError **error) {
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return NULL;
  }
  if (strlen(text) != length || !g_utf8_validate(text, (gssize)length, NULL))
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: not a text file", path);
  return g_steal_pointer(&text);
}

void orr_job_trace_assume(OrrJobTrace *trace, const char *text) {
  for (guint i = 0; i < trace->assumed->len; i++)
    if (strcmp(trace->assumed->pdata[i], text) == 0) return;
  g_ptr_array_add(trace->assumed, g_strdup(text));
}

static gboolean check(const OrrJobLine *line, OrrPlace place, OrrDiags *diags) {
  const struct {
    const char *what;
    double value, most;
  } times[] = {{"the submission", line->submit_s, ORR_GANG_MOST_S},
               {"the run time", line->work_s, ORR_GANG_MOST_S},
               {"the time limit", line->limit_s, ORR_GANG_MOST_S},
               {"the time of a restart", fmax(line->restart_s, 0), ORR_GANG_MOST_S},
               {"the interval of checkpoints", fmax(line->checkpoint_s, 0), ORR_GANG_MOST_S},
               {"the time of a checkpoint", fmax(line->checkpoint_cost_s, 0), ORR_GANG_MOST_S},
               {"the time of detection", fmax(line->detection_s, 0), ORR_GANG_MOST_S},
               {"the number of GPUs", line->gpus, MOST_GPUS},
               {"min_gpus", line->min_gpus, line->gpus},
               {"max_gpus", line->max_gpus, MOST_GPUS},
               {"the segment", line->segment, MOST_GPUS},
               {"the number of CPUs", line->cpus, 1e9},
               {"the memory", line->memory_gb, 1e12},
               {"the number of steps", line->steps, 1e15}};
  for (guint i = 0; i < G_N_ELEMENTS(times); i++)
    if (!(times[i].value >= 0 && times[i].value <= times[i].most)) {
      orr_diags_error(diags, place, "%s is %g: want 0 to %g", times[i].what, times[i].value,
                      times[i].most);
      return FALSE;
    }
  if (line->priority != floor(line->priority)) {
    orr_diags_error(diags, place, "the priority is %g: want a whole number", line->priority);
    return FALSE;
  }
  if (line->gpus != floor(line->gpus))
    orr_diags_error(diags, place, "the number of GPUs is %g: want a whole number", line->gpus);
  return line->gpus == floor(line->gpus);
}

static const char *kept(OrrJobTrace *trace, const char *text) {
  return g_string_chunk_insert_const(trace->texts, text ? text : "");
}

static gint64 number_of(const OrrJobTrace *trace, const char *id) {
  char *end = NULL;
  const gint64 number = id ? g_ascii_strtoll(id, &end, 10) : 0;
  return id && end != id && !*end ? number : (gint64)trace->jobs->len;
}

static gint64 stated_us(double seconds) {
  return seconds < 0 ? -1 : llround(seconds * ORR_GANG_US_PER_S);
}

void orr_job_trace_add(OrrJobTrace *trace, const OrrJobLine *line, OrrPlace place,
                       OrrDiags *diags) {
  if (!check(line, place, diags)) return;
  const char *queue = line->queue ? line->queue : "";
  const gboolean is_other_queue =
      trace->only_queue && *trace->only_queue && strcmp(queue, trace->only_queue) != 0;
  if (is_other_queue || line->gpus == 0) {
    trace->n_other_queues += is_other_queue;
    trace->n_without_gpus += !is_other_queue;
    if (line->after) orr_job_after_leave_out(trace, line->id);
    return;
  }
  orr_job_after_note(trace, line);
  const double work_s = line->work_s * (line->phases ? orr_gang_phases_time(line->phases) : 1);
  ORR_APPEND(trace->jobs, OrrGangJob,
             {.id = kept(trace, line->id),
              .user = kept(trace, line->user),
              .queue = kept(trace, queue),
              .model = kept(trace, line->model),
              .number = number_of(trace, line->id),
              .submit_us = llround(line->submit_s * ORR_GANG_US_PER_S),
              .work_us = llround(work_s * ORR_GANG_US_PER_S),
              .limit_us = llround(line->limit_s * ORR_GANG_US_PER_S),
              .restart_us = stated_us(line->restart_s),
              .checkpoint_us = stated_us(line->checkpoint_s),
              .checkpoint_cost_us = stated_us(line->checkpoint_cost_s),
              .detection_us = stated_us(line->detection_s),
              .priority = line->priority,
              .gpus = (gint64)line->gpus,
              .cpus = line->cpus,
              .memory_bytes = line->memory_gb * 1e9,
              .min_gpus = (gint64)line->min_gpus,
              .max_gpus = (gint64)line->max_gpus,
              .segment = (gint64)line->segment,
              .steps = line->steps,
              .phases = line->phases,
              .after = kept(trace, line->after)});
}

static int compare(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = a, *y = b;
  if (x->submit_us != y->submit_us) return x->submit_us < y->submit_us ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Dates count from 2010, so that they stay below the most that a trace may state. */
gboolean orr_job_trace_date(OrrJobTrace *trace, const char *text, OrrPlace place, OrrDiags *diags,
                            double *ret_s) {
  static const gint64 from_s = 1262304000;
  g_autofree char *iso = g_strdup(text);
  if (strlen(iso) > 10 && iso[10] == ' ') iso[10] = 'T';
  g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
  g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(iso, utc);
  if (!date || g_date_time_to_unix(date) < from_s) {
    orr_diags_error(diags, place, "'%.40s' is not a date: want one from 2010 on, as %s", text,
                    "2020-04-01 00:00:10");
    return FALSE;
  }
  trace->is_dated = TRUE;
  *ret_s = (double)(g_date_time_to_unix(date) - from_s);
  return TRUE;
}

static void begin_at_zero(GArray *jobs) {
  const gint64 first_us = g_array_index(jobs, OrrGangJob, 0).submit_us;
  ORR_EACH(OrrGangJob, job, jobs) job->submit_us -= first_us;
}

static gboolean finish(OrrJobTrace *trace, const char *path, GError **error) {
  double sum_s = 0;
  ORR_EACH(const OrrGangJob, one, trace->jobs) sum_s += (double)one->work_us / ORR_GANG_US_PER_S;
  if (trace->jobs->len == 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s: no job%s", path,
                trace->n_other_queues > 0 ? " of workload.queue" : "");
  else if (sum_s > MOST_SUM_S)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s: the run times sum to more than %g s",
                path, MOST_SUM_S);
  else
    g_array_sort(trace->jobs, compare); /* stable: equal jobs keep the file's order */
  if (trace->jobs->len > 0 && trace->is_dated) begin_at_zero(trace->jobs);
  return trace->jobs->len > 0 && sum_s <= MOST_SUM_S;
}

/* The text that @path begins with; "" where it cannot be read, which its reader reports. */
static void read_head(const char *path, char head[4097]) {
  FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? fopen(path, "rb") : NULL;
  const gsize n = file ? fread(head, 1, 4096, file) : 0;
  head[n] = '\0';
  if (file) fclose(file);
}

static const OrrJobReader *reader_of(const char *path) {
  const OrrEntry *const *entries = orr_job_reader_registry.entries;
  char head[4097];
  read_head(path, head);
  for (guint i = 0; entries[i]; i++) {
    const OrrJobReader *reader = (const OrrJobReader *)(gconstpointer)entries[i];
    if (reader->takes && reader->takes(head)) return reader;
  }
  for (guint i = 0; entries[i]; i++) {
    const OrrJobReader *reader = (const OrrJobReader *)(gconstpointer)entries[i];
    if (reader->ending && g_str_has_suffix(path, reader->ending)) return reader;
  }
  return (gconstpointer)orr_registry_find(&orr_job_reader_registry, "csv");
}

OrrJobTrace *orr_job_trace_read(const char *path, const OrrJobReader *reader,
                                const char *only_queue, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrJobTrace) trace = orr_job_trace_new();
  trace->only_queue = only_queue;
  if (!reader) reader = reader_of(path);
  if (!reader->read(trace, path, diags, error)) return NULL;
  orr_job_after_check(trace, diags);
  if (!orr_diags_check(diags, error) || !finish(trace, path, error)) return NULL;
  return g_steal_pointer(&trace);
}

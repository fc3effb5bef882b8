/*
 * gang_throughputs.c - reads a table of training speeds and looks them up.
 */
#include "workloads/cluster_jobs/core/gang_rules.h"

#include "sim/base/csv.h"

struct OrrGangThroughputs {
  GHashTable *by_key; /* "model\ngpus\nkind" to double */
  GPtrArray *models;  /* of char *, each once, in the order of the table; then NULL */
};

void orr_gang_throughputs_free(OrrGangThroughputs *speeds) {
  if (!speeds) return;
  g_hash_table_unref(speeds->by_key);
  g_ptr_array_unref(speeds->models);
  g_free(speeds);
}

static char *key_of(const char *model, gint64 gpus, const char *kind) {
  return g_strdup_printf("%s\n%ld\n%s", model, gpus, kind);
}

const char *const *orr_gang_throughputs_models(const OrrGangThroughputs *speeds) {
  return (const char *const *)(gconstpointer)speeds->models->pdata;
}

static void note_model(OrrGangThroughputs *speeds, const char *model) {
  for (guint i = 0; i < speeds->models->len; i++)
    if (g_str_equal(speeds->models->pdata[i], model)) return;
  g_ptr_array_add(speeds->models, g_strdup(model));
}

typedef struct {
  int model, gpus, kind, speed;
} Columns;

static gboolean find_columns(const OrrCsv *csv, Columns *columns, OrrDiags *diags) {
  *columns = (Columns){orr_csv_column(csv, "model"), orr_csv_column(csv, "gpus"),
                       orr_csv_column(csv, "gpu_type"), orr_csv_column(csv, "steps_per_s")};
  if (columns->gpus < 0) columns->gpus = orr_csv_column(csv, "scale_factor");
  if (columns->model >= 0 && columns->gpus >= 0 && columns->kind >= 0 && columns->speed >= 0)
    return TRUE;
  const OrrCsvLine *header = csv->lines->pdata[csv->header_line];
  orr_diags_error(diags, header->place,
                  "a table of speeds has columns model, gpus (or scale_factor), gpu_type, "
                  "steps_per_s");
  return FALSE;
}

static void add_line(OrrGangThroughputs *speeds, const OrrCsv *csv, const OrrCsvLine *line,
                     const Columns *columns, OrrDiags *diags) {
  double gpus, speed;
  if (!orr_csv_number(csv, line, columns->gpus, diags, &gpus) ||
      !orr_csv_number(csv, line, columns->speed, diags, &speed))
    return;
  if (!(gpus >= 1 && gpus <= 1e7) || !(speed >= 0 && speed <= 1e12))
    return orr_diags_error(diags, line->place,
                           "gpus is %g and steps_per_s %g: want 1 to 1e7, 0 to 1e12", gpus, speed);
  note_model(speeds, line->cells[columns->model]);
  g_hash_table_insert(speeds->by_key,
                      key_of(line->cells[columns->model], (gint64)gpus, line->cells[columns->kind]),
                      g_memdup2(&speed, sizeof speed));
}

OrrGangThroughputs *orr_gang_throughputs_read(const char *path, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = orr_csv_read(path, diags, error);
  if (!csv) return NULL;
  g_autoptr(OrrGangThroughputs) speeds = g_new0(OrrGangThroughputs, 1);
  speeds->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  speeds->models = g_ptr_array_new_with_free_func(g_free);
  Columns columns;
  if (find_columns(csv, &columns, diags))
    ORR_EACH_POINTER(const OrrCsvLine, line, csv->lines)
      if (line->cells) add_line(speeds, csv, line, &columns, diags);
  g_ptr_array_add(speeds->models, NULL);
  return orr_diags_check(diags, error) ? g_steal_pointer(&speeds) : NULL;
}

double orr_gang_throughputs_find(const OrrGangThroughputs *speeds, const char *model, gint64 gpus,
                                 const char *kind) {
  g_autofree char *key = key_of(model, gpus, kind);
  const double *found = g_hash_table_lookup(speeds->by_key, key);
  return found ? *found : 0;
}

double orr_gang_throughputs_between(const OrrGangThroughputs *speeds, const char *model,
                                    gint64 gpus, const char *kind) {
  for (; gpus > 0; gpus--) {
    const double speed = orr_gang_throughputs_find(speeds, model, gpus, kind);
    if (speed > 0) return speed;
  }
  return 0;
}

gboolean orr_gang_throughputs_apply(const OrrGangThroughputs *speeds, const OrrGangKind *kinds,
                                    guint n_kinds, OrrGangJob *job) {
  double reference = 0;
  for (guint k = 0; k < n_kinds; k++) {
    const double speed = orr_gang_throughputs_find(speeds, job->model, job->gpus, kinds[k].name);
    if (!(reference > 0)) reference = speed;
    job->rates[k] = reference > 0 ? speed / reference : 0;
  }
  if (!(reference > 0)) return FALSE;
  const double time = job->phases ? orr_gang_phases_time(job->phases) : 1;
  if (job->steps > 0) job->work_us = llround(job->steps / reference * time * ORR_GANG_US_PER_S);
  return TRUE;
}

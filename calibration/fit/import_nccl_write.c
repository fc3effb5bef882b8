/*
 * import_nccl_write.c - what was read of a log of nccl-tests, as a profile or as rows.
 */
#include "calibration/cost/cost_tables.h"
#include "calibration/fit/import_nccl_tests.h"
#include "calibration/fit/measured_private.h"

typedef struct {
  const OrrNcclTestsOrder *order;
  const OrrNcclTestsLog *log;
} Source;

ORR_LEAST_FIRST(compare_rows, OrrNcclTestsRow, bytes)

static void append_list(GString *text, const char *key, const GArray *rows, gboolean times) {
  g_string_append_printf(text, "    %s: \"", key);
  ORR_EACH_AT(i, const OrrNcclTestsRow, row, rows) {
    g_string_append(text, i ? " " : "");
    if (times)
      orr_measured_append(text, row->us);
    else
      g_string_append_printf(text, "%.0f", row->bytes);
  }
  g_string_append(text, "\"\n");
}

static void append_failed(const Source *source, GString *text) {
  if (*source->log->failed)
    g_string_append_printf(text, "# Left out, for the test failed: %s.\n", source->log->failed);
}

/* The rows that answers will not use, since others of the log contradict them (judge.c): often the
 * first, whose time holds what the first calls set up. */
static void append_excluded(GString *text, const OrrNcclTestsRun *run) {
  g_autoptr(GArray) judged = g_array_new(FALSE, TRUE, sizeof(OrrJudgedRow));
  ORR_EACH(const OrrNcclTestsRow, row, run->rows)
    ORR_APPEND(judged, OrrJudgedRow, {.size = row->bytes, .volume = 1, .time_s = row->us * 1e-6});
  orr_judge_rows(judged);
  ORR_EACH_AT(i, const OrrJudgedRow, row, judged) {
    if (!row->is_aside) continue;
    g_autofree char *witness =
        g_strdup_printf("%.0f bytes", g_array_index(judged, OrrJudgedRow, row->witness).size);
    g_autofree char *why = orr_judge_aside(judged, i, witness).why;
    g_string_append_printf(text, "    # %.0f bytes are %s\n", row->size, why);
  }
}

static char *write_profile(const Source *source, const char *path) {
  const OrrNcclTestsRun *first = source->log->runs->pdata[0];
  g_autofree char *file = g_path_get_basename(path);
  GString *text = g_string_new("schema: profile/1\n");
  append_failed(source, text);
  g_string_append_printf(text, "name: %s-collectives\n", source->order->device);
  if (source->order->base)
    g_string_append_printf(text,
                           "# These rows answer for their collective, ranks and range of sizes, "
                           "the base for all else.\n"
                           "base: %s\n",
                           source->order->base);
  g_string_append_printf(text, "device: %s\n", source->order->device);
  g_string_append_printf(
      text,
      "source: \"made by orrery import nccl-tests from %s: %s, NCCL %s, %s, %s\"\ncollectives:\n",
      g_strdelimit(file, "\"\\", '\''),
      first->device ? g_strdelimit(first->device, "\"\\", '\'') : "GPUs not named",
      first->version ? first->version : "of a version not said", first->type,
      source->order->in_place ? "in place" : "out of place");
  ORR_EACH_POINTER(const OrrNcclTestsRun, run, source->log->runs) {
    g_array_sort(run->rows, compare_rows);
    g_string_append_printf(text, "  - op: %s\n    ranks: %u\n", run->op, run->n_ranks);
    append_excluded(text, run);
    append_list(text, "bytes", run->rows, FALSE);
    append_list(text, "us", run->rows, TRUE);
  }
  return g_string_free(text, FALSE);
}

static char *write_rows(const Source *source) {
  const OrrNcclTestsRun *first = source->log->runs->pdata[0];
  GString *text = g_string_new(NULL);
  append_failed(source, text);
  g_string_append_printf(
      text, "# device: %s; source: nccl-tests, %s; latency_us is one call, microseconds\n",
      first->device ? first->device : source->order->device,
      source->order->in_place ? "in place" : "out of place");
  g_string_append(text, "system,table,dtype,version,op,n_gpus,bytes,latency_us\n");
  ORR_EACH_POINTER(const OrrNcclTestsRun, run, source->log->runs) {
    ORR_EACH(const OrrNcclTestsRow, row, run->rows) {
      g_string_append_printf(text, "%s,nccl_perf,%s,%s,%s,%u,%.0f,", source->order->device,
                             run->type, run->version ? run->version : "", run->op, run->n_ranks,
                             row->bytes);
      orr_measured_append(text, row->us);
      g_string_append_c(text, '\n');
    }
  }
  return g_string_free(text, FALSE);
}

char *orr_import_nccl_tests(const char *path, const OrrNcclTestsOrder *order, GError **error) {
  g_autoptr(OrrNcclTestsLog) log = orr_import_nccl_tests_log(path, order, error);
  if (!log) return NULL;
  const Source source = {order, log};
  return order->csv ? write_rows(&source) : write_profile(&source, path);
}

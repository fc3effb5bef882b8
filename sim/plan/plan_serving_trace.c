/*
 * plan_serving_trace.c - the trace of requests that a question has as its load.
 */
#include "sim/base/file.h"
#include "sim/plan/plan_serving.h"

#define REQUESTS "workload.requests="

/* As a scenario names it: "a.csv" is "./a.csv", so that one in another folder can name it, too
 * (sim/base/paths.h). What the library has keeps its name. */
static char *name_of(const char *file) {
  const gboolean is_here = g_file_test(file, G_FILE_TEST_IS_REGULAR);
  return is_here && !strchr(file, G_DIR_SEPARATOR) ? g_build_filename(".", file, NULL)
                                                   : g_strdup(file);
}

static char *hash_of(const char *path, GError **error) {
  g_autoptr(GBytes) bytes = orr_file_map(path, ORR_FILE_MAX_DATA, error);
  return bytes ? g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes) : NULL;
}

static const OrrArrival *load_of(const char *file, const char *kind, GError **error) {
  if (!kind) return orr_arrival_of_file(file);
  const OrrArrival *load = (const OrrArrival *)orr_registry_find(&orr_arrival_registry, kind);
  if (load && load->cycle) return load;
  g_autoptr(GString) known = g_string_new(NULL);
  for (guint i = 0; orr_arrival_registry.entries[i]; i++) {
    const OrrArrival *one = (const OrrArrival *)(gconstpointer)orr_arrival_registry.entries[i];
    if (one->cycle) g_string_append_printf(known, "%s%s", known->len ? ", " : "", one->entry.name);
  }
  return orr_fault_null(error, ORR_FAULT_USAGE, "--trace-kind %s: no such format; known: %s", kind,
                        known->str);
}

/* "1000", "1e3", "1_000"; the reader of the scenario refuses all else. */
static gint64 whole(const char *text) {
  g_autoptr(GString) digits = g_string_new(text);
  g_string_replace(digits, "_", "", 0);
  return (gint64)g_ascii_strtod(digits->str, NULL);
}

/* Of --set; 0: all. */
static gint64 requests_of(char **settings) {
  gint64 requests = 0;
  for (; settings && *settings; settings++)
    if (g_str_has_prefix(*settings, REQUESTS)) requests = whole(*settings + strlen(REQUESTS));
  return MAX(requests, 0);
}

/* As recorded, where @rate is NULL. */
static gboolean read_facts(OrrPlanTrace *trace, const OrrArrival *load, const char *path,
                           const char *rate, gint64 requests, GError **error) {
  const OrrFieldTable *table = load->entry.params;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_node_new_map((OrrPlace){"--trace", 0, 0, NULL});
  orr_node_set(tree, "file", orr_node_new_scalar(tree->place, path));
  if (rate) orr_node_set(tree, "rate", orr_node_new_scalar(tree->place, rate));
  g_autofree void *params = g_malloc0(table->size);
  const gboolean is_read = orr_field_read(table, tree, NULL, diags, params);
  const gboolean is_done = is_read
                               ? orr_trace_facts(load, params, requests, NULL, &trace->facts, error)
                               : orr_diags_check(diags, error);
  orr_field_clear(table, params);
  return is_done;
}

/* Requests without times come at any rate: their own is 0. */
static gboolean read_trace(OrrPlanTrace *trace, const OrrArrival *load, const char *path,
                           gint64 requests, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (read_facts(trace, load, path, NULL, requests, &reason)) return TRUE;
  if (read_facts(trace, load, path, "1", requests, NULL)) {
    trace->facts.rate = 0;
    return TRUE;
  }
  g_propagate_error(error, g_steal_pointer(&reason));
  return FALSE;
}

/* A message names a field of a scenario that the user did not write: names the option instead. */
static void name_option(GError **error) {
  static const char field[] = "workload.load.file: ";
  if (!error || !*error) return;
  const char *text = (*error)->message;
  GError *named = g_error_new((*error)->domain, (*error)->code, "--trace: %s",
                              text + (g_str_has_prefix(text, field) ? strlen(field) : 0));
  g_clear_error(error);
  g_propagate_error(error, named);
}

OrrPlanTrace *orr_plan_trace_new(OrrLibrary *library, const char *file, const char *kind,
                                 char **settings, GError **error) {
  g_auto(GStrv) folders = orr_library_folders(library);
  g_autofree char *name = name_of(file);
  /* the working directory is the folder of the plan's scenarios, so it comes first, as in a run */
  g_autofree char *path = g_file_test(name, G_FILE_TEST_IS_REGULAR)
                              ? g_strdup(name)
                              : orr_arrival_find(name, folders, "--trace", NULL);
  if (!path)
    return orr_fault_null(error, ORR_FAULT_USAGE, "--trace %s: there is no such file", file);
  const OrrArrival *load = load_of(path, kind, error);
  if (!load) return NULL;
  g_autoptr(OrrPlanTrace) trace = g_new0(OrrPlanTrace, 1);
  trace->kind = load->entry.name;
  trace->file = g_steal_pointer(&name);
  trace->hash = hash_of(path, error);
  if (trace->hash && read_trace(trace, load, path, requests_of(settings), error))
    return g_steal_pointer(&trace);
  name_option(error);
  return NULL;
}

void orr_plan_trace_free(OrrPlanTrace *trace) {
  if (!trace) return;
  orr_trace_facts_clear(&trace->facts);
  ORR_FREE(trace->file, trace->hash, trace);
}

void orr_plan_trace_ask(const OrrPlanTrace *trace, OrrPlanServing *asked) {
  asked->trace = trace;
  asked->input_tokens = trace->facts.longest_prompt;
  asked->output_tokens = trace->facts.shortest_output;
  if (asked->rate == 0 && asked->gpus == 0) asked->rate = trace->facts.rate;
}

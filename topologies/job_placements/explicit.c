/*
 * explicit.c - the GPUs that the document names, in the order of the job's ranks.
 *
 *   placement: {kind: explicit, gpus: [0-7, 16-23]}
 */
#include "topologies/job_placement.h"

typedef struct {
  char **gpus;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("explicit", "The GPUs that the document names.", Params,
               ORR_FIELD_TEXTS(Params, "gpus", gpus, NULL,
                               "GPU numbers and ranges (0-7), in the order of the job's ranks."));

/* Accepts digits only, without sign or blank. A number beyond 64 bits becomes G_MAXINT64, which
 * no cluster has. */
static gboolean read_number(const char **at, gint64 *ret_number) {
  if (!g_ascii_isdigit(**at)) return FALSE;
  *ret_number = g_ascii_strtoll(*at, (char **)at, 10);
  return TRUE;
}

static gboolean read_range(const char *text, gint64 *ret_first, gint64 *ret_last) {
  if (!read_number(&text, ret_first)) return FALSE;
  *ret_last = *ret_first;
  if (*text == '-' && (text++, !read_number(&text, ret_last))) return FALSE;
  return *text == '\0' && *ret_last >= *ret_first;
}

static gboolean choose(const void *data, const OrrPlacementRequest *request, gint64 n,
                       gint64 *ret_gpus, GError **error) {
  gint64 found = 0;
  for (char **text = ((const Params *)data)->gpus; text && *text; text++) {
    gint64 first = 0, last = 0;
    if (!read_range(*text, &first, &last))
      return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                           "job %s: '%s' is neither a GPU nor a range of GPUs (3, or 0-7)",
                           request->job, *text);
    if (last >= request->n_gpus) { /* before any counting: a range can name 2^63 GPUs */
      return orr_fault_set(
          error, ORR_FAULT_DOCUMENT,
          "job %s: '%s' names GPUs that do not exist (the cluster has GPUs 0 to %ld)", request->job,
          *text, request->n_gpus - 1);
    }
    for (gint64 gpu = first; gpu <= last; gpu++, found++)
      if (found < n) ret_gpus[found] = gpu;
  }
  if (found == n) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "job %s needs %ld GPUs and its placement names %ld", request->job, n, found);
}

const OrrJobPlacementKind orr_placement_explicit = {
    .entry = {"explicit", "The GPUs that the document names.", &table},
    .choose = choose,
};

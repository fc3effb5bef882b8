/*
 * explicit.c - the GPUs that the document names, in the order of the job's ranks.
 *
 *   placement: {kind: explicit, gpus: [0-7, 16-23]}
 */
#include "sim/base/fault.h"
#include "topologies/job_placement.h"

extern const OrrJobPlacementKind orr_placement_explicit;

typedef struct {
  char **gpus;
} Params;

static const OrrField fields[] = {
    {.name = "gpus",
     .kind = ORR_FIELD_TEXTS,
     .offset = offsetof(Params, gpus),
     .sentence = "Numbers of GPUs and ranges of them (0-7), in the order of the job's ranks."},
};
static const OrrFieldTable table = ORR_FIELD_TABLE("explicit", "The GPUs that are named.", Params, fields);

static gboolean read_range(const char *text, gint64 *ret_first, gint64 *ret_last) {
  char *end = NULL;
  *ret_first = *ret_last = g_ascii_strtoll(text, &end, 10);
  if (end == text) return FALSE;
  if (*end != '-') return *end == '\0';
  const char *second = end + 1;
  *ret_last = g_ascii_strtoll(second, &end, 10);
  return end != second && *end == '\0' && *ret_last >= *ret_first;
}

static gboolean choose(const void *data, const OrrJobPlacementAsk *ask, gint64 n, gint64 *ret_gpus, GError **error) {
  gint64 found = 0;
  for (char **text = ((const Params *)data)->gpus; text && *text; text++) {
    gint64 first = 0, last = 0;
    if (!read_range(*text, &first, &last)) {
      g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "job %s: '%s' is no GPU and no range of GPUs (3, or 0-7)",
                  ask->job, *text);
      return FALSE;
    }
    for (gint64 gpu = first; gpu <= last; gpu++, found++)
      if (found < n) ret_gpus[found] = gpu;
  }
  if (found == n) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "job %s needs %" G_GINT64_FORMAT " GPUs and its placement names %" G_GINT64_FORMAT, ask->job, n, found);
  return FALSE;
}

const OrrJobPlacementKind orr_placement_explicit = {
    .entry = {"explicit", "The GPUs that the document names.", &table},
    .choose = choose,
};

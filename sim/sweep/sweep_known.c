/*
 * sweep_known.c - which points are answered, as a text file: the number of one on each line, in
 * order. With it the tasks of a sweep on Slurm know which points are done without opening the
 * database, which only its writer may open.
 */
#include "sim/sweep/sweep_known.h"

#include "sim/base/file.h"

static void add_line(const OrrSweepAnswer *answer, void *user) {
  g_string_append_printf(user, "%" G_GUINT64_FORMAT "\n", answer->point);
}

gboolean orr_sweep_known_write(const char *path, OrrStore *store, gint64 sweep, guint64 n_points,
                               GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(GError) reason = NULL;
  if (!orr_sweep_store_visit(store, sweep, n_points, add_line, text, error)) return FALSE;
  if (g_file_set_contents(path, text->str, (gssize)text->len, &reason)) return TRUE;
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s", reason->message);
}

/* FALSE at the end, or for a line that is not valid. */
static gboolean read_line(char **at, OrrSweepAnswer *ret_answer) {
  char *end = *at;
  const guint64 point = g_ascii_strtoull(*at, &end, 10);
  if (end == *at || *end != '\n') return FALSE;
  *at = end + 1;
  *ret_answer = (OrrSweepAnswer){.point = point};
  return TRUE;
}

gboolean orr_sweep_known_visit(const char *path, OrrSweepVisit visit, void *user, GError **error) {
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DATA, NULL, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return FALSE;
  }
  char *at = text;
  OrrSweepAnswer one;
  while (read_line(&at, &one)) visit(&one, user);
  if (*at == '\0') return TRUE;
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: not a list of answered points", path);
}

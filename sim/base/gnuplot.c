#include "sim/base/gnuplot.h"

#include "sim/base/fault.h"

const char *orr_gnuplot_terminal(const char *output, GError **error) {
  static const char *const known[][2] = {{".svg", "svg"}, {".png", "pngcairo"}, {".pdf", "pdfcairo"}};
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (g_str_has_suffix(output, known[i][0])) return known[i][1];
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s: want a file that ends in .svg, .png or .pdf", output);
  return NULL;
}

static void refuse_missing(const char *kept, const char *by_hand, GError **error) {
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE,
              "gnuplot is not installed (Debian: apt-get install gnuplot-nox). The data is in %s; then: %s", kept,
              by_hand);
}

gboolean orr_gnuplot_run(const char *const *args, const char *kept, char **ret_text, GError **error) {
  g_autoptr(GPtrArray) argv = g_ptr_array_new();
  g_ptr_array_add(argv, (char *)"gnuplot");
  for (; *args; args++) g_ptr_array_add(argv, (char *)*args);
  g_ptr_array_add(argv, NULL);
  g_autofree char *program = g_find_program_in_path("gnuplot");
  g_autofree char *by_hand = g_strjoinv(" ", (char **)argv->pdata), *text = NULL, *said = NULL;
  g_autoptr(GError) reason = NULL;
  int status = 0;
  if (!program) {
    refuse_missing(kept, by_hand, error);
    return FALSE;
  }
  if (g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, &said, &status, &reason) &&
      g_spawn_check_wait_status(status, &reason)) {
    if (ret_text) *ret_text = g_steal_pointer(&text);
    return TRUE;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: %s%s%s", by_hand, reason->message, said && *said ? ": " : "",
              said ? g_strstrip(said) : "");
  return FALSE;
}

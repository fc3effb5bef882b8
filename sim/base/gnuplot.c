/*
 * gnuplot.c - quotes text for scripts, data files and shells, and runs gnuplot as a child process.
 */
#include "sim/base/gnuplot.h"

#include <string.h>

#include "sim/base/fault.h"

static gboolean has_control(const char *text) {
  while (*text && !g_ascii_iscntrl(*text)) text++;
  return *text != '\0';
}

const char *orr_gnuplot_terminal(const char *output, GError **error) {
  static const char *const known[][2] = {
      {".svg", "svg"}, {".png", "pngcairo"}, {".pdf", "pdfcairo"}};
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (g_str_has_suffix(output, known[i][0]) && !has_control(output)) return known[i][1];
  if (has_control(output))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "a picture's file name cannot hold a control character");
  else
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "%s: want a file that ends in .svg, .png or .pdf", output);
  return NULL;
}

void orr_gnuplot_append_quoted(GString *script, const char *text) {
  g_string_append_c(script, '\'');
  for (const char *c = text; *c; c++) {
    if (*c == '\'') g_string_append_c(script, '\'');
    g_string_append_c(script, g_ascii_iscntrl(*c) ? ' ' : *c);
  }
  g_string_append_c(script, '\'');
}

void orr_gnuplot_append_datum(GString *data, const char *text) {
  g_string_append_c(data, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\')
      g_string_append_printf(data, "\\%03o", (guint)*c);
    else
      g_string_append_c(data, g_ascii_iscntrl(*c) ? ' ' : *c);
  }
  g_string_append_c(data, '"');
}

char *orr_gnuplot_path(const char *path) {
  return g_path_is_absolute(path) ? g_strdup(path) : g_strconcat("./", path, NULL);
}

gboolean orr_gnuplot_is_installed(void) {
  g_autofree char *program = g_find_program_in_path("gnuplot");
  return program != NULL;
}

static void refuse_missing(const char *kept, const char *by_hand, GError **error) {
  g_set_error(
      error, ORR_FAULT, ORR_FAULT_RESOURCE,
      "gnuplot is not installed (Debian: apt-get install gnuplot-nox). The data is in %s; then: %s",
      kept, by_hand);
}

static gboolean is_plain(const char *word) {
  const char *c = word;
  while (g_ascii_isalnum(*c) || (*c && strchr("_./+-", *c))) c++;
  return *word && !*c;
}

/* The command, quoted for a shell where a word needs it. */
static char *command_line(const GPtrArray *argv) {
  GString *line = g_string_new(NULL);
  for (guint i = 0; i + 1 < argv->len; i++) {
    const char *word = argv->pdata[i];
    g_autofree char *quoted = is_plain(word) ? g_strdup(word) : g_shell_quote(word);
    g_string_append_printf(line, "%s%s", i > 0 ? " " : "", quoted);
  }
  return g_string_free(line, FALSE);
}

gboolean orr_gnuplot_run(const char *const *args, const char *kept, char **ret_text,
                         GError **error) {
  g_autoptr(GPtrArray) argv = g_ptr_array_new();
  g_ptr_array_add(argv, (char *)"gnuplot");
  g_ptr_array_add(argv, (char *)"-d"); /* pictures are the same for everyone */
  for (; *args; args++) g_ptr_array_add(argv, (char *)*args);
  g_ptr_array_add(argv, NULL);
  g_autofree char *by_hand = command_line(argv), *text = NULL, *said = NULL;
  g_autoptr(GError) reason = NULL;
  int status = 0;
  if (!orr_gnuplot_is_installed()) {
    refuse_missing(kept, by_hand, error);
    return FALSE;
  }
  if (g_spawn_sync(NULL, (char **)argv->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, &said,
                   &status, &reason) &&
      g_spawn_check_wait_status(status, &reason)) {
    if (ret_text) *ret_text = g_steal_pointer(&text);
    return TRUE;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s: %s%s%s", by_hand, reason->message,
              said && *said ? ": " : "", said ? g_strstrip(said) : "");
  return FALSE;
}

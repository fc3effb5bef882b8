/*
 * show.c - prints to stdout and stderr, and remembers whether stderr got a reason: a command must
 * not fail in silence.
 */
#include "sim/cli/cli.h"

#include <stdarg.h>

#include "sim/base/file.h"

#define MAX_DIAGS 100

/* Prints the first MAX_DIAGS lines of @text: an error can carry all diagnostics of a document. */
static void print_lines(const char *text) {
  const char *end = text;
  guint n_left = 0;
  for (guint i = 0; i < MAX_DIAGS && *end; i++) {
    const char *newline = strchr(end, '\n');
    end = newline ? newline + 1 : end + strlen(end);
  }
  fwrite(text, 1, (size_t)(end - text), stderr);
  for (const char *c = end; *c; c++) n_left += *c == '\n' || !c[1];
  if (n_left > 0)
    fprintf(stderr, "orrery: and %u more\n", n_left);
  else if (end > text && end[-1] != '\n')
    fputc('\n', stderr);
}

static gboolean has_reason; /* stderr holds the reason why this command fails */

void orr_show_problem(const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_strdup_vprintf(format, args);
  va_end(args);
  fflush(stdout); /* when both go to the same terminal or file, the answer comes first */
  fputs("orrery: ", stderr);
  print_lines(text);
  has_reason = TRUE;
}

int orr_show_end(const char *what, int status, const GError *error) {
  if (error) {
    orr_show_error(error);
    status = orr_fault_exit_status(error);
  }
  if (status != 0 && !has_reason)
    orr_show_problem(
        "%s ended with status %d without a reason: this is a bug in Orrery; please report it", what,
        status);
  return status;
}

void orr_show_error(const GError *error) {
  has_reason = TRUE;
  gboolean has_place =
      strstr(error->message, ": error: ") != NULL; /* diagnostics begin with their file */
  if (!has_place) fputs("orrery: ", stderr);
  print_lines(error->message);
}

void orr_show_diags(const OrrDiags *diags) {
  g_autofree char *text = orr_diags_text(diags);
  print_lines(text);
  has_reason |= orr_diags_n_errors(diags) > 0;
}

void orr_show_diags_kept(const OrrDiags *diags, GPtrArray *warnings) {
  g_autofree char *text = orr_diags_text(diags);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++) {
    const char *word = strstr(*line, "warning: "), *error = strstr(*line, "error: ");
    if (!word || (error && error < word)) continue;
    g_ptr_array_add(warnings, g_strdup_printf("%.*s%s", (int)(word - *line), *line,
                                              word + strlen("warning: ")));
  }
  orr_show_diags(diags);
}

gboolean orr_show_document(const char *text, const char *output, GError **error) {
  const gboolean is_written = !output || orr_file_write(output, text, -1, error);
  if (!output || !is_written) fputs(text, stdout);
  return is_written;
}

void orr_show_entry(const char *name, gsize width, const char *sentence) {
  if (sentence && *sentence)
    printf("%-*s  %s\n", (int)width, name, sentence);
  else
    printf("%s\n", name);
}

char *orr_show_assumed(const char *stack) { return g_strdup_printf("release assumed: %s", stack); }

char *orr_show_percent(double fraction) { return g_strdup_printf("%.1f %%", 100 * fraction); }

char *orr_show_signed_percent(double fraction) {
  return g_strdup_printf("%+.1f %%", 100 * fraction);
}

char *orr_show_count(gint64 count) {
  g_autofree char *digits = g_strdup_printf("%ld", count);
  GString *out = g_string_new(NULL);
  gsize n = strlen(digits);
  for (gsize i = 0; i < n; i++) {
    g_string_append_c(out, digits[i]);
    if ((n - i - 1) % 3 == 0 && i + 1 < n && digits[i] != '-') g_string_append_c(out, ',');
  }
  return g_string_free(out, FALSE);
}

/* --- Paragraphs --- */

enum { WIDTH = 100 };

/* Prints one word, on a new line where it does not fit; returns the column after it. */
static guint print_word(const char *word, gsize length, guint indent, guint column) {
  if (column > indent && column + 1 + length > WIDTH) {
    printf("\n%*s", (int)indent, "");
    column = indent;
  } else if (column > indent) {
    putchar(' ');
    column++;
  }
  fwrite(word, 1, length, stdout);
  return column + (guint)length;
}

void orr_show_wrapped(const char *text, guint indent, guint column) {
  for (; column < indent; column++) putchar(' ');
  for (const char *at = text; *at;) {
    const gsize length = strcspn(at, " \n");
    if (length > 0) column = print_word(at, length, indent, column);
    at += length;
    if (*at == '\n') {
      printf("\n%*s", at[1] && at[1] != '\n' ? (int)indent : 0, "");
      column = indent;
    }
    if (*at) at++;
  }
  putchar('\n');
}

void orr_show_warnings(const char *label, const GPtrArray *warnings) {
  for (guint i = 0; i < warnings->len; i++)
    printf("%s%s\n", label, (const char *)warnings->pdata[i]);
}

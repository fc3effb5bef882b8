/*
 * gnuplot.c - quotes text for scripts, data files and shells, and runs gnuplot as a child process.
 */
#include "sim/base/gnuplot.h"

#include <errno.h>
#include <linux/memfd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/file.h"

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
    return orr_fault_null(error, ORR_FAULT_USAGE,
                          "a picture's file name cannot hold a control character");
  return orr_fault_null(error, ORR_FAULT_USAGE, "%s: want a file that ends in .svg, .png or .pdf",
                        output);
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

static gboolean is_plain(const char *word) {
  const char *c = word;
  while (g_ascii_isalnum(*c) || (*c && strchr("_./+-", *c))) c++;
  return *word && !*c;
}

/* The command "gnuplot -d ARGS", quoted for a shell where a word needs it. Newly allocated. */
static char *gnuplot_command(const char *const *args) {
  GString *line = g_string_new("gnuplot -d");
  for (; *args; args++) {
    g_autofree char *quoted = is_plain(*args) ? g_strdup(*args) : g_shell_quote(*args);
    g_string_append_printf(line, " %s", quoted);
  }
  return g_string_free(line, FALSE);
}

/* --- The child --- */

enum { DATA, SCRIPT, PICTURE, COMPLAINT, N_FILES };

static void close_files(int (*files)[N_FILES]) {
  for (guint i = 0; i < N_FILES; i++)
    if ((*files)[i] >= 0) close((*files)[i]);
}

/* A file without a name that holds @text (NULL: nothing). */
static int open_text(const char *text) {
  const int file = (int)syscall(SYS_memfd_create, "orrery", MFD_CLOEXEC);
  const gsize n = text ? strlen(text) : 0;
  for (gsize at = 0; file >= 0 && at < n;) {
    const gssize step = write(file, text + at, n - at);
    if (step < 0 && errno != EINTR) break;
    if (step > 0) at += (gsize)step;
  }
  if (file >= 0) lseek(file, 0, SEEK_SET);
  return file;
}

static GString *read_back(int file) {
  GString *text = g_string_new(NULL);
  char block[65536];
  gssize n = 0;
  lseek(file, 0, SEEK_SET);
  while ((n = read(file, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0) g_string_append_len(text, block, n);
  return text;
}

static void end_with_parent(gpointer user) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

static gboolean spawn(const char *const *args, const int files[N_FILES], int *ret_status,
                      GError **reason) {
  static const int names[] = {3, 4}; /* of ORR_GNUPLOT_DATA and ORR_GNUPLOT_SCRIPT */
  g_autoptr(GPtrArray) argv = g_ptr_array_new();
  GPid child = 0;
  g_ptr_array_add(argv, (char *)"gnuplot");
  g_ptr_array_add(argv, (char *)"-d"); /* pictures are the same for everyone */
  for (; *args; args++) g_ptr_array_add(argv, (char *)*args);
  g_ptr_array_add(argv, NULL);
  if (!g_spawn_async_with_pipes_and_fds(NULL, (const char *const *)argv->pdata, NULL,
                                        G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
                                        end_with_parent, NULL, -1, files[PICTURE], files[COMPLAINT],
                                        files, names, G_N_ELEMENTS(names), &child, NULL, NULL, NULL,
                                        reason))
    return FALSE;
  while (waitpid(child, ret_status, 0) < 0 && errno == EINTR) continue;
  return g_spawn_check_wait_status(*ret_status, reason);
}

gboolean orr_gnuplot_run(const char *const *args, const char *data, const char *script,
                         GString **ret_picture, GError **error) {
  __attribute__((cleanup(close_files))) int files[N_FILES] = {open_text(data), open_text(script),
                                                              open_text(NULL), open_text(NULL)};
  g_autoptr(GError) reason = NULL;
  int status = 0;
  if (!orr_gnuplot_is_installed())
    return orr_fault_set(error, ORR_FAULT_RESOURCE,
                         "gnuplot is not installed (Debian: apt-get install gnuplot-nox)");
  if (spawn(args, files, &status, &reason)) {
    *ret_picture = read_back(files[PICTURE]);
    return TRUE;
  }
  g_autoptr(GString) said = read_back(files[COMPLAINT]);
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "gnuplot: %s%s%s", reason->message,
                       said->len ? ": " : "", g_strstrip(said->str));
}

void orr_gnuplot_leave(const char *const *args, const char *output, const char *data,
                       const char *script, GError **error) {
  g_autofree char *data_path = g_strconcat(output, ".dat", NULL),
                  *script_path = g_strconcat(output, ".gp", NULL), *command = gnuplot_command(args);
  g_autoptr(GError) first = error ? g_steal_pointer(error) : NULL, second = NULL;
  if (orr_file_write(data_path, data, -1, &second) &&
      (!script || orr_file_write(script_path, script, -1, &second)))
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s. The data is in %s; then: %s",
                first ? first->message : "", data_path, command);
  else
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s; %s", first ? first->message : "",
                second->message);
}

/*
 * verb_import.c - orrery import FORMAT SOURCE...: the formats, and what they share.
 */
#include "sim/cli/verb_import.h"

#include "sim/base/paths.h"
#include "sim/cli/documents.h"

char *orr_verb_import_device;

gboolean orr_verb_import_check_source(char **args, const char *what, GError **error) {
  return orr_cli_check_args(args, 1, 1, what, error);
}

gboolean orr_verb_import_check_paths(char **args, GError **error) {
  g_autoptr(GArray) paths = g_array_new(FALSE, FALSE, sizeof(OrrPath));
  for (; *args; args++) {
    const OrrPath source = {"the source", *args, ORR_PATH_READ, TRUE};
    if (strcmp(*args, "-") != 0) g_array_append_val(paths, source);
  }
  ORR_APPEND(paths, OrrPath, {"-o", orr_options.output, ORR_PATH_WRITTEN, FALSE});
  return orr_paths_check((const OrrPath *)(void *)paths->data, paths->len, error);
}

gboolean orr_verb_import_check_device(const char *device, const char *format, GError **error) {
  if (device) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "import %s needs --device NAME", format);
}

int orr_verb_import_write(const char *text, GError **error) {
  return orr_show_document(text, orr_options.output, error) ? 0 : 1;
}

/* Alphabetical. To add one: see verb_import.h. */
static const OrrCommand *const formats[] = {
    &orr_verb_import_bench,
    &orr_verb_import_exchange,
    &orr_verb_import_flows,
    &orr_verb_import_huggingface,
    &orr_verb_import_launch,
    &orr_verb_import_measured,
    &orr_verb_import_nccl_tests,
    &orr_verb_import_nsys,
    &orr_verb_import_topology,
    &orr_verb_import_trace,
    NULL,
};

/* Options of most formats: the others need their format's name. */
static const GOptionEntry options[] = {
    ORR_FROM_LAUNCH_ENTRIES,
    ORR_OPTION_TEXT("device", orr_verb_import_device, "NAME",
                    "The device that was measured, or of the machine that a dump shows"),
    ORR_OPTION_SETS("VAR=VALUE", "Set a variable of the script; may be repeated"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    {NULL},
};

/* A word that is neither a format nor a file. */
static int refuse_word(const char *word, GError **error) {
  const char *words[G_N_ELEMENTS(formats)] = {NULL};
  for (guint i = 0; formats[i]; i++) words[i] = formats[i]->verb;
  return orr_cli_unknown("format", word, words, error);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, G_MAXUINT, "import takes a file, or a format and its files",
                          error))
    return 2;
  if (strcmp(args[0], "-") != 0 && !strpbrk(args[0], "./") &&
      !g_file_test(args[0], G_FILE_TEST_EXISTS))
    return refuse_word(args[0], error);
  if (!orr_verb_import_check_paths(args, error)) return 2;
  orr_from_launch_asked.variables = orr_options.settings;
  return orr_verb_import_guess(library, args, error);
}

const OrrCommand orr_verb_import = {
    .verb = "import",
    .group = "Import",
    .sentence = "Convert files of other tools into documents and tables.",
    .usage = "[FORMAT] SOURCE... [OPTION]...",
    .more = "Without a format, the content decides, and the first line on stderr says what the "
            "file was taken for. An error names its place; then nothing is written.",
    .options = options,
    .run = run,
    .has_late_parts = TRUE,
    .part = "format",
    .parts = formats,
};

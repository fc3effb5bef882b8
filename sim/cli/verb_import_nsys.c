/*
 * verb_import_nsys.c - orrery import nsys SOURCE: an export of Nsight Systems becomes a table.
 */
#include "results/nsys.h"
#include "sim/cli/verb_import.h"

static gint64 ranks;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("device", orr_verb_import_device, "NAME", "The device that was measured"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    ORR_OPTION_INT64("ranks", ranks,
                     "Write the collectives, which N ranks ran, instead of the kernels"),
    {NULL},
};

static gboolean check(GError **error) {
  if (ranks > 0) return orr_verb_import_check_device(orr_verb_import_device, "nsys --ranks", error);
  if (ranks == 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "--ranks takes a number above 0");
}

static char *table_of(OrrNsys *nsys) {
  guint n_left_out = 0;
  if (ranks == 0) return orr_nsys_kernels_csv(nsys);
  char *text = orr_nsys_collectives_csv(nsys, orr_verb_import_device, ranks, &n_left_out);
  if (n_left_out)
    fprintf(stderr, "orrery: %u calls skipped: their ranges have no message size\n", n_left_out);
  return text;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_verb_import_check_source(args, "import nsys takes an SQLite export", error)) return 2;
  if (!orr_verb_import_check_paths(args, error) || !check(error)) return 2;
  g_autoptr(OrrNsys) nsys = orr_nsys_read(args[0], error);
  g_autofree char *text = nsys ? table_of(nsys) : NULL;
  return text ? orr_verb_import_write(text, error) : 1;
}

const OrrCommand orr_verb_import_nsys = {
    .verb = "nsys",
    .sentence = "An SQLite export of Nsight Systems becomes a table of kernels or collectives.",
    .usage = "FILE.sqlite [--ranks N --device NAME] [-o FILE]",
    .more = NULL,
    .options = options,
    .run = run,
};

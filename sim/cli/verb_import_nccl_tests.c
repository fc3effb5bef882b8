/*
 * verb_import_nccl_tests.c - orrery import nccl-tests SOURCE: a log becomes rows of a profile.
 */
#include "calibration/fit/import_nccl_tests.h"
#include "sim/base/fault.h"
#include "sim/cli/verb_import.h"

static char *device, *base, *op, *output;
static int ranks;
static gboolean in_place, one_domain, as_csv;

static const GOptionEntry options[] = {
    {"device", 0, 0, G_OPTION_ARG_FILENAME, &device, "The device that was measured", "NAME"},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write to FILE instead of stdout", "FILE"},
    {"base", 0, 0, G_OPTION_ARG_FILENAME, &base,
     "The profile that the new one extends (default: the device's, if it exists)", "NAME"},
    {"op", 0, 0, G_OPTION_ARG_FILENAME, &op, "The collective, if the log does not name it", "NAME"},
    {"ranks", 0, 0, G_OPTION_ARG_INT, &ranks,
     "The number of ranks, if the log lists none or not all", "N"},
    {"in-place", 0, 0, G_OPTION_ARG_NONE, &in_place, "Use the in-place times", NULL},
    {"one-domain", 0, 0, G_OPTION_ARG_NONE, &one_domain, "The hosts share one scale-up domain",
     NULL},
    {"csv", 0, 0, G_OPTION_ARG_NONE, &as_csv,
     "Write rows for 'import measured --collectives' instead of a profile", NULL},
    {NULL},
};

/* The base to extend: --base, or the device's profile where the library has one. Newly
 * allocated. */
static char *base_of(OrrLibrary *library) {
  if (base) return g_strdup(base);
  g_autofree char *path = orr_library_path(library, "profile", device);
  return path ? g_strdup(device) : NULL;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_verb_import_check_source(args, "import nccl-tests takes a log", error)) return 2;
  if (!orr_verb_import_check_paths(args, output, error)) return 2;
  if (!orr_verb_import_check_device(device, "nccl-tests", error)) return 2;
  if (ranks < 0 || ranks == 1) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--ranks is %d: 2 or more is allowed", ranks);
    return 2;
  }
  g_autofree char *extended = base_of(library);
  const OrrNcclTestsOrder order = {.device = device,
                                   .base = extended,
                                   .op = op,
                                   .ranks = (guint)ranks,
                                   .in_place = in_place,
                                   .one_domain = one_domain,
                                   .csv = as_csv};
  g_autofree char *text = orr_import_nccl_tests(args[0], &order, error);
  return text ? orr_verb_import_write(text, output, error) : 1;
}

const OrrCommand orr_verb_import_nccl_tests = {
    .verb = "nccl-tests",
    .sentence = "A log of nccl-tests becomes rows of a profile.",
    .usage = "LOG --device NAME [--base NAME] [-o FILE]",
    .more = "The log of all_reduce_perf and its siblings becomes the profile DEVICE-collectives, "
            "which extends the device's profile: its rows answer for their collective, ranks and "
            "range of sizes, the base for everything else.",
    .options = options,
    .run = run,
};

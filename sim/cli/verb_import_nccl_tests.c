/*
 * verb_import_nccl_tests.c - orrery import nccl-tests SOURCE: a log becomes rows of a profile, or,
 * with a cluster, is compared with what that machine should reach.
 */
#include "sim/cli/documents.h"
#include "sim/cli/verb_import.h"

static char *base, *op, *cluster;
static int ranks;
static gboolean in_place, one_domain;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("device", orr_verb_import_device, "NAME", "The device that was measured"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    ORR_OPTION_TEXT("base", base, "NAME",
                    "The profile that the new one extends (default: the device's, if it exists)"),
    ORR_OPTION_TEXT("collective", op, "NAME", "The collective, if the log does not name it"),
    ORR_OPTION_INT("ranks", ranks, "The number of ranks, if the log lists none or not all"),
    ORR_OPTION_FLAG("in-place", in_place, "Use the in-place times"),
    ORR_OPTION_FLAG("one-domain", one_domain, "The hosts share one scale-up domain"),
    ORR_OPTION_CSV("Write rows for 'import measured --collectives' instead of a profile"),
    ORR_OPTION_TEXT("cluster", cluster, "NAME",
                    "Compare the log with this machine, instead of writing a profile"),
    ORR_OPTION_SETS("PATH=VALUE", "With --cluster: change the scenario, e.g. "
                                  "workload.stack=nccl-2.18; may be repeated"),
    ORR_OPTION_JOBS("With --cluster: replays at once (default: one per core)"),
    ORR_OPTION_JSON("with --cluster: one JSON array"),
    {NULL},
};

/* The base to extend: --base, or the device's profile where the library has one. Newly
 * allocated. */
static char *base_of(OrrLibrary *library) {
  if (base) return g_strdup(base);
  g_autofree char *path = orr_library_path(library, "profile", orr_verb_import_device);
  return path ? g_strdup(orr_verb_import_device) : NULL;
}

/* Any device's log: the cluster's may have several names. */
static int compare(OrrLibrary *library, const char *path, GError **error) {
  const OrrNcclTestsOrder order = {
      .device = orr_verb_import_device, .op = op, .ranks = (guint)ranks, .csv = TRUE};
  if (!orr_options_check_jobs(error)) return 2;
  g_autoptr(OrrNcclTestsLog) log = orr_import_nccl_tests_log(path, &order, error);
  return log ? orr_verb_import_compare_nccl(library, log->runs, cluster, in_place, error) : 1;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!cluster) cluster = (char *)orr_from_launch_asked.cluster; /* 'import LOG --cluster NAME' */
  if (!orr_verb_import_check_source(args, "import nccl-tests takes a log", error)) return 2;
  if (!orr_verb_import_check_paths(args, error)) return 2;
  if (!cluster && !orr_verb_import_check_device(orr_verb_import_device, "nccl-tests", error))
    return 2;
  if (!cluster && (orr_options.json || orr_options.settings))
    return orr_fault_set(error, ORR_FAULT_USAGE, "--json and --set need --cluster NAME") ? 0 : 2;
  if (ranks < 0 || ranks == 1) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--ranks is %d: 2 or more is allowed", ranks);
    return 2;
  }
  if (cluster) return compare(library, args[0], error);
  g_autofree char *extended = base_of(library);
  const OrrNcclTestsOrder order = {.device = orr_verb_import_device,
                                   .base = extended,
                                   .op = op,
                                   .ranks = (guint)ranks,
                                   .in_place = in_place,
                                   .one_domain = one_domain,
                                   .csv = orr_options.csv};
  g_autofree char *text = orr_import_nccl_tests(args[0], &order, error);
  return text ? orr_verb_import_write(text, error) : 1;
}

const OrrCommand orr_verb_import_nccl_tests = {
    .verb = "nccl-tests",
    .sentence = "A log of nccl-tests becomes rows of a profile.",
    .usage = "LOG (--device NAME [--base NAME] [-o FILE] | --cluster NAME [--json])",
    .more =
        "The log of all_reduce_perf and its siblings becomes the profile DEVICE-collectives, "
        "which extends the device's profile: its rows answer for their collective, ranks and "
        "range of sizes, the base for everything else.\n"
        "With --cluster it is compared with what that machine should reach ('plan nccl'). Where "
        "it is slower than the error bands, known faults are replayed on the machine, and the "
        "ones whose curve the log has are named.",
    .options = options,
    .run = run,
};

/*
 * verb_import.c - orrery import FORMAT SOURCE: converts files of other tools into documents and
 * tables.
 */
#include <stdio.h>
#include <string.h>

#include "calibration/fit/import_nccl_tests.h"
#include "calibration/fit/measured.h"
#include "models/import_huggingface.h"
#include "results/nsys.h"
#include "sim/base/fault.h"
#include "sim/base/paths.h"
#include "sim/cli/cli.h"

static char *name, *collectives, *machine, *device, *base, *same_chip, *output, *op;
static gboolean thin, in_place, one_domain, as_csv;
static gint64 ranks;

static const GOptionEntry options[] = {
    {"device", 0, 0, G_OPTION_ARG_FILENAME, &device, "The device that was measured", "NAME"},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write to FILE instead of stdout", "FILE"},
    {"collectives", 0, 0, G_OPTION_ARG_FILENAME, &collectives,
     "measured: also import these collectives", "FILE.csv"},
    {"system", 0, 0, G_OPTION_ARG_FILENAME, &machine,
     "measured: use the rows of this system in the tables of collectives and products", "NAME"},
    {"base", 0, 0, G_OPTION_ARG_FILENAME, &base,
     "measured, nccl-tests: the profile that the new one extends (default for nccl-tests: the "
     "device's, if it exists)",
     "NAME"},
    {"same-chip", 0, 0, G_OPTION_ARG_FILENAME, &same_chip,
     "measured: tables of the same chip under a lower power limit; long calls that are 10 % slower "
     "than in these tables take their times",
     "DIR"},
    {"thin", 0, 0, G_OPTION_ARG_NONE, &thin,
     "measured: round latencies to three digits (within 0.5 %); keeps every row", NULL},
    {"op", 0, 0, G_OPTION_ARG_FILENAME, &op,
     "nccl-tests: the collective, if the log does not name it", "NAME"},
    {"in-place", 0, 0, G_OPTION_ARG_NONE, &in_place, "nccl-tests: use the in-place times", NULL},
    {"one-domain", 0, 0, G_OPTION_ARG_NONE, &one_domain,
     "nccl-tests: the hosts share one scale-up domain", NULL},
    {"csv", 0, 0, G_OPTION_ARG_NONE, &as_csv,
     "nccl-tests: write rows for --collectives instead of a profile", NULL},
    {"name", 0, 0, G_OPTION_ARG_FILENAME, &name, "huggingface: the name of the model", "NAME"},
    {"ranks", 0, 0, G_OPTION_ARG_INT64, &ranks,
     "nsys: write the collectives, which N ranks ran, instead of the kernels", "N"},
    {NULL},
};

static gboolean check_device(const char *format, GError **error) {
  if (device) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "import %s needs --device NAME", format);
  return FALSE;
}

static char *import_measured(const char *folder, GError **error) {
  if (!check_device("measured", error)) return NULL;
  const OrrMeasuredOptions wanted = {.device = device,
                                     .collectives_csv = collectives,
                                     .system = machine,
                                     .base = base,
                                     .same_chip = same_chip,
                                     .thin = thin};
  const gboolean is_file = g_file_test(folder, G_FILE_TEST_IS_REGULAR);
  if ((!collectives && !is_file) || machine) return orr_measured_import(folder, &wanted, error);
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
              "%s needs --system NAME: the system whose rows to use",
              collectives ? "--collectives" : "a file of products");
  return NULL;
}

static char *import_nccl_tests(const char *path, GError **error) {
  OrrNcclTestsOrder order = {.device = device,
                             .base = base,
                             .op = op,
                             .in_place = in_place,
                             .one_domain = one_domain,
                             .csv = as_csv};
  return check_device("nccl-tests", error) ? orr_import_nccl_tests(path, &order, error) : NULL;
}

static char *import_nsys(const char *path, GError **error) {
  guint n_left_out = 0;
  if (ranks < 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--ranks takes a number above 0");
    return NULL;
  }
  if (ranks > 0 && !check_device("nsys --ranks", error)) return NULL;
  g_autoptr(OrrNsys) nsys = orr_nsys_read(path, error);
  if (!nsys) return NULL;
  if (ranks == 0) return orr_nsys_kernels_csv(nsys);
  char *text = orr_nsys_collectives_csv(nsys, device, ranks, &n_left_out);
  if (n_left_out)
    fprintf(stderr, "orrery: %u calls skipped: their ranges have no message size\n", n_left_out);
  return text;
}

static char *import_huggingface(const char *path, GError **error) {
  g_autofree char *left_out = NULL;
  char *text = orr_import_huggingface(path, name, &left_out, error);
  g_auto(GStrv) keys = g_strsplit(left_out ? left_out : "", "\n", -1);
  for (guint i = 0; text && keys[i] && *keys[i]; i++)
    fprintf(stderr, "orrery: %s: not mapped: %s\n", path, keys[i]);
  return text;
}

/* Alphabetical. */
static const struct {
  const char *name;
  char *(*run)(const char *source, GError **error);
} formats[] = {
    {"huggingface", import_huggingface},
    {"measured", import_measured},
    {"nccl-tests", import_nccl_tests},
    {"nsys", import_nsys},
};

static gboolean check_paths(const char *source, GError **error) {
  const OrrPath paths[] = {{"the source", source, ORR_PATH_READ, TRUE},
                           {"--same-chip", same_chip, ORR_PATH_READ, FALSE},
                           {"--collectives", collectives, ORR_PATH_READ, FALSE},
                           {"-o", output, ORR_PATH_WRITTEN, FALSE}};
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

static int write_text(const char *text, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (!output) {
    fputs(text, stdout);
    return 0;
  }
  if (g_file_set_contents(output, text, -1, &reason)) return 0;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", reason->message);
  return 1;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *names[G_N_ELEMENTS(formats) + 1] = {NULL};
  const gboolean wants_base = args[0] && strcmp(args[0], "nccl-tests") == 0 && device && !base;
  if (!orr_cli_check_args(
          args, 2, 2,
          "import takes a format (huggingface, measured, nccl-tests, nsys) and a source", error))
    return 2;
  if (wants_base) {
    g_autofree char *path = orr_library_path(library, "profile", device);
    base = path ? device : NULL;
  }
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    names[i] = formats[i].name;
    if (strcmp(args[0], formats[i].name) != 0) continue;
    if (!check_paths(args[1], error)) return 2;
    g_autofree char *text = formats[i].run(args[1], error);
    return text ? write_text(text, error) : 1;
  }
  return orr_cli_unknown("format", args[0], names, error);
}

const OrrCommand orr_verb_import = {
    .verb = "import",
    .sentence =
        "Convert a model's config, or measurements of other tools, into documents and tables.",
    .usage = "huggingface CONFIG.json | measured DIR | nccl-tests FILE | nsys FILE.sqlite "
             "[--device NAME] [-o FILE]",
    .more = "huggingface: a config.json becomes a model document; keys that cannot be mapped are "
            "listed on stderr and in comments. Put the document in models/ of a folder named by "
            "--library or ORRERY_PATH.\n"
            "measured: DIR holds at least one of gemm.csv, attention_prefill.csv and "
            "attention_decode.csv. They become the profile DEVICE-kernels: only rows, which a "
            "profile with the device's constants uses as its base. A file instead of DIR holds "
            "products of one engine's kernels (system, framework, version, dtype, m, n, k, "
            "latency_ms) and becomes DEVICE-libraries.\n"
            "nccl-tests: the log of all_reduce_perf and its siblings becomes the profile "
            "DEVICE-collectives, which extends the device's profile: its rows answer for their "
            "collective, ranks and range of sizes, the base for everything else.\n"
            "nsys: the SQLite export of Nsight Systems becomes a table of kernels, or with --ranks "
            "one of collectives.\n"
            "An error names its line; then nothing is written.",
    .options = options,
    .run = run,
};

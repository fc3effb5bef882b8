/*
 * verb_import_measured.c - orrery import measured SOURCE: tables of kernels become a profile.
 */
#include "calibration/fit/measured.h"
#include "sim/base/paths.h"
#include "sim/cli/verb_import.h"

static char *device, *collectives, *machine, *base, *same_chip;
static gboolean thin;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("device", device, "NAME", "The device that was measured"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    ORR_OPTION_TEXT("collectives", collectives, "FILE.csv", "Also import these collectives"),
    ORR_OPTION_TEXT("system", machine, "NAME",
                    "Use the rows of this system in the tables of collectives and products"),
    ORR_OPTION_TEXT("base", base, "NAME", "The profile that the new one extends"),
    ORR_OPTION_TEXT("same-chip", same_chip, "DIR",
                    "Tables of the same chip under a lower power limit; long calls that are 10 % "
                    "slower than in these tables take their times"),
    ORR_OPTION_FLAG("thin", thin,
                    "Round latencies to three digits (within 0.5 %); keeps every row"),
    {NULL},
};

static gboolean check(const char *folder, GError **error) {
  const OrrPath paths[] = {{"the source", folder, ORR_PATH_READ, TRUE},
                           {"--same-chip", same_chip, ORR_PATH_READ, FALSE},
                           {"--collectives", collectives, ORR_PATH_READ, FALSE},
                           {"-o", orr_options.output, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return FALSE;
  if (!orr_verb_import_check_device(device, "measured", error)) return FALSE;
  const gboolean is_file = g_file_test(folder, G_FILE_TEST_IS_REGULAR);
  if ((!collectives && !is_file) || machine) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "%s needs --system NAME: the system whose rows to use",
                       collectives ? "--collectives" : "a file of products");
}

/* A new device may get its document later: a warning. */
static void warn_device(OrrLibrary *library) {
  g_autofree char *path = orr_library_path(library, "device", device);
  g_auto(GStrv) names = orr_library_names(library, "device");
  const char *nearest = orr_diag_nearest_word(device, (const char *const *)names);
  if (!path)
    fprintf(stderr, "warning: the library has no device '%s'%s%s%s\n", device,
            nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int by_name(gconstpointer a, gconstpointer b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Tables that the folder has and a profile of kernels has not: `calibrate export` writes some. */
static void warn_unread(const char *folder) {
  static const char *const read[] = {"gemm.csv", "attention_prefill.csv", "attention_decode.csv",
                                     "moe_ffn.csv", NULL};
  g_autofree char *own = collectives ? g_path_get_basename(collectives) : NULL;
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  g_autoptr(GPtrArray) left = g_ptr_array_new_with_free_func(g_free);
  for (const char *name; dir && (name = g_dir_read_name(dir));)
    if (g_str_has_suffix(name, ".csv") && !g_strv_contains(read, name) && g_strcmp0(own, name) != 0)
      g_ptr_array_add(left, g_strdup(name));
  g_ptr_array_sort(left, by_name);
  g_ptr_array_add(left, NULL);
  g_autofree char *names = g_strjoinv(", ", (char **)left->pdata);
  if (*names)
    fprintf(stderr, "warning: not read: %s: a profile of kernels is made of %s, %s, %s and %s\n",
            names, read[0], read[1], read[2], read[3]);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const OrrMeasuredOptions wanted = {.device = device,
                                     .collectives_csv = collectives,
                                     .system = machine,
                                     .base = base,
                                     .same_chip = same_chip,
                                     .thin = thin};
  if (!orr_verb_import_check_source(args, "import measured takes a folder or a CSV file", error))
    return 2;
  if (!check(args[0], error)) return 2;
  g_autofree char *text = orr_measured_import(args[0], &wanted, error);
  if (!text) return 1;
  warn_device(library);
  warn_unread(args[0]);
  return orr_verb_import_write(text, error);
}

const OrrCommand orr_verb_import_measured = {
    .verb = "measured",
    .sentence = "Tables of measured kernels become a profile.",
    .usage = "DIR | FILE.csv --device NAME [--thin] [-o FILE]",
    .more =
        "DIR holds at least one of gemm.csv, attention_prefill.csv and attention_decode.csv. "
        "They become the profile DEVICE-kernels: only rows, which a profile with the device's "
        "constants uses as its base. A file instead of DIR holds products of one engine's "
        "kernels (system, framework, version, dtype, m, n, k, latency_ms) and becomes "
        "DEVICE-libraries. So does a table of AMD's tuner of aiter (cu_num, M, N, K, us; --system "
        "gfx950-256), or, if it has fused experts, DEVICE-experts.",
    .options = options,
    .run = run,
};

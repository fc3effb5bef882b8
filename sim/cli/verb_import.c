/*
 * verb_import.c - orrery import FORMAT SOURCE: makes documents from what others measured.
 */
#include <stdio.h>
#include <string.h>

#include "calibration/measured.h"
#include "sim/base/fault.h"
#include "sim/cli/cli.h"

static char *collectives, *machine, *device, *base, *output;
static gboolean thin;

static const GOptionEntry options[] = {
    {"device", 0, 0, G_OPTION_ARG_FILENAME, &device, "The device that the kernels were measured on", "NAME"},
    {"collectives", 0, 0, G_OPTION_ARG_FILENAME, &collectives, "Measured collectives beside the kernels", "FILE.csv"},
    {"system", 0, 0, G_OPTION_ARG_FILENAME, &machine, "Which system's rows of the collectives to take", "NAME"},
    {"base", 0, 0, G_OPTION_ARG_FILENAME, &base, "The profile that the new one is laid on", "NAME"},
    {"thin", 0, 0, G_OPTION_ARG_NONE, &thin, "Three digits a latency, and fewer rows of few tokens", NULL},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write the profile there instead of to stdout", "FILE"},
    {NULL},
};

static gboolean check_options(GError **error) {
  if (!device)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "import measured wants --device NAME");
  else if (collectives && !machine)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--collectives wants --system NAME: whose rows to take");
  else
    return TRUE;
  return FALSE;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  static const char *const formats[] = {"measured", NULL};
  (void)library;
  if (!orr_cli_check_args(args, 2, 2, "import wants a format (measured) and a folder", error)) return 2;
  if (strcmp(args[0], formats[0]) != 0) return orr_cli_unknown("format", args[0], formats, error);
  if (!check_options(error)) return 2;
  const OrrMeasuredOptions wanted = {
      .device = device, .collectives_csv = collectives, .system = machine, .base = base, .thin = thin};
  g_autofree char *text = orr_measured_import(args[1], &wanted, error);
  if (!text) return 1;
  if (!output) {
    fputs(text, stdout);
    return 0;
  }
  g_autoptr(GError) reason = NULL;
  if (g_file_set_contents(output, text, -1, &reason)) return 0;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", reason->message);
  return 1;
}

const OrrCommand orr_verb_import = {
    .verb = "import",
    .sentence = "Make a profile from a folder of measured kernels.",
    .usage = "measured DIR --device NAME [--collectives FILE.csv --system NAME] [--base NAME] [--thin] [-o FILE]",
    .more =
        "DIR holds gemm.csv, attention_prefill.csv, attention_decode.csv and moe_ffn.csv; one of them is\n"
        "enough. The answer is the profile DEVICE-kernels: rows alone, which a profile with the device's constants\n"
        "takes as its base.",
    .options = options,
    .run = run,
};

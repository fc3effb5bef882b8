/*
 * verb_calibrate.c - orrery calibrate ACTION: profiles from measured rows.
 */
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/cli/verb_calibrate_fit.h"

static OrrCalibrateFit fit;

static const GOptionEntry options[] = {
    {"raw", 0, 0, G_OPTION_ARG_FILENAME, &fit.raw, "fit: the folder of measured tables", "DIR"},
    {"device", 0, 0, G_OPTION_ARG_FILENAME, &fit.device, "fit: the device that was measured", "NAME"},
    {"collectives", 0, 0, G_OPTION_ARG_FILENAME, &fit.collectives,
     "fit: measured collectives (default: collectives.csv of DIR)", "FILE.csv"},
    {"system", 0, 0, G_OPTION_ARG_FILENAME, &fit.machine, "fit: whose rows of the collectives (default: the device's)",
     "NAME"},
    {"name", 0, 0, G_OPTION_ARG_FILENAME, &fit.name, "fit: the profile's name (default: the device's)", "NAME"},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &fit.output, "fit: write there instead of to stdout", "FILE"},
    {NULL},
};

static int run_errors(OrrLibrary *library, char **args, GError **error) {
  return orr_calibrate_errors(library, args, error);
}

static int run_fit(OrrLibrary *library, char **args, GError **error) {
  return orr_calibrate_fit(library, &fit, args, error);
}

/* Alphabetical. Each gets what follows its word. */
static const struct {
  const char *word;
  int (*run)(OrrLibrary *library, char **args, GError **error);
} actions[] = {
    {"errors", run_errors},
    {"fit", run_fit},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *words[G_N_ELEMENTS(actions) + 1] = {NULL};
  if (!orr_cli_check_args(args, 1, G_MAXUINT, "calibrate wants an action: errors, fit", error)) return 2;
  for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
    if (strcmp(actions[i].word, args[0]) == 0) return actions[i].run(library, args + 1, error);
    words[i] = actions[i].word;
  }
  return orr_cli_unknown("action", args[0], words, error);
}

const OrrCommand orr_verb_calibrate = {
    .verb = "calibrate",
    .sentence = "Make a profile from measured rows, and say how far off it is.",
    .usage = "fit --raw DIR --device NAME [-o FILE] | errors PROFILE",
    .more =
        "'fit' makes a whole profile of the tables that 'orrery import measured' reads: rows, the constants that they\n"
        "tell, and the errors of a cross-validation that leaves whole shapes out. 'errors' prints that section for\n"
        "a profile of the library.",
    .options = options,
    .run = run,
};

/*
 * verb_import_launch.c - orrery import launch [FILE... | -]: a pasted launch line or config becomes
 * a scenario.
 */
#include "sim/base/paths.h"
#include "sim/base/number.h"
#include "sim/cli/documents.h"
#include "sim/cli/verb_import.h"

static gboolean account;

static const GOptionEntry options[] = {
    ORR_FROM_LAUNCH_ENTRIES,
    ORR_OPTION_SETS(
        "VAR=VALUE",
        "Set a variable of the script, which assignments in it do not change; may be repeated"),
    ORR_OPTION_FLAG("account", account, "List on stderr how every key was handled"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    {NULL},
};

static gboolean check_variables(GError **error) {
  for (char **pair = orr_options.settings; pair && *pair; pair++) {
    const char *name = *pair;
    while (g_ascii_isalnum(*name) || *name == '_') name++;
    if (name > *pair && *name == '=') continue;
    return orr_fault_set(error, ORR_FAULT_USAGE, "--set %s: VAR=VALUE was expected", *pair);
  }
  return TRUE;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!check_variables(error) || !orr_verb_import_check_paths(args, error)) return 2;
  orr_from_launch_asked.variables = orr_options.settings;
  g_autoptr(GPtrArray) said = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *text = orr_from_launch_text(library, args, account, said, error);
  g_autofree char *placed = text ? orr_relative_text(text, orr_options.output) : NULL;
  return text ? orr_verb_import_write(placed, error) : 2;
}

const OrrCommand orr_verb_import_launch = {
    .verb = "launch",
    .sentence = "A launch line or a config of training or serving becomes a scenario.",
    .usage = "[FILE... | -] --cluster NAME [--set VAR=VALUE]... [-o FILE]",
    .more =
        "Files can name each other: a script and the configs that it reads. Nothing is executed. "
        "Values that the input lacks (the machine, a variable) are asked for, never guessed. Every "
        "key is accounted for: mapped, irrelevant to time and memory, or not simulated, which is a "
        "warning; --account lists them all. Each key of the scenario has its source as a comment.",
    .options = options,
    .run = run,
};

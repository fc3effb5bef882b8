/*
 * verb_import_exchange.c - orrery import exchange FILE...: files of other simulators become
 * documents.
 */
#include "sim/cli/documents.h"
#include "sim/cli/verb_import.h"
#include "sim/import/exchange/exchange_format.h"

static char *cluster, *choose, *name;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("device", orr_verb_import_device, "NAME",
                    "The accelerator, by its name in the library"),
    ORR_OPTION_TEXT("cluster", cluster, "NAME", "The machine, instead of one in the files"),
    ORR_OPTION_TEXT("choose", choose, "NAME", "Which of several experiments"),
    ORR_OPTION_TEXT("name", name, "NAME", "Name of the document"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    {NULL},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *machine = cluster ? cluster : orr_from_launch_asked.cluster;
  const OrrExchangeAnswers answers = {orr_verb_import_device, machine, choose, name};
  g_autoptr(GPtrArray) notes = NULL;
  if (!orr_cli_check_args(args, 1, 8, "import exchange takes files of another simulator", error) ||
      !orr_verb_import_check_paths(args, error))
    return 2;
  g_autofree char *text = orr_exchange_read(library, args, &answers, &notes, error);
  if (!text) return 2;
  for (guint i = 0; i < notes->len; i++)
    fprintf(stderr, "orrery: left out: %s\n", (char *)notes->pdata[i]);
  return orr_verb_import_write(text, error);
}

const OrrCommand orr_verb_import_exchange = {
    .verb = "exchange",
    .sentence = "Files of other simulators become clusters and scenarios.",
    .usage = "FILE... [--device NAME] [--cluster NAME] [-o FILE]",
    .more =
        "Reads ASTRA-sim 2's analytical network.yml (a cluster; with its system.json a scenario "
        "of collectives), Calculon's application, execution and system (a scenario of training), "
        "and an experiment of AIConfigurator (a scenario of serving, its lists axes of a sweep). "
        "Several files of one format are joined. What a document cannot say is listed on stderr. "
        "'describe cluster NAME --as astra-sim' writes a network.yml, '--as astra-sim-system' its "
        "system.json. SimAI's topologies and InfraGraph are read by 'import topology' and written "
        "by '--as simai' and '--as infragraph'.",
    .options = options,
    .run = run,
};

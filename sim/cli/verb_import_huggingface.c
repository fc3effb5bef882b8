/*
 * verb_import_huggingface.c - orrery import huggingface SOURCE: a config.json becomes a model
 * document.
 */
#include "models/import_huggingface.h"
#include "sim/cli/verb_import.h"

static char *name;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("name", name, "NAME", "The name of the model"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    {NULL},
};

static void list_keys(const char *path, const char *what, const char *lines) {
  g_auto(GStrv) keys = g_strsplit(lines ? lines : "", "\n", -1);
  for (guint i = 0; keys[i] && *keys[i]; i++)
    fprintf(stderr, "orrery: %s: %s: %s\n", path, what, keys[i]);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  g_autofree char *left_out = NULL, *warnings = NULL;
  if (!orr_verb_import_check_source(args, "import huggingface takes a config.json", error))
    return 2;
  if (!orr_verb_import_check_paths(args, error)) return 2;
  g_autofree char *text = orr_import_huggingface(args[0], name, &left_out, &warnings, error);
  if (!text) return 1;
  list_keys(args[0], "warning", warnings);
  list_keys(args[0], "not mapped", left_out);
  return orr_verb_import_write(text, error);
}

const OrrCommand orr_verb_import_huggingface = {
    .verb = "huggingface",
    .sentence = "A model's config.json becomes a model document.",
    .usage = "CONFIG.json [--name NAME] [-o FILE]",
    .more = "Keys that cannot be mapped are listed on stderr and in comments, first those that are "
            "known to change answers, with what they change. Put the document in "
            "models/ of a folder named by --library or ORRERY_PATH.",
    .options = options,
    .run = run,
};

/*
 * verb_check.c - orrery check FILE...: reports every error in documents without running them.
 */
#include "sim/cli/documents.h"

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, G_MAXUINT, "check takes files", error)) return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  for (char **path = args; *path; path++) {
    guint n_before = orr_diags_n_errors(diags);
    orr_documents_check(library, *path, orr_options.settings, diags);
    if (orr_diags_n_errors(diags) == n_before) printf("%s: fine\n", *path);
  }
  orr_show_diags(diags);
  return orr_diags_n_errors(diags) > 0 ? 2 : 0;
}

static const GOptionEntry options[] = {
    ORR_OPTION_SETS("PATH=VALUE",
                    "Check the documents as changed, e.g. workload.parallel.tp=4; may be repeated"),
    {NULL},
};

const OrrCommand orr_verb_check = {
    .verb = "check",
    .group = "Import",
    .sentence = "Report every error in documents, without running them.",
    .usage = "FILE... [--set PATH=VALUE]...",
    .more = "Checks documents of every kind; a document begins with 'schema: KIND/1'. Exit status "
            "2 when a document has an error.",
    .options = options,
    .run = run,
};

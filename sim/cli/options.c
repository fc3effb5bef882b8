/*
 * options.c - what the shared options say.
 */
#include "sim/cli/cli.h"

#include "sim/base/settings.h"
#include "sim/run/scenario.h"

OrrOptions orr_options;

const char *orr_options_database(void) {
  const char *path = orr_options.database ? orr_options.database : "orrery.db";
  return g_str_equal(path, "none") ? NULL : path;
}

gboolean orr_options_open(const char *path, OrrStore **ret_store, GError **error) {
  if (!path) return TRUE;
  if (!(*ret_store = orr_store_open(path, error))) return FALSE;
  orr_store_keep_aside(*ret_store);
  return TRUE;
}

gboolean orr_options_check_jobs(GError **error) {
  if (orr_options.n_jobs >= 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "-j takes a number above 0, found %d",
                       orr_options.n_jobs);
}

OrrNode *orr_options_scenario(OrrLibrary *library, const char *file, OrrDiags *diags,
                              GError **error) {
  g_autoptr(OrrNode) tree = orr_scenario_tree(library, file, diags);
  return tree && orr_settings_apply(&orr_scenario_table, tree, orr_options.settings, error)
             ? g_steal_pointer(&tree)
             : NULL;
}

char *orr_options_answer(const OrrAnswer *answer) {
  return orr_options.csv        ? orr_answer_csv(answer)
         : orr_options.json     ? orr_answer_json(answer)
         : orr_options.markdown ? orr_answer_markdown(answer)
                                : orr_answer_table(answer);
}

gboolean orr_options_check_form(GError **error) {
  if (orr_options.csv + orr_options.json + orr_options.markdown <= 1) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "give at most one of --csv, --json and --markdown");
}

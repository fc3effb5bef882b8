/*
 * from_launch.c - reads launch lines, prints what they leave out, and checks their scenario.
 */
#include "sim/cli/documents.h"

#include "sim/base/yaml.h"
#include "sim/import/launch/launch_form.h"
#include "sim/run/scenario.h"

OrrLaunchOptions orr_from_launch_asked;

gboolean orr_from_launch_is_variable(const char *setting) {
  const char *name = setting;
  while (g_ascii_isupper(*name) || g_ascii_isdigit(*name) || *name == '_') name++;
  return name > setting && *name == '=';
}

static gboolean check_numbers(GError **error) {
  const struct {
    const char *option;
    gint64 value;
  } numbers[] = {{"--gpus", orr_from_launch_asked.gpus},
                 {"--nodes", orr_from_launch_asked.nodes},
                 {"--choose", orr_from_launch_asked.choice}};
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
    if (numbers[i].value >= 0 && numbers[i].value <= 100000000) continue;
    return orr_fault_set(error, ORR_FAULT_USAGE, "%s takes a number from 1 to 100,000,000",
                         numbers[i].option);
  }
  return TRUE;
}

static gboolean add_sources(OrrLaunchDraft *draft, char **files, GError **error) {
  if (!files[0]) return orr_launch_form_add_file(draft, "-", error);
  for (; *files; files++)
    if (!orr_launch_form_add_file(draft, *files, error)) return FALSE;
  return TRUE;
}

/* Whether the scenario passes `check`; else the errors name lines of @text, which is printed. */
static gboolean check_scenario(OrrLibrary *library, const char *text, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "the scenario", diags);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  if (scenario || orr_diags_check(diags, error)) return TRUE;
  g_prefix_error(error, "the launch line gives a scenario that does not pass its checks\n");
  fputs(text, stderr);
  return FALSE;
}

char *orr_from_launch_text(OrrLibrary *library, char **files, gboolean account, GPtrArray *warnings,
                           GError **error) {
  g_autoptr(OrrLaunchDraft) draft = orr_launch_draft_new(library, &orr_from_launch_asked);
  if (!check_numbers(error) || !add_sources(draft, files, error)) return NULL;
  orr_launch_form_read(draft);
  g_autofree char *text = orr_launch_draft_scenario(draft, error);
  g_autofree char *list =
      account ? orr_launch_draft_account(draft) : orr_launch_draft_warnings(draft);
  if (text) orr_show_diags_kept(orr_launch_draft_diags(draft), warnings); /* else the error */
  if (text || account) fputs(list, stderr);
  g_ptr_array_extend_and_steal(warnings, orr_launch_draft_notes(draft));
  return text && check_scenario(library, text, error) ? g_steal_pointer(&text) : NULL;
}

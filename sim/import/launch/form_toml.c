/*
 * form_toml.c - a config in TOML: torchtitan's, or prime-rl's.
 */
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/toml.h"

/* A table's header alone on a line, and a key with '='. */
static int recognise(const OrrLaunchSource *source) {
  if (g_str_has_suffix(source->name, ".toml")) return 95;
  const char *text = source->text;
  while (*text && strchr(" \t\r\n#", *text)) text += *text == '#' ? strcspn(text, "\n") : 1;
  return *text == '[' &&
                 g_regex_match_simple("^\\[\\[?[A-Za-z0-9_.\"-]+\\]\\]?[ \t]*(#.*)?\r?$", text,
                                      G_REGEX_MULTILINE, 0) &&
                 strstr(text, "=")
             ? 85
             : 0;
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(OrrNode) tree =
      orr_toml_parse(source->text, source->length, source->name, orr_launch_draft_diags(draft));
  const OrrLaunchDialect *config = tree ? orr_launch_config_of(tree) : NULL;
  if (tree) orr_launch_config_read(draft, config ? config : &orr_dialect_torchtitan, tree);
}

const OrrLaunchForm orr_launch_form_toml = {
    .name = "toml",
    .sentence = "A config in TOML: torchtitan's, prime-rl's.",
    .recognise = recognise,
    .read = read,
};

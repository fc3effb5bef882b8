#include "sim/cli/manual.h"

#include <string.h>

/* A line that begins with '.' or '\'' is a request to roff, a backslash an escape, '-' a hyphen. */
static void append_roff(GString *page, const char *text) {
  gboolean at_start = page->len == 0 || page->str[page->len - 1] == '\n';
  for (const char *c = text; *c; c++) {
    if (at_start && (*c == '.' || *c == '\'')) g_string_append(page, "\\&");
    if (*c == '\\')
      g_string_append(page, "\\e");
    else if (*c == '-')
      g_string_append(page, "\\-");
    else
      g_string_append_c(page, *c);
    at_start = *c == '\n';
  }
}

static void append_options(GString *page, const GOptionEntry *options) {
  for (const GOptionEntry *entry = options; entry && entry->long_name; entry++) {
    g_string_append(page, ".TP\n.B ");
    if (entry->short_name) g_string_append_printf(page, "\\-%c, ", entry->short_name);
    g_autofree char *name = g_strconcat("--", entry->long_name, NULL);
    append_roff(page, name);
    if (entry->arg_description) {
      g_string_append_c(page, ' ');
      append_roff(page, entry->arg_description);
    }
    g_string_append_c(page, '\n');
    append_roff(page, entry->description);
    g_string_append(page, ".\n");
  }
}

static void append_command(GString *page, const OrrCommand *command) {
  g_string_append(page, ".SS orrery ");
  append_roff(page, command->verb);
  g_string_append_c(page, ' ');
  g_auto(GStrv) lines = g_strsplit(command->usage, "\n", -1); /* a heading is one line */
  for (char **line = lines; *line; line++) append_roff(page, g_strstrip(*line));
  g_string_append_c(page, '\n');
  append_roff(page, command->sentence);
  g_string_append_c(page, '\n');
  if (command->more) {
    g_string_append(page, ".PP\n");
    append_roff(page, command->more);
    g_string_append_c(page, '\n');
  }
  append_options(page, command->options);
}

char *orr_manual_page(const OrrCommand *const *commands, gsize n_commands) {
  GString *page = g_string_new(NULL);
  g_string_append_printf(page, ".TH ORRERY 1 \"\" \"Orrery %s\" \"User Commands\"\n",
                         orr_cli_version());
  g_string_append(page,
                  ".SH NAME\norrery \\- simulates AI clusters and the work that runs on them\n"
                  ".SH SYNOPSIS\n.B orrery\n[\\-\\-library DIR]... VERB [OPTION]... "
                  "[ARGUMENT]...\n.SH VERBS\n");
  for (gsize i = 0; i < n_commands; i++) append_command(page, commands[i]);
  g_string_append(
      page,
      ".SH EXIT STATUS\n0: fine. 1: the simulation could not finish, or a file could not be read or"
      " written. 2: the document or the command line is wrong.\n"
      ".SH ENVIRONMENT\n.TP\n.B ORRERY_PATH\nFolders of documents, searched before the shipped "
      "library.\n"
      ".TP\n.B ORRERY_LOCK_WAIT\nHow long to wait for a results database that another process has "
      "locked, "
      "for example \"10 min\". The default is a minute.\n");
  return g_string_free(page, FALSE);
}

/* What completes an argument of a verb: a bash word list, or nothing: files. */
static const struct {
  const char *verb, *words;
} argument_words[] = {
    {"cost", "$(orrery list profiles | cut -d' ' -f1)"},
    {"db", "export info vacuum"},
    {"describe", "$(_orrery_names)"},
    {"list", "$(orrery list | cut -d' ' -f1)"},
    {"plot", "$(orrery list plots | cut -d' ' -f1)"},
    {"query", "$(orrery list views | cut -d' ' -f1)"},
    {"run", "$(orrery list scenarios | cut -d' ' -f1)"},
    {"validate", "$(orrery list validation-sets | cut -d' ' -f1)"},
};

static const char *words_of(const char *verb) {
  for (guint i = 0; i < G_N_ELEMENTS(argument_words); i++)
    if (strcmp(argument_words[i].verb, verb) == 0) return argument_words[i].words;
  return "";
}

static void append_case(GString *script, const OrrCommand *command) {
  g_string_append_printf(script, "    %s) options='--help --library", command->verb);
  for (const GOptionEntry *entry = command->options; entry && entry->long_name; entry++)
    g_string_append_printf(script, " --%s", entry->long_name);
  g_string_append_printf(script, "'; [[ $word == -* ]] || words=\"%s\" ;;\n",
                         words_of(command->verb));
}

char *orr_manual_completion(const OrrCommand *const *commands, gsize n_commands) {
  GString *script =
      g_string_new("# bash completion of orrery; made by 'orrery help --completion'.\n"
                   "_orrery_names() {\n"
                   "  if [ \"$COMP_CWORD\" -le 2 ]; then orrery list | cut -d' ' -f1\n"
                   "  else orrery list \"${COMP_WORDS[2]}\" 2>/dev/null | cut -d' ' -f1; fi\n"
                   "}\n"
                   "_orrery() {\n"
                   "  local word=${COMP_WORDS[COMP_CWORD]} options= words=\n"
                   "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W 'help");
  for (gsize i = 0; i < n_commands; i++) g_string_append_printf(script, " %s", commands[i]->verb);
  g_string_append(script, "' -- \"$word\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n");
  for (gsize i = 0; i < n_commands; i++) append_case(script, commands[i]);
  g_string_append(
      script,
      "  esac\n"
      "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\")); fi\n"
      "}\n"
      "complete -o filenames -F _orrery orrery\n");
  return g_string_free(script, FALSE);
}

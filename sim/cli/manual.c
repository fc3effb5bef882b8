/*
 * manual.c - writes the command table as roff for man(1).
 */
#include "sim/cli/cli.h"

/* Escapes text for roff, where a line that begins with '.' or '\'' is a request, a backslash begins
 * an escape, and '-' prints a hyphen. A newline in @text separates paragraphs. */
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

/* @of: the verb that @command is a part of, or NULL. */
static void append_command(GString *page, const OrrCommand *command, const OrrCommand *of) {
  g_string_append(page, ".SS orrery ");
  if (of) {
    append_roff(page, of->verb);
    g_string_append_c(page, ' ');
  }
  append_roff(page, command->verb);
  g_string_append_c(page, ' ');
  g_auto(GStrv) lines = g_strsplit(command->usage, "\n", -1); /* a heading is one line */
  for (char **line = lines; *line; line++) append_roff(page, g_strstrip(*line));
  g_string_append_c(page, '\n');
  append_roff(page, command->sentence);
  g_string_append_c(page, '\n');
  g_auto(GStrv) paragraphs = g_strsplit(command->more ? command->more : "", "\n", -1);
  for (char **paragraph = paragraphs; *paragraph; paragraph++) {
    g_string_append(page, ".PP\n");
    append_roff(page, *paragraph);
    g_string_append_c(page, '\n');
  }
  append_options(page, command->options);
  for (const OrrCommand *const *part = command->parts; part && *part; part++)
    append_command(page, *part, command);
}

char *orr_manual_page(const OrrCommand *const *commands, gsize n_commands) {
  GString *page = g_string_new(NULL);
  g_string_append_printf(page, ".TH ORRERY 1 \"\" \"Orrery %s\" \"User Commands\"\n",
                         orr_cli_version());
  g_string_append(page,
                  ".SH NAME\norrery \\- simulates AI clusters and the work that runs on them\n"
                  ".SH SYNOPSIS\n.B orrery\n[\\-\\-library DIR]... VERB [OPTION]... "
                  "[ARGUMENT]...\n.SH VERBS\n");
  for (gsize i = 0; i < n_commands; i++) append_command(page, commands[i], NULL);
  g_string_append(
      page,
      ".SH EXIT STATUS\n0: success. 1: the simulation could not finish, or a file could not be "
      "read or"
      " written. 2: an error in the document or on the command line.\n"
      ".SH ENVIRONMENT\n.TP\n.B ORRERY_PATH\nFolders of documents, separated by colons, searched "
      "before the shipped "
      "library.\n"
      ".TP\n.B ORRERY_LOCK_WAIT\nHow long to wait for a results database that another process has "
      "locked, for example \"10 min\". The default is one minute.\n");
  return g_string_free(page, FALSE);
}

/*
 * dump_host_file.c - a list of hosts, one a line: which nodes a job has.
 *
 *   node01 slots=8        Open MPI           node01:8      MPICH
 *   node02 slots=8
 *
 * The form is so loose that a file counts as one only where every line is a host and no other
 * format is recognised. With a fabric, the hosts select its nodes; without one they count them.
 */
#include "sim/import/topology/dump.h"

static gboolean is_host(const char *word) {
  const gsize n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
  return n > 0 && n < 254 && g_ascii_isalnum(*word) && (!word[n] || word[n] == ':');
}

/* The host of a line: a newly allocated name, "" for an empty line or a comment, NULL: no host. */
static char *host_of(const char *line) {
  g_autofree char *copy = g_strndup(line, strcspn(line, "#"));
  g_auto(GStrv) words = orr_dump_words(copy, NULL);
  if (!words[0]) return g_strdup("");
  for (guint i = 1; words[i]; i++)
    if (!strchr(words[i], '=')) return NULL;
  return is_host(words[0]) ? g_strndup(words[0], strcspn(words[0], ":")) : NULL;
}

static gboolean recognise(const OrrDumpText *text) {
  gboolean has_digit = FALSE;
  if (text->n_lines == 0 || text->n_lines > ORR_DUMP_MAX_HOSTS) return FALSE;
  for (guint i = 0; i < text->n_lines; i++) {
    g_autofree char *host = host_of(text->lines[i]);
    if (!host) return FALSE;
    has_digit |= strcspn(host, "0123456789") < strlen(host);
  }
  return has_digit;
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  if (!dump->hosts) dump->hosts = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < text->n_lines; i++) {
    char *host = host_of(text->lines[i]);
    if (host && *host && g_hash_table_add(seen, g_strdup(host)))
      g_ptr_array_add(dump->hosts, host);
    else
      g_free(host);
  }
}

const OrrDumpReader orr_dump_host_file = {
    .name = "host-file",
    .sentence = "a list of hosts, one a line, with another file",
    .recognise = recognise,
    .read = read_text,
};

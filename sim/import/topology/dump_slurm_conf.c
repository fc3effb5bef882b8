/*
 * dump_slurm_conf.c - Slurm's topology.conf: a tree of switches, or blocks of nodes.
 *
 *   SwitchName=leaf0 Nodes=node[00-15]            topology/tree
 *   SwitchName=root Switches=leaf[0-3]
 *
 *   BlockName=b1 Nodes=node[01-16]                topology/block: a block is an NVLink domain
 *   BlockSizes=16
 *
 * `scontrol show topology` adds Level= to each line, and lists all nodes below a switch; a switch
 * with children has none of its own.
 *
 * Keys and words are in any case; text after '#' is a comment; a '\' at the end of a line continues
 * it. A switch of this file is a level of the network and not always one device: a rail group or a
 * chassis is one line. LinkSpeed is in units that Slurm does not define: it is noted.
 *
 * The examples of the manual page (topology.conf.5) are roff, where '-' is '\-'.
 *
 * Source: topology.conf(5), Slurm 25.05.
 */
#include "sim/import/topology/dump.h"

static char *value_of(char **words, const char *key) {
  const gsize n = strlen(key);
  for (guint i = 0; words[i]; i++)
    if (g_ascii_strncasecmp(words[i], key, n) == 0 && words[i][n] == '=') return words[i] + n + 1;
  return NULL;
}

/* The line @i without its comment, with the lines that continue it; @i moves to the last one. */
static char *whole_line(const OrrDumpText *text, guint *i) {
  GString *line = g_string_new(NULL);
  for (gboolean goes_on = TRUE; goes_on && *i < text->n_lines; (*i)++) {
    const char *raw = text->lines[*i];
    g_string_append_len(line, raw, (gssize)strcspn(raw, "#"));
    goes_on = line->len > 0 && line->str[line->len - 1] == '\\';
    if (goes_on) g_string_truncate(line, line->len - 1);
    if (!goes_on) break;
  }
  for (char *at; (at = strstr(line->str, "\\-"));) /* roff */
    g_string_erase(line, at - line->str, 1);
  return g_string_free(line, FALSE);
}

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++) {
    const char *line = text->lines[i] + strspn(text->lines[i], " \t");
    if (g_ascii_strncasecmp(line, "SwitchName=", 11) == 0 ||
        g_ascii_strncasecmp(line, "BlockName=", 10) == 0 ||
        g_ascii_strncasecmp(line, "RingName=", 9) == 0)
      return TRUE;
  }
  return FALSE;
}

static const char *const known_keys[] = {"SwitchName", "Switches",  "Nodes",
                                         "LinkSpeed",  "BlockName", "BlockSizes",
                                         "RingName",   "Level",     NULL};

static char *key_of(const char *word) { return g_strndup(word, strcspn(word, "=")); }

static void check_keys(char **words, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; words[i]; i++) {
    g_autofree char *key = key_of(words[i]);
    gboolean found = FALSE;
    for (guint k = 0; known_keys[k]; k++) found |= g_ascii_strcasecmp(known_keys[k], key) == 0;
    const char *nearest = orr_diag_nearest_word(key, known_keys);
    if (!strchr(words[i], '=') || !found)
      orr_diags_error(diags, place,
                      "'%.60s' is not a KEY=VALUE of topology.conf%s%s%s (known: "
                      "SwitchName, Switches, Nodes, LinkSpeed, BlockName, BlockSizes)",
                      words[i], nearest ? ": did you mean " : "", nearest ? nearest : "",
                      nearest ? "=?" : "");
  }
}

/* Whether a line is one of topology.conf, perhaps misspelt: its first key is near a known one.
 * Other lines are prose around an example, or of slurm.conf. */
static gboolean is_line(char **words) {
  g_autofree char *key = words[0] && strchr(words[0], '=') ? key_of(words[0]) : NULL;
  return key && orr_diag_nearest_word(key, known_keys);
}

/* "30,120": the planning size, then larger ones. */
static void read_sizes(OrrSlurmTree *tree, const char *sizes) {
  tree->block = CLAMP(g_ascii_strtoll(sizes, NULL, 10), 0, 1 << 20);
}

static void read_line(OrrSlurmTree *tree, char **words, OrrPlace place, OrrDump *dump,
                      OrrDiags *diags) {
  const char *name = value_of(words, "SwitchName"), *block = value_of(words, "BlockName"),
             *ring = value_of(words, "RingName"), *sizes = value_of(words, "BlockSizes"),
             *switches = value_of(words, "Switches");
  const guint n_before = orr_diags_n_errors(diags);
  check_keys(words, place, diags);
  if (orr_diags_n_errors(diags) > n_before) return;
  if (value_of(words, "LinkSpeed"))
    orr_dump_note(dump, "LinkSpeed is in units that Slurm does not define, and unused: give "
                        "--link-rate");
  if (sizes) read_sizes(tree, sizes);
  if (ring)
    orr_dump_note(dump, "line %d: topology/ring has no fabric here, and is passed over",
                  place.line);
  if (!name && !block) return;
  const OrrSlurmSwitch made = {.name = name ? name : block,
                               .is_block = block != NULL,
                               .nodes = switches ? NULL : value_of(words, "Nodes"),
                               .switches = switches,
                               .place = place};
  orr_slurm_tree_add(tree, &made, diags);
}

/* A page of examples (the manual) holds several topologies. The first line of the next one names a
 * switch or block that exists already, or is of the other kind. */
static gboolean starts_anew(const OrrSlurmTree *tree, char **words) {
  const char *name = value_of(words, "SwitchName"), *block = value_of(words, "BlockName");
  if (!name && !block) return FALSE;
  return orr_slurm_tree_size(tree) > 0 && orr_slurm_tree_is_block(tree) != (block != NULL);
}

/* A tree of lines that added no switch, such as rings, is not one. */
static void close_tree(OrrSlurmTree *tree, OrrDump *dump, OrrDiags *diags) {
  if (orr_slurm_tree_size(tree) > 0 || orr_diags_n_errors(diags) > 0 || dump->fabrics->len == 0)
    orr_slurm_tree_close(tree, dump, diags);
  else
    orr_slurm_tree_free(tree);
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  OrrSlurmTree *tree = NULL;
  for (guint i = 0; i < text->n_lines && orr_diags_n_errors(diags) < 20; i++) {
    const guint first = i;
    g_autofree char *line = whole_line(text, &i);
    g_auto(GStrv) words = orr_dump_words(line, NULL);
    if (!is_line(words)) continue;
    if (tree && starts_anew(tree, words)) {
      close_tree(tree, dump, diags);
      tree = NULL;
    }
    if (!tree) tree = orr_slurm_tree_new("topology.conf", orr_dump_place(text, first + 1, 1));
    read_line(tree, words, orr_dump_place(text, first + 1, 1), dump, diags);
  }
  if (tree) close_tree(tree, dump, diags);
}

const OrrDumpReader orr_dump_slurm_conf = {
    .name = "slurm-conf",
    .sentence = "Slurm's topology.conf",
    .recognise = recognise,
    .read = read_text,
};

/*
 * dump_iblinkinfo.c - an InfiniBand fabric as iblinkinfo prints it, also with -l:
 *
 *   CA: node-1 mlx5_0:
 *       0xb88303ffff7f310c 2  1[  ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 3  2[  ] "leaf1" ( )
 *   Switch: 0x0c42a10300b95bfa MF0;leaf1:MQM8700/U1:
 *       3  2[  ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 2  1[  ] "node-1 mlx5_0" ( )
 *       3  4[  ] ==(           Down/ Polling)==>          [  ] "" ( )
 *
 * The first number of a line is the LID of the device, which names it at the other end, too. Each
 * line becomes the line of ibnetdiscover -p that says the same, at the same place, and is read as
 * one. Links that are down are passed over.
 *
 * Source: iblinkinfo(8), rdma-core; infiniband-diags/iblinkinfo.c.
 */
#include "sim/import/topology/dump.h"

extern const OrrDumpReader orr_dump_iblinkinfo, orr_dump_ibnetdiscover;

enum { GUID = 1, NAME, LID, PORT, LANES, SPEED, STATE, PEER_GUID, PEER, PEER_PORT, PEER_NAME };

static const char link_line[] =
    "^\\s*(?:(0x[0-9a-f]+)\\s+)?(?:\"([^\"]*)\"\\s+)?(\\d+)\\s+(\\d+)\\[[^]]*\\]\\s*==\\(\\s*"
    "(\\d+)X\\s+([0-9.]+)\\s+Gbps\\s+([^)]*)\\)==>\\s*(?:(0x[0-9a-f]+)\\s+)?(\\d+)\\s+(\\d+)"
    "\\[[^]]*\\]\\s+\"([^\"]*)\"";

/* What the fabric is known to have: LID -> its GUID and its kind. */
typedef struct {
  GRegex *line;
  GHashTable *guids, *switches;
} Reader;

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++)
    if (strstr(text->lines[i], ")==>") && strstr(text->lines[i], "==(")) return TRUE;
  return FALSE;
}

static gboolean is_switch_name(const char *name) {
  return strchr(name, ';') || strstr(name, "Switch") || strstr(name, "Quantum");
}

static char *fetch(const GMatchInfo *match, gint group) {
  char *text = g_match_info_fetch(match, group);
  return text ? text : g_strdup("");
}

static void note(Reader *reader, const char *lid, const char *guid, gboolean is_switch) {
  if (*lid && *guid && !g_hash_table_contains(reader->guids, lid))
    g_hash_table_insert(reader->guids, g_strdup(lid), g_strdup(guid));
  if (*lid && is_switch) g_hash_table_add(reader->switches, g_strdup(lid));
}

/* The first walk: the devices. @header: "Switch: GUID NAME:", or NULL below an adapter. */
static void note_line(Reader *reader, const char *line, const char *header) {
  g_autoptr(GMatchInfo) match = NULL;
  if (!g_regex_match(reader->line, line, 0, &match)) return;
  g_autofree char *lid = fetch(match, LID), *guid = fetch(match, GUID), *name = fetch(match, NAME);
  g_autofree char *peer = fetch(match, PEER), *peer_guid = fetch(match, PEER_GUID),
                  *peer_name = fetch(match, PEER_NAME);
  g_autofree char *own = header ? g_strndup(header, strcspn(header, " ")) : NULL;
  note(reader, lid, own ? own : guid, header || is_switch_name(name));
  note(reader, peer, peer_guid, is_switch_name(peer_name));
}

static char *end_of(const Reader *reader, const char *lid, const char *port) {
  const char *guid = g_hash_table_lookup(reader->guids, lid);
  const gboolean is_switch = g_hash_table_contains(reader->switches, lid);
  return guid ? g_strdup_printf("%s %s %s %s", is_switch ? "SW" : "CA", lid, port, guid)
              : g_strdup_printf("%s %s %s 0x%s", is_switch ? "SW" : "CA", lid, port, lid);
}

/* The line of ibnetdiscover -p; "" where it says no link that is up. Newly allocated. */
static char *translate(const Reader *reader, const char *line, const char *own) {
  g_autoptr(GMatchInfo) match = NULL;
  if (!g_regex_match(reader->line, line, 0, &match)) return g_strdup("");
  g_autofree char *state = fetch(match, STATE), *name = fetch(match, NAME);
  g_autofree char *lid = fetch(match, LID), *port = fetch(match, PORT);
  g_autofree char *peer = fetch(match, PEER), *peer_port = fetch(match, PEER_PORT);
  g_autofree char *lanes = fetch(match, LANES), *speed = fetch(match, SPEED);
  g_autofree char *peer_name = fetch(match, PEER_NAME);
  if (!strstr(state, "LinkUp")) return g_strdup("");
  g_autofree char *here = end_of(reader, lid, port), *there = end_of(reader, peer, peer_port);
  return g_strdup_printf("%s %sx %s - %s ( '%s' - '%s' )", here, lanes, speed, there,
                         *name ? name : own, peer_name);
}

/* The name in "CA: NAME:" and "Switch: GUID NAME:"; NULL: another line. Newly allocated. */
static char *header_of(const char *line, gboolean *ret_is_switch) {
  *ret_is_switch = g_str_has_prefix(line, "Switch:");
  if (!*ret_is_switch && !g_str_has_prefix(line, "CA:")) return NULL;
  char *header = g_strstrip(g_strdup(strchr(line, ':') + 1));
  if (g_str_has_suffix(header, ":")) header[strlen(header) - 1] = '\0';
  return header;
}

static void walk(Reader *reader, const OrrDumpText *text, char **lines) {
  g_autofree char *header = NULL;
  gboolean is_switch = FALSE;
  for (guint i = 0; i < text->n_lines; i++) {
    gboolean of_switch = FALSE;
    char *next = header_of(text->lines[i], &of_switch);
    if (next) {
      g_free(header);
      header = next;
      is_switch = of_switch;
    }
    const char *name = header && is_switch ? strchr(header, ' ') : header;
    if (lines)
      lines[i] = translate(reader, text->lines[i], name ? name + (*name == ' ') : "");
    else
      note_line(reader, text->lines[i], is_switch ? header : NULL);
  }
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  Reader reader = {
      .line = g_regex_new(link_line, G_REGEX_CASELESS | G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL),
      .guids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
      .switches = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
  g_auto(GStrv) lines = g_new0(char *, text->n_lines + 1);
  OrrDumpText pairs = *text;
  walk(&reader, text, NULL);
  walk(&reader, text, lines);
  pairs.lines = lines;
  orr_dump_ibnetdiscover.read(&pairs, dump, diags);
  g_regex_unref(reader.line);
  g_hash_table_unref(reader.guids);
  g_hash_table_unref(reader.switches);
}

const OrrDumpReader orr_dump_iblinkinfo = {
    .name = "iblinkinfo",
    .sentence = "iblinkinfo, also with -l",
    .recognise = recognise,
    .read = read_text,
};

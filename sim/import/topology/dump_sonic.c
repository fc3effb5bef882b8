/*
 * dump_sonic.c - an Ethernet fabric of switches with SONiC: the config_db.json of each of them, or
 * what `show lldp table` and `show interfaces status` print there, one after the other in a file,
 * each with its prompt; several files make one fabric.
 *
 *   admin@leaf1:~$ show lldp table
 *   Capability codes: (R) Router, (B) Bridge, (O) Other
 *   LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr
 *   -----------  --------------  -----------------  ------------  -----------------
 *   Ethernet0    spine1          Ethernet4          BR            Ethernet4
 *   Ethernet8    node01          0c:42:a1:88:0a:1c  R             Interface   8 as enp5s0f0
 *   admin@leaf1:~$ show interfaces status
 *     Interface    Lanes    Speed    MTU    FEC        Alias    Vlan    Oper    Admin
 *   -----------  -------  -------  -----  -----  -----------  ------  ------  -------
 *     Ethernet0  1,2,3,4     400G   9100     rs  Ethernet1/1  routed      up       up
 *
 *   {"DEVICE_METADATA": {"localhost": {"hostname": "tor1", ...}},
 *    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "leaf1", "port": "Ethernet1"}, ...},
 *    "DEVICE_NEIGHBOR_METADATA": {"leaf1": {"type": "LeafRouter", ...}, ...},
 *    "PORT": {"Ethernet0": {"speed": "100000", ...}, ...}}
 *
 * A neighbour is a switch where it bridges (B) or has a prompt of its own here; others are nodes,
 * and what they call the port is their NIC; config_db.json says what is a Server. Two switches name
 * the same cable; the first one's lines count. eth0, the management port, is left out. Speeds stand
 * behind or before the neighbours; without them the rate is asked.
 *
 * Source: scripts/lldpshow and show/interfaces of sonic-net/sonic-utilities; Configuration.md of
 * sonic-net/SONiC.
 */
#include "sim/base/yaml_foreign.h"
#include "sim/import/topology/dump.h"

typedef struct {
  OrrDump *dump;
  OrrDumpFabric *fabric;
  GHashTable *hosts;  /* names of switches with a prompt */
  GHashTable *speeds; /* "HOST PORT" -> Gb/s */
  GHashTable *joined; /* "A B" of switches whose cables A has given */
} Reader;

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++)
    if (strstr(text->lines[i], "LocalPort") && strstr(text->lines[i], "RemoteDevice")) return TRUE;
  return strstr(text->text, "\"DEVICE_NEIGHBOR\"") != NULL;
}

/* "admin@leaf1:~$ show ...": the host; NULL: no prompt. Newly allocated. */
static char *host_of(const char *line) {
  const char *at = strchr(line, '@'), *end = at ? strpbrk(at, ":$#") : NULL;
  const gboolean is_prompt =
      at && end && end > at + 1 && strpbrk(end, "$#") && !memchr(line, ' ', (gsize)(end - line));
  return is_prompt ? g_strndup(at + 1, (gsize)(end - at - 1)) : NULL;
}

static char *pair_of(const char *a, const char *b) { return g_strconcat(a, " ", b, NULL); }

static gboolean is_port(const char *word) { return g_str_has_prefix(word, "Ethernet"); }

/* The first walk: hosts, and "Ethernet0 1,2,3,4 400G ...". */
static void note_line(Reader *reader, const char *host, const char *line) {
  g_auto(GStrv) words = orr_dump_words(line, NULL);
  const guint n = g_strv_length(words);
  char *end = NULL;
  if (n < 4 || !is_port(words[0]) || !g_ascii_isdigit(words[2][0])) return;
  const gint64 speed = g_ascii_strtoll(words[2], &end, 10);
  if (speed > 0 && speed <= 1600 && strcmp(end, "G") == 0)
    g_hash_table_replace(reader->speeds, pair_of(host, words[0]), GINT_TO_POINTER((gint)speed));
}

/* "Interface   8 as enp5s0f0": its last word; else the port's own name. */
static const char *nic_of(char **words, guint n) {
  return n > 4 && strchr("EeMm", words[n - 1][0]) ? words[n - 1] : words[2];
}

static void add_neighbour(Reader *reader, const char *host, char **words, guint n) {
  const char *name = words[1];
  g_autofree char *here = pair_of(host, words[0]), *pair = pair_of(host, name),
                  *back = pair_of(name, host);
  const double rate = GPOINTER_TO_INT(g_hash_table_lookup(reader->speeds, here)) * 1e9 / 8;
  const guint at = orr_dump_fabric_switch(reader->fabric, host);
  const gboolean is_switch =
      g_hash_table_contains(reader->hosts, name) || (n > 3 && strchr(words[3], 'B'));
  if (at == G_MAXUINT) return;
  if (!is_switch) {
    orr_dump_fabric_port(reader->fabric, name, nic_of(words, n), at, rate);
    return;
  }
  if (g_hash_table_contains(reader->joined, back)) return;
  const guint other = orr_dump_fabric_switch(reader->fabric, name);
  if (other != G_MAXUINT && other != at) orr_dump_fabric_cable(reader->fabric, at, other, 1, rate);
  g_hash_table_add(reader->joined, g_steal_pointer(&pair));
}

/* One walk over the lines: prompts, and the rows below each. */
static void walk(Reader *reader, const OrrDumpText *text, gboolean notes) {
  g_autofree char *host = g_strdup("switch");
  gboolean is_table = FALSE;
  for (guint i = 0; i < text->n_lines; i++) {
    const char *line = text->lines[i];
    char *next = host_of(line);
    if (next) {
      g_free(host);
      host = next;
      is_table = FALSE;
      if (notes) g_hash_table_add(reader->hosts, g_strdup(host));
      continue;
    }
    if (strstr(line, "LocalPort") && strstr(line, "RemoteDevice")) is_table = TRUE;
    if (strstr(line, "Interface") && strstr(line, "Lanes")) is_table = FALSE;
    if (notes && !is_table) note_line(reader, host, line);
    if (notes || !is_table) continue;
    g_auto(GStrv) words = orr_dump_words(line, NULL);
    const guint n = g_strv_length(words);
    if (n >= 3 && is_port(words[0])) add_neighbour(reader, host, words, n);
  }
}

/* --- config_db.json --- */

static const OrrNode *member(const OrrNode *tree, const char *key) {
  const OrrNode *found = orr_node_get(tree, key);
  return found && found->kind == ORR_NODE_MAP ? found : NULL;
}

static void read_config(Reader *reader, const OrrNode *tree) {
  const OrrNode *neighbours = member(tree, "DEVICE_NEIGHBOR"), *ports = member(tree, "PORT");
  const OrrNode *kinds = member(tree, "DEVICE_NEIGHBOR_METADATA");
  const char *host = orr_node_get_text(
      orr_node_get(orr_node_get(tree, "DEVICE_METADATA"), "localhost"), "hostname");
  ORR_EACH_PAIR(key, link, neighbours) {
    const char *name = orr_node_get_text(link, "name"), *port = orr_node_get_text(link, "port");
    const char *speed = orr_node_get_text(orr_node_get(ports, key->text), "speed"); /* Mb/s */
    const char *kind = name ? orr_node_get_text(orr_node_get(kinds, name), "type") : NULL;
    const gboolean is_bridge =
        kind ? strstr(kind, "Server") == NULL : port && is_port(port); /* a switch's own name */
    const gint64 rate = speed ? g_ascii_strtoll(speed, NULL, 10) / 1000 : 0;
    if (!name || !is_port(key->text)) continue;
    char *words[] = {key->text, (char *)name, (char *)(port ? port : key->text),
                     (char *)(is_bridge ? "B" : "-"), NULL};
    if (rate > 0 && rate <= 1600)
      g_hash_table_replace(reader->speeds, pair_of(host ? host : "switch", key->text),
                           GINT_TO_POINTER((gint)rate));
    add_neighbour(reader, host ? host : "switch", words, 4);
  }
}

/* The fabric of the files before, whose cables are given. */
static OrrDumpFabric *fabric_of(OrrDump *dump, GHashTable *joined, OrrPlace place) {
  ORR_EACH_POINTER(OrrDumpFabric, fabric, dump->fabrics) {
    if (strcmp(fabric->format, "sonic") != 0) continue;
    ORR_EACH(const OrrDumpCable, cable, fabric->cables) {
      const char *a = g_array_index(fabric->switches, OrrDumpSwitch, cable->a).name;
      const char *b = g_array_index(fabric->switches, OrrDumpSwitch, cable->b).name;
      g_hash_table_add(joined, pair_of(a, b));
      g_hash_table_add(joined, pair_of(b, a));
    }
    return fabric;
  }
  return orr_dump_add_fabric(dump, "sonic", place);
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  Reader reader = {.dump = dump,
                   .hosts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                   .speeds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                   .joined = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
  reader.fabric = fabric_of(dump, reader.joined, orr_dump_place(text, 1, 1));
  if (strstr(text->text, "\"DEVICE_NEIGHBOR\"")) {
    g_autoptr(GPtrArray) trees =
        orr_yaml_foreign_parse(text->text, text->length, text->file, diags);
    if (trees && trees->len) read_config(&reader, trees->pdata[0]);
  } else {
    walk(&reader, text, TRUE);
    walk(&reader, text, FALSE);
  }
  g_hash_table_unref(reader.hosts);
  g_hash_table_unref(reader.speeds);
  g_hash_table_unref(reader.joined);
}

const OrrDumpReader orr_dump_sonic = {
    .name = "sonic",
    .sentence = "SONiC's config_db.json, or show lldp table of each switch behind its prompt",
    .recognise = recognise,
    .read = read_text,
};

/*
 * dump_ufm.c - an InfiniBand fabric as NVIDIA's UFM answers GET /ufmRest/resources/links: a JSON
 * array, an object for each cable.
 *
 *   [{"source_guid": "248a070300f88fe0", "source_port": "20", "source_port_dname": "20",
 *     "source_port_node_description": "MF0;leaf1:MQM8700/U1:20",
 *     "destination_guid": "b8599f03000a77d0", "destination_port": "2",
 *     "destination_port_dname": "HCA-1/2", "width": "IB_4x", "active_speed": "EDR", ...}, ...]
 *
 * An end is an adapter's where its dname is "HCA-...", or its description is not a switch's and its
 * GUID has no more than two cables. Releases without descriptions name devices by their GUID, and
 * those without a speed leave the NICs' rate to be asked.
 *
 * Source: NVIDIA UFM Enterprise REST API Guide 6.11 to 6.19, "Links REST API".
 */
#include "sim/base/yaml_foreign.h"
#include "sim/import/topology/dump.h"

typedef struct {
  OrrDump *dump;
  OrrDumpFabric *fabric;
  GHashTable *degrees; /* GUID -> its cables */
  GHashTable *seen;    /* "GUID PORT" of both ends of the cables so far */
} Reader;

/* One end of a cable. */
typedef struct {
  const char *guid, *port, *dname, *text;
} End;

static gboolean recognise(const OrrDumpText *text) {
  return strstr(text->text, "\"source_guid\"") && strstr(text->text, "\"destination_guid\"") &&
         strstr(text->text, "\"source_port\"");
}

static const char *word(const OrrNode *link, const char *side, const char *key) {
  g_autofree char *name = g_strconcat(side, key, NULL);
  const char *text = orr_node_get_text(link, name);
  return text ? text : "";
}

static End end_of(const OrrNode *link, const char *side) {
  return (End){word(link, side, "_guid"), word(link, side, "_port"),
               word(link, side, "_port_dname"), word(link, side, "_port_node_description")};
}

static guint degree(const Reader *reader, const char *guid) {
  return GPOINTER_TO_UINT(g_hash_table_lookup(reader->degrees, guid));
}

static void count(Reader *reader, const char *guid) {
  g_hash_table_replace(reader->degrees, g_strdup(guid), GUINT_TO_POINTER(degree(reader, guid) + 1));
}

static gboolean is_adapter(const Reader *reader, const End *end) {
  if (g_str_has_prefix(end->dname, "HCA") || strstr(end->text, "HCA")) return TRUE;
  return !strchr(end->text, ';') && !strstr(end->text, "Quantum") && degree(reader, end->guid) <= 2;
}

/* "MF0;leaf1:MQM8700/U1:20" -> "leaf1"; without a description the GUID. Newly allocated. */
static char *switch_name(const End *end) {
  const char *begin = strchr(end->text, ';') ? strchr(end->text, ';') + 1 : end->text;
  return *begin ? g_strndup(begin, strcspn(begin, ":")) : g_strdup(end->guid);
}

/* "node01 mlx5_0" or "node01:HCA-1/1": the node and its NIC. */
static void add_adapter(Reader *reader, const End *end, guint at, double rate) {
  const gsize length = strcspn(end->text, " :");
  g_autofree char *node = *end->text ? g_strndup(end->text, length) : g_strdup(end->guid);
  g_autofree char *nic = g_strdup_printf("%s/%s",
                                         end->text[length] ? end->text + length + 1
                                         : *end->dname     ? end->dname
                                                           : "HCA",
                                         end->port);
  OrrDumpPort *port = orr_dump_fabric_port(reader->fabric, node, nic, at, rate);
  if (port) port->guid = g_strdup(end->guid);
}

static gboolean is_new(Reader *reader, const End *end) {
  char *key = g_strconcat(end->guid, " ", end->port, NULL);
  return g_hash_table_add(reader->seen, key);
}

static void add_link(Reader *reader, const OrrNode *link) {
  End a = end_of(link, "source"), b = end_of(link, "destination");
  const char *width = orr_node_get_text(link, "width");
  const char *speed = orr_node_get_text(link, "active_speed");
  if (!speed) speed = orr_node_get_text(link, "speed");
  const char *lanes = width ? width + strcspn(width, "0123456789") : "";
  const double rate = speed ? orr_dump_ib_rate((int)g_ascii_strtoll(lanes, NULL, 10), speed) : 0;
  if (!*a.guid || !*b.guid || !is_new(reader, &a) || !is_new(reader, &b)) return;
  const gboolean a_is_nic = is_adapter(reader, &a), b_is_nic = is_adapter(reader, &b);
  if (a_is_nic && b_is_nic) {
    orr_dump_note(reader->dump, "the cable from %s to %s joins two adapters and is left out",
                  a.guid, b.guid);
    return;
  }
  g_autofree char *a_name = switch_name(&a), *b_name = switch_name(&b);
  const guint at = orr_dump_fabric_switch(reader->fabric, a_is_nic ? b_name : a_name);
  if (at == G_MAXUINT) return;
  if (a_is_nic || b_is_nic) {
    add_adapter(reader, a_is_nic ? &a : &b, at, rate);
    return;
  }
  const guint other = orr_dump_fabric_switch(reader->fabric, b_name);
  if (other != G_MAXUINT && other != at) orr_dump_fabric_cable(reader->fabric, at, other, 1, rate);
}

static void read_links(Reader *reader, const OrrNode *list) {
  ORR_EACH_ITEM(link, list) {
    if (link->kind != ORR_NODE_MAP) continue;
    count(reader, word(link, "source", "_guid"));
    count(reader, word(link, "destination", "_guid"));
  }
  ORR_EACH_ITEM(link, list) {
    if (link->kind == ORR_NODE_MAP) add_link(reader, link);
  }
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  g_autoptr(GPtrArray) trees = orr_yaml_foreign_parse(text->text, text->length, text->file, diags);
  if (!trees || trees->len == 0) return;
  const OrrNode *tree = trees->pdata[0];
  Reader reader = {
      .dump = dump,
      .fabric = orr_dump_add_fabric(dump, "ufm", orr_dump_place(text, 1, 1)),
      .degrees = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
      .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
  };
  if (tree->kind == ORR_NODE_LIST)
    read_links(&reader, tree);
  else
    orr_diags_error(diags, orr_dump_place(text, 1, 1), "want an array of UFM's links");
  g_hash_table_unref(reader.degrees);
  g_hash_table_unref(reader.seen);
}

const OrrDumpReader orr_dump_ufm = {
    .name = "ufm",
    .sentence = "UFM's links (GET /ufmRest/resources/links)",
    .recognise = recognise,
    .read = read_text,
};

/*
 * dump_ibnetdiscover.c - an InfiniBand fabric as ibnetdiscover prints it, in both of its forms.
 *
 *   Switch  41 "S-08c0eb0300a1"          # "MF0;leaf-01:MQM8700/U1" enhanced port 0 lid 5 lmc 0
 *   [1]     "H-08c0eb0300b2"[1](8c0eb0300b2)      # "node01 mlx5_0" lid 12 4xHDR
 *   [25]    "S-08c0eb0300c3"[7]                   # "MF0;spine-01:MQM8700/U1" lid 9 4xHDR
 *
 *   SW 19 10 0x7cfe90030091 4x EDR - CA 34 1 0x7cfe90030092 ( 'leaf-01' - 'node01 HCA-1' )     (-p)
 *
 * A cable is printed from both of its ends and counted once. A port without a peer is skipped.
 * The first word of an adapter's description is its node, the rest its NIC, as the driver and
 * rdma-ndd name them. Aggregation nodes (SHARP) are parts of switches, not hosts.
 *
 * Rates follow from the width and speed that the link runs at: a link that came up slower than it
 * was bought is slower here, too.
 *
 * Source: ibnetdiscover(8), rdma-core; infiniband-diags/ibnetdiscover.c.
 */
#include "sim/import/topology/dump.h"

typedef struct {
  char *id;   /* "S-08c0eb0300a1" */
  char *text; /* description */
  gboolean is_switch, is_sharp;
  gint64 radix;
} Device;

typedef struct {
  const OrrDumpText *text;
  OrrDump *dump;
  OrrDiags *diags;
  OrrDumpFabric *fabric;
  GPtrArray *devices;   /* Device */
  GHashTable *by_id;    /* id -> index + 1 */
  GHashTable *used;     /* "DEVICE PORT" -> its peer's, for both ends of a cable */
  GHashTable *switches; /* index of device -> switch + 1 */
  guint n_sharp, n_dangling, n_conflicts;
} Reader;

/* One end of a cable. */
typedef struct {
  guint device;
  gint64 port;
} End;

static void device_free(gpointer data) {
  Device *device = data;
  ORR_FREE(device->id, device->text, device);
}

/* --- Devices --- */

static Device *device_at(const Reader *reader, guint i) { return reader->devices->pdata[i]; }

static gboolean says_sharp(const char *text) { return strstr(text, "Aggregation Node") != NULL; }

/* The device of that id; @text may be empty where the line does not describe it. */
static guint device_of(Reader *reader, const char *id, gboolean is_switch, const char *text) {
  guint known = GPOINTER_TO_UINT(g_hash_table_lookup(reader->by_id, id));
  if (!known) {
    Device *made = g_new0(Device, 1);
    made->id = g_strdup(id);
    made->text = g_strdup("");
    made->is_switch = is_switch;
    g_ptr_array_add(reader->devices, made);
    known = reader->devices->len;
    g_hash_table_insert(reader->by_id, made->id, GUINT_TO_POINTER(known));
  }
  Device *device = device_at(reader, known - 1);
  if (*text && !*device->text) {
    g_free(device->text);
    device->text = g_strdup(text);
    device->is_sharp = says_sharp(text);
  }
  return known - 1;
}

/* --- Cables --- */

static char *key_of(End end) { return g_strdup_printf("%u %ld", end.device, end.port); }

/* Whether the cable is new. The other end lists it again; a port with two peers is counted. */
static gboolean join_ends(Reader *reader, End a, End b) {
  g_autofree char *of_a = key_of(a), *of_b = key_of(b);
  const char *peer_a = g_hash_table_lookup(reader->used, of_a),
             *peer_b = g_hash_table_lookup(reader->used, of_b);
  if (peer_a && peer_b && strcmp(peer_a, of_b) == 0) return FALSE;
  if (peer_a || peer_b) {
    reader->n_conflicts++;
    return FALSE;
  }
  g_hash_table_insert(reader->used, g_strdup(of_a), g_strdup(of_b));
  g_hash_table_insert(reader->used, g_steal_pointer(&of_b), g_steal_pointer(&of_a));
  return TRUE;
}

/* "MF0;leaf-01:MQM8700/U1" is leaf-01; "MF0;core:MCS8500/L02/U1" is core/L02. */
static char *switch_name(const Device *device) {
  const char *start = strchr(device->text, ';') ? strchr(device->text, ';') + 1 : device->text;
  const char *colon = strchr(start, ':');
  g_autofree char *first = colon ? g_strndup(start, (gsize)(colon - start)) : g_strdup(start);
  g_auto(GStrv) parts = g_strsplit(colon ? colon + 1 : "", "/", -1);
  GString *name = g_string_new(g_strstrip(first));
  for (guint i = 1; parts[0] && parts[i]; i++)
    if (g_strv_length(parts) > 2 && parts[i + 1]) g_string_append_printf(name, "/%s", parts[i]);
  for (char *at = name->str; *at; at++)
    if (!g_ascii_isalnum(*at) && !strchr("-_/", *at)) *at = '_';
  return g_string_free(name, FALSE);
}

/* The device as a switch of the fabric; G_MAXUINT where there are too many. */
static guint switch_of(Reader *reader, guint device) {
  const gpointer key = GUINT_TO_POINTER(device + 1);
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(reader->switches, key));
  if (known) return known - 1;
  const Device *from = device_at(reader, device);
  g_autofree char *name = switch_name(from);
  if (!*name || g_hash_table_contains(reader->fabric->by_name, name)) {
    char *unique = g_strdup_printf("%s%s%s", name, *name ? "-" : "",
                                   from->id + (g_str_has_prefix(from->id, "S-") ? 2 : 0));
    g_free(name);
    name = unique;
    for (char *at = name; *at; at++)
      if (!g_ascii_isalnum(*at) && !strchr("-_/", *at)) *at = '_';
  }
  const guint made = orr_dump_fabric_switch(reader->fabric, name);
  if (made == G_MAXUINT) return made;
  g_array_index(reader->fabric->switches, OrrDumpSwitch, made).radix = from->radix;
  g_hash_table_insert(reader->switches, key, GUINT_TO_POINTER(made + 1));
  return made;
}

/* The description that a driver gives where nobody named the node. */
static gboolean is_unnamed(const char *text) {
  return !*text || strstr(text, "Mellanox Technologies") || g_str_has_prefix(text, "MT2") ||
         g_str_has_prefix(text, "MT4") || g_str_has_prefix(text, "ConnectX");
}

static void add_host(Reader *reader, guint adapter, guint at, double rate) {
  const Device *device = device_at(reader, adapter);
  const char *guid = strchr(device->id, '-') ? strchr(device->id, '-') + 1 : device->id;
  g_auto(GStrv) words = g_strsplit_set(device->text, " \t", 2);
  const gboolean unnamed = is_unnamed(device->text);
  OrrDumpPort *port =
      orr_dump_fabric_port(reader->fabric, unnamed ? device->id : words[0],
                           words[0] && words[1] && !unnamed ? words[1] : "", at, rate);
  port->guid = g_ascii_strdown(guid, -1);
}

/* Cables whose ends were all described: what each is needs the descriptions. */
typedef struct {
  End a, b;
  double rate;
} Cable;

static void add_cable(Reader *reader, const Cable *cable) {
  const Device *a = device_at(reader, cable->a.device), *b = device_at(reader, cable->b.device);
  if (a->is_sharp || b->is_sharp) {
    reader->n_sharp++;
    return;
  }
  if (!a->is_switch && !b->is_switch)
    return orr_dump_note(reader->dump,
                         "an adapter is joined to another without a switch: passed over");
  const guint of_a = a->is_switch ? switch_of(reader, cable->a.device) : 0;
  const guint of_b = b->is_switch ? switch_of(reader, cable->b.device) : 0;
  if (of_a == G_MAXUINT || of_b == G_MAXUINT) return;
  if (a->is_switch && b->is_switch)
    orr_dump_fabric_cable(reader->fabric, of_a, of_b, 1, cable->rate);
  else if (reader->fabric->ports->len < ORR_DUMP_MAX_PORTS)
    add_host(reader, a->is_switch ? cable->b.device : cable->a.device, a->is_switch ? of_a : of_b,
             cable->rate);
}

/* --- The default form --- */

/* The text between the next pair of @quote from *@at on, and *@at behind it; NULL: none. */
static char *quoted(const char **at, char quote) {
  const char *start = strchr(*at, quote), *end = start ? strchr(start + 1, quote) : NULL;
  if (!end) return NULL;
  *at = end + 1;
  return g_strndup(start + 1, (gsize)(end - start - 1));
}

/* "4xHDR" in a text: bytes/s; 0: none. */
static double rate_in(const char *text) {
  g_auto(GStrv) words = g_strsplit_set(text, " \t", -1);
  for (guint i = 0; words[i]; i++) {
    char *end;
    const guint64 lanes = g_ascii_strtoull(words[i], &end, 10);
    if (end > words[i] && *end == 'x' && lanes >= 1 && lanes <= 12 && end[1])
      return orr_dump_ib_rate((int)lanes, end + 1);
  }
  return 0;
}

static gboolean is_switch_id(const char *id) { return g_str_has_prefix(id, "S-"); }

/* Switch 41 "S-..." # "..." : the device whose ports follow. FALSE: another line. */
static gboolean read_device(Reader *reader, const char *line, guint *ret_device) {
  const gboolean is_switch = g_str_has_prefix(line, "Switch");
  const char *at = line;
  if (!is_switch && !g_str_has_prefix(line, "Ca") && !g_str_has_prefix(line, "Rt")) return FALSE;
  const char *number = line + strcspn(line, " \t");
  g_autofree char *id = quoted(&at, '"');
  g_autofree char *text = id ? quoted(&at, '"') : NULL;
  if (!id) return FALSE;
  *ret_device = device_of(reader, id, is_switch, text ? text : "");
  device_at(reader, *ret_device)->is_switch = is_switch;
  device_at(reader, *ret_device)->radix = CLAMP(g_ascii_strtoll(number, NULL, 10), 0, 65536);
  return TRUE;
}

/* [25] "S-..."[7] # "..." lid 9 4xHDR */
static void read_port(Reader *reader, const char *line, guint device, GArray *cables, guint n) {
  const char *at = line;
  char *end;
  Cable cable = {.a = {device, g_ascii_strtoll(line + 1, &end, 10)}};
  g_autofree char *id = quoted(&at, '"');
  if (*end != ']' || !id || *at != '[')
    return orr_diags_error(
        reader->diags, orr_dump_place(reader->text, n, 1),
        "a port of ibnetdiscover is '[1] \"H-GUID\"[1](GUID) # ...': this one is cut "
        "off or damaged");
  cable.b.port = g_ascii_strtoll(at + 1, NULL, 10);
  const char *comment = strchr(at, '#');
  const char *rest = comment ? comment : at;
  g_autofree char *text = quoted(&rest, '"');
  cable.rate = rate_in(rest);
  cable.b.device = device_of(reader, id, is_switch_id(id), text ? text : "");
  if (join_ends(reader, cable.a, cable.b)) g_array_append_val(cables, cable);
}

/* --- The form of -p --- */

static gboolean is_kind(const char *word) {
  return word && (strcmp(word, "CA") == 0 || strcmp(word, "SW") == 0 || strcmp(word, "RT") == 0);
}

static gboolean is_guid(const char *word) {
  return word && g_str_has_prefix(word, "0x") && word[2] &&
         strspn(word + 2, "0123456789abcdefABCDEF") == strlen(word + 2);
}

static gboolean is_pairs_line(char **words) {
  return g_strv_length(words) >= 6 && is_kind(words[0]) && is_guid(words[3]) &&
         strspn(words[4], "0123456789x?") == strlen(words[4]);
}

/* The device of "SW 1719 10 0x..." at @words, with a description or "". */
static End end_of(Reader *reader, char **words, const char *text) {
  const gboolean is_switch = strcmp(words[0], "SW") == 0;
  g_autofree char *id = g_strdup_printf("%s-%s", is_switch ? "S" : "H", words[3] + 2);
  g_autofree char *name = g_strstrip(g_strdup(text));
  return (End){device_of(reader, id, is_switch, name), g_ascii_strtoll(words[2], NULL, 10)};
}

static void read_pair(Reader *reader, char **words, const char *line, GArray *cables) {
  const guint n = g_strv_length(words);
  guint dash = 5;
  while (dash < n && !(strcmp(words[dash], "-") == 0 && is_kind(words[dash + 1]))) dash++;
  const char *open = strstr(line, "( '"), *middle = open ? strstr(open, "' - '") : NULL,
             *close = middle ? g_strrstr(middle, "'") : NULL;
  if (dash + 4 >= n || !is_guid(words[dash + 4])) {
    reader->n_dangling++;
    return;
  }
  g_autofree char *here = middle ? g_strndup(open + 3, (gsize)(middle - open - 3)) : g_strdup("");
  g_autofree char *there = middle && close > middle + 5
                               ? g_strndup(middle + 5, (gsize)(close - middle - 5))
                               : g_strdup("");
  const Cable cable = {
      .a = end_of(reader, words, here),
      .b = end_of(reader, words + dash + 1, there),
      .rate = orr_dump_ib_rate((int)CLAMP(g_ascii_strtoll(words[4], NULL, 10), 0, 12), words[5])};
  if (join_ends(reader, cable.a, cable.b)) g_array_append_val(cables, cable);
}

/* --- The whole --- */

static gboolean starts_device(const char *line) {
  static const char *const words[] = {"Switch\t", "Switch ", "Ca\t", "Ca "};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (g_str_has_prefix(line, words[i])) return strstr(line, "\"S-") || strstr(line, "\"H-");
  return FALSE;
}

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++) {
    const char *line = text->lines[i] + strspn(text->lines[i], " \t");
    if (starts_device(line)) return TRUE;
    if (!g_ascii_isupper(*line)) continue;
    g_auto(GStrv) words = orr_dump_words(line, NULL);
    if (is_pairs_line(words)) return TRUE;
  }
  return FALSE;
}

static void read_lines(Reader *reader, GArray *cables) {
  guint device = G_MAXUINT;
  for (guint i = 0; i < reader->text->n_lines && orr_diags_n_errors(reader->diags) < 20; i++) {
    const char *line = reader->text->lines[i];
    line += strspn(line, " \t");
    if (starts_device(line) && read_device(reader, line, &device)) continue;
    if (*line == '[' && g_ascii_isdigit(line[1]) && device != G_MAXUINT) {
      read_port(reader, line, device, cables, i + 1);
      continue;
    }
    if (!g_ascii_isupper(*line)) continue;
    g_auto(GStrv) words = orr_dump_words(line, NULL);
    if (is_pairs_line(words)) read_pair(reader, words, line, cables);
  }
}

static void check(const Reader *reader) {
  const OrrDumpFabric *fabric = reader->fabric;
  if (fabric->ports->len == 0)
    orr_diags_error(reader->diags, fabric->place,
                    "no cable from a switch to a host's adapter is listed here (%u cables between "
                    "switches, %u ports without a peer): expected lines of ibnetdiscover with two "
                    "ends",
                    fabric->cables->len, reader->n_dangling);
  if (fabric->switches->len >= ORR_DUMP_MAX_SWITCHES)
    orr_diags_error(reader->diags, fabric->place, "more than %d switches", ORR_DUMP_MAX_SWITCHES);
  if (fabric->ports->len >= ORR_DUMP_MAX_PORTS)
    orr_diags_error(reader->diags, fabric->place, "more than %d ports of hosts",
                    ORR_DUMP_MAX_PORTS);
  if (reader->n_sharp)
    orr_dump_note(reader->dump, "aggregation nodes (SHARP), which are the switches' own: %u",
                  reader->n_sharp);
  if (reader->n_conflicts)
    orr_diags_warning(reader->diags, fabric->place,
                      "%u lines give a port a second peer, and are skipped: GUIDs must differ "
                      "(were they blotted out?)",
                      reader->n_conflicts);
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  Reader reader = {.text = text,
                   .dump = dump,
                   .diags = diags,
                   .fabric = orr_dump_add_fabric(dump, "ibnetdiscover", orr_dump_place(text, 1, 1)),
                   .devices = g_ptr_array_new_with_free_func(device_free),
                   .by_id = g_hash_table_new(g_str_hash, g_str_equal),
                   .used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
                   .switches = g_hash_table_new(g_direct_hash, g_direct_equal)};
  g_autoptr(GArray) cables = g_array_new(FALSE, FALSE, sizeof(Cable));
  read_lines(&reader, cables);
  ORR_EACH(Cable, cable, cables) add_cable(&reader, cable);
  check(&reader);
  g_ptr_array_unref(reader.devices);
  g_hash_table_unref(reader.by_id);
  g_hash_table_unref(reader.used);
  g_hash_table_unref(reader.switches);
}

const OrrDumpReader orr_dump_ibnetdiscover = {
    .name = "ibnetdiscover",
    .sentence = "ibnetdiscover, also with -p",
    .recognise = recognise,
    .read = read_text,
};

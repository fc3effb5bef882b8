/*
 * dump_ibstat.c - ibstat of one host or of several: the rate of its adapters, and which host has
 * which GUID.
 *
 *   CA 'mlx5_0'                              VM_hostname node01         (a list of GUIDs by host,
 *           Node GUID: 0x08c0eb0300b2        08c0eb0300b2                as SuperBench collects it)
 *           Port 1:
 *                   State: Active
 *                   Rate: 400
 *                   Link layer: InfiniBand
 *
 * ibstat prints no host: the rate and the number of adapters of the fastest rate count. With a list
 * of GUIDs by host, ibnetdiscover's adapters are put on the hosts that the list names. ibstatus
 * ("rate: 200 Gb/sec (4X HDR)") is read in the same way.
 *
 * Source: ibstat(8), ibstatus(8), rdma-core.
 */
#include "sim/import/topology/dump.h"

static gboolean is_ca(const char *line) {
  return g_str_has_prefix(line, "CA '") || g_str_has_prefix(line, "Infiniband device '");
}

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++)
    if (is_ca(text->lines[i]) || g_str_has_prefix(text->lines[i], "VM_hostname ")) return TRUE;
  return FALSE;
}

static gboolean is_guid(const char *word) {
  return strlen(word) == 16 && strspn(word, "0123456789abcdefABCDEF") == 16;
}

/* "Rate: 400" in an active port; "rate: 200 Gb/sec (4X HDR)". */
static double rate_of(const char *line) {
  return g_ascii_strncasecmp(line, "rate:", 5) == 0 ? g_ascii_strtod(line + 5, NULL) * 1e9 / 8 : 0;
}

static void count_rate(OrrDump *dump, double rate) {
  if (rate > dump->nic_bytes_per_s) {
    dump->nic_bytes_per_s = rate;
    dump->n_ib_nics = 0;
  }
  if (rate > 0 && rate == dump->nic_bytes_per_s) dump->n_ib_nics++;
}

/* A port of an adapter: what it runs at, 0: it is down. */
typedef struct {
  char *name;
  double rate;
  gboolean is_ethernet;
} Port;

static void clear_port(gpointer port) { g_free(((Port *)port)->name); }

static void add_port(GArray *ports, const char *line) {
  const char *begin = strchr(line, '\'') + 1;
  ORR_APPEND(ports, Port, {g_strndup(begin, strcspn(begin, "'")), 0, FALSE});
}

/* Ports that are down, or slower than the fastest of their link layer: the cluster gives all
 * adapters its rate. */
static void note_slower(const GArray *ports, OrrDump *dump) {
  g_autoptr(GString) slower = g_string_new(NULL);
  gboolean is_ethernet = FALSE;
  ORR_EACH(const Port, port, ports)
    if (port->rate == dump->nic_bytes_per_s) is_ethernet = port->is_ethernet;
  ORR_EACH(const Port, port, ports) {
    if (port->is_ethernet != is_ethernet || port->rate == dump->nic_bytes_per_s) continue;
    g_string_append_printf(slower, "%s%s ", slower->len ? ", " : "", port->name);
    if (port->rate > 0)
      g_string_append_printf(slower, "runs at %g Gb/s", port->rate * 8e-9);
    else
      g_string_append(slower, "is down");
  }
  if (slower->len > 0)
    orr_dump_note(dump, "%s: all adapters are taken to run at %g Gb/s", slower->str,
                  dump->nic_bytes_per_s * 8e-9);
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  g_autofree char *host = NULL;
  g_autoptr(GArray) ports = g_array_new(FALSE, FALSE, sizeof(Port));
  gboolean is_active = FALSE;
  g_array_set_clear_func(ports, clear_port);
  for (guint i = 0; i < text->n_lines; i++) {
    g_autofree char *line = g_strstrip(g_strdup(text->lines[i]));
    if (g_str_has_prefix(line, "VM_hostname ")) {
      g_free(host);
      host = g_strstrip(g_strdup(line + strlen("VM_hostname ")));
    } else if (host && is_guid(line)) {
      g_hash_table_insert(dump->guids, g_ascii_strdown(line, -1), g_strdup(host));
    } else if (is_ca(line) && strchr(line, '\'')) {
      add_port(ports, line);
    } else if (g_ascii_strncasecmp(line, "link layer:", 11) == 0 ||
               g_ascii_strncasecmp(line, "link_layer:", 11) == 0) {
      if (ports->len > 0)
        g_array_index(ports, Port, ports->len - 1).is_ethernet = strstr(line, "Ethernet") != NULL;
    } else if (g_ascii_strncasecmp(line, "state:", 6) == 0) {
      is_active = strstr(line, "Active") || strstr(line, "ACTIVE");
    } else if (is_active && rate_of(line) > 0) {
      count_rate(dump, rate_of(line));
      if (ports->len > 0) g_array_index(ports, Port, ports->len - 1).rate = rate_of(line);
      is_active = FALSE;
    }
  }
  if (dump->nic_bytes_per_s > 0) note_slower(ports, dump);
  if (dump->nic_bytes_per_s <= 0 && g_hash_table_size(dump->guids) == 0)
    orr_diags_error(diags, orr_dump_place(text, 1, 1),
                    "no active port with a rate, and no GUID of a host: expected ibstat's 'State: "
                    "Active' and 'Rate: 400', or 'VM_hostname' and GUIDs");
}

const OrrDumpReader orr_dump_ibstat = {
    .name = "ibstat",
    .sentence = "ibstat or ibstatus",
    .recognise = recognise,
    .read = read_text,
};

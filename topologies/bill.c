/*
 * bill.c - counts the parts of a machine, and prints them as a table.
 */
#include "topologies/bill.h"

#include "topologies/fabric_private.h"

const char *const orr_bill_words[] = {
    "node", "gpu", "nic", "scale-up-switch", "switch", "cable", "optic", "storage-server", NULL};

static OrrBillItem *item_at(const OrrBill *bill, guint i) {
  return &g_array_index(bill->items, OrrBillItem, i);
}

static void clear_item(gpointer item) { g_clear_pointer(&((OrrBillItem *)item)->layer, g_free); }

static void add(OrrBill *bill, OrrBillItem item) {
  if (item.count > 0) g_array_append_val(bill->items, item);
}

static OrrBill *bill_new(void) {
  OrrBill *bill = g_new0(OrrBill, 1);
  bill->items = g_array_new(FALSE, FALSE, sizeof(OrrBillItem));
  g_array_set_clear_func(bill->items, clear_item);
  return bill;
}

void orr_bill_free(OrrBill *bill) {
  if (!bill) return;
  g_array_unref(bill->items);
  g_free(bill);
}

/* --- What a kind of fabric counts --- */

/* The item of layer @number; NULL: ORR_BILL_NO_SWITCH. */
static OrrBillItem *layer_at(OrrBill *bill, int number) {
  for (guint i = 0, n = 0; i < bill->items->len; i++)
    if (item_at(bill, i)->kind == ORR_BILL_SWITCH && (int)n++ == number) return item_at(bill, i);
  return NULL;
}

int orr_bill_add_switches(OrrBill *bill, const char *layer, gint64 count, gint64 ports) {
  int number = 0;
  while (layer_at(bill, number)) number++;
  ORR_APPEND(bill->items, OrrBillItem,
             {.kind = ORR_BILL_SWITCH, .layer = g_strdup(layer), .count = count, .ports = ports});
  return number;
}

void orr_bill_add_cables(OrrBill *bill, const char *level, int below, int above, gint64 count,
                         double bytes_per_s) {
  const int ends[] = {below, above};
  if (count == 0) return;
  for (int i = 0; i < 2; i++) {
    OrrBillItem *layer = layer_at(bill, ends[i]);
    if (!layer) continue;
    layer->used += count;
    layer->bytes_per_s = fmax(layer->bytes_per_s, bytes_per_s);
  }
  add(bill, (OrrBillItem){.kind = ORR_BILL_CABLE,
                          .layer = g_strdup(level),
                          .count = count,
                          .bytes_per_s = bytes_per_s});
}

/* --- The machine --- */

static gboolean is_copper(const OrrCluster *cluster, const char *level) {
  return cluster->copper && g_strv_contains((const char *const *)cluster->copper, level);
}

/* Moves the last item to the front. */
static void to_front(OrrBill *bill) {
  const OrrBillItem item = *item_at(bill, bill->items->len - 1);
  item_at(bill, bill->items->len - 1)->layer = NULL;
  g_array_set_size(bill->items, bill->items->len - 1);
  g_array_prepend_val(bill->items, item);
}

/* Cables from storage servers on the fabric, and from NICs, to the kind's layer 0, before all
 * others. */
static void add_hosts(OrrBill *bill, const OrrCluster *cluster) {
  const OrrNodeShape *node = &cluster->node;
  const gint64 links = orr_node_shape_port_links(node);
  const double rate = orr_node_shape_port_bandwidth(node) / (double)links;
  if (cluster->storage.attach == ORR_STORAGE_FABRIC && cluster->storage.servers > 0) {
    orr_bill_add_cables(bill, "server-leaf", ORR_BILL_NO_SWITCH, 0,
                        cluster->storage.servers * links, rate);
    to_front(bill);
  }
  orr_bill_add_cables(bill, "nic-leaf", ORR_BILL_NO_SWITCH, 0,
                      orr_cluster_n_built_nodes(cluster) * orr_node_shape_n_ports(node) * links,
                      rate);
  to_front(bill);
}

/* The network alone, at effective rates. */
static OrrBill *count_network(const OrrFabric *fabric) {
  OrrBill *bill = bill_new();
  if (!fabric->plan) return bill;
  fabric->kind->bill(fabric->plan, bill);
  if (layer_at(bill, 0)) add_hosts(bill, fabric->cluster);
  return bill;
}

static void add_nodes(OrrBill *bill, const OrrCluster *cluster, gboolean has_nics) {
  const OrrNodeShape *node = &cluster->node;
  const gint64 nodes = orr_cluster_n_built_nodes(cluster), gpus = nodes * node->gpus;
  add(bill, (OrrBillItem){.kind = ORR_BILL_NODE, .count = nodes});
  add(bill, (OrrBillItem){.kind = ORR_BILL_GPU, .count = gpus});
  if (has_nics)
    add(bill, (OrrBillItem){.kind = ORR_BILL_NIC,
                            .count = llround((double)gpus * node->nics_per_gpu),
                            .bytes_per_s = node->nic_bytes_per_s});
  if (node->scale_up_domain > node->gpus)
    add(bill, (OrrBillItem){.kind = ORR_BILL_SCALE_UP_SWITCH,
                            .count = (gpus + node->scale_up_domain - 1) / node->scale_up_domain *
                                     node->scale_up_switches});
}

/* Items of the network of one kind, cables from the NICs up, at nominal rates. */
static void add_network(OrrBill *bill, const OrrBill *network, OrrBillKind kind,
                        const OrrCluster *cluster) {
  const OrrBillKind source = kind == ORR_BILL_OPTIC ? ORR_BILL_CABLE : kind;
  for (guint i = 0; i < network->items->len; i++) {
    OrrBillItem item = *item_at(network, i);
    if (item.kind != (int)source) continue;
    item.copper = kind != ORR_BILL_SWITCH && is_copper(cluster, item.layer);
    if (kind == ORR_BILL_OPTIC && item.copper) continue;
    item.kind = kind;
    item.count *= kind == ORR_BILL_OPTIC ? 2 : 1;
    item.layer = g_strdup(item.layer);
    item.bytes_per_s /= cluster->node.nic_efficiency;
    g_array_append_val(bill->items, item);
  }
}

void orr_bill_check_copper(const OrrFabric *fabric, OrrPlace place, OrrDiags *diags) {
  char **copper = fabric->cluster->copper;
  if (!copper) return;
  g_autoptr(OrrBill) network = count_network(fabric);
  g_autoptr(GPtrArray) levels = g_ptr_array_new();
  for (guint i = 0; i < network->items->len; i++)
    if (item_at(network, i)->kind == ORR_BILL_CABLE)
      g_ptr_array_add(levels, item_at(network, i)->layer);
  g_ptr_array_add(levels, NULL);
  const char *const *known = (const char *const *)levels->pdata;
  g_autofree char *list = g_strjoinv(", ", (char **)levels->pdata);
  for (guint i = 0; copper[i]; i++) {
    const char *near = orr_diag_nearest_word(copper[i], known);
    if (g_strv_contains(known, copper[i])) continue;
    if (near)
      orr_diags_error(diags, place, "copper: no level '%s'; did you mean '%s'?", copper[i], near);
    else
      orr_diags_error(diags, place, "copper: no level '%s' (levels with cables: %s)", copper[i],
                      *list ? list : "none");
  }
}

OrrBill *orr_bill_new(const OrrFabric *fabric) {
  const OrrCluster *cluster = fabric->cluster;
  g_autoptr(OrrBill) network = count_network(fabric);
  OrrBill *bill = bill_new();
  add_nodes(bill, cluster, fabric->plan && layer_at(network, 0));
  for (OrrBillKind kind = ORR_BILL_SWITCH; kind <= ORR_BILL_OPTIC; kind++)
    add_network(bill, network, kind, cluster);
  add(bill, (OrrBillItem){.kind = ORR_BILL_SERVER, .count = cluster->storage.servers});
  return bill;
}

gint64 orr_bill_count(const OrrBill *bill, OrrBillKind kind) {
  gint64 count = 0;
  for (guint i = 0; i < bill->items->len; i++)
    if (item_at(bill, i)->kind == (int)kind) count += item_at(bill, i)->count;
  return count;
}

gint64 orr_bill_ports(const OrrBill *bill) {
  gint64 used = 0;
  for (guint i = 0; i < bill->items->len; i++) used += item_at(bill, i)->used;
  return used;
}

/* --- Text --- */

char *orr_bill_text(const OrrBill *bill) {
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "%-15s  %-12s %10s %10s %12s %10s\n", "bill", "layer", "count",
                         "ports", "ports used", "Gb/s each");
  for (guint i = 0; i < bill->items->len; i++) {
    const OrrBillItem *item = item_at(bill, i);
    const gboolean is_switch = item->kind == ORR_BILL_SWITCH;
    g_autofree char *ports = is_switch ? g_strdup_printf("%ld", item->ports) : g_strdup("-");
    g_autofree char *used = is_switch ? g_strdup_printf("%ld", item->used) : g_strdup("-");
    g_autofree char *rate = item->bytes_per_s > 0
                                ? g_strdup_printf("%.5g", item->bytes_per_s * 8 / 1e9)
                                : g_strdup("-");
    g_string_append_printf(text, "%-15s  %-12s %10ld %10s %12s %10s\n", orr_bill_words[item->kind],
                           item->layer ? item->layer : "-", item->count, ports, used, rate);
  }
  return g_string_free(text, FALSE);
}

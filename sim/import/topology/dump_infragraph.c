/*
 * dump_infragraph.c - InfraGraph (Keysight, for Chakra): devices of components, instances of
 * devices, and edges between them.
 *
 *   devices:
 *   - name: server
 *     components: [{name: xpu, choice: xpu, count: 8}, {name: nic, choice: nic, count: 8}]
 *   instances: [{name: host, device: server, count: 4}, {name: leaf, device: switch, count: 2}]
 *   links:
 *   - {name: eth, physical: {bandwidth: {gigabits_per_second: 100}}}
 *   edges:
 *   - {ep1: {instance: "host[0:2]", component: nic}, ep2: {instance: leaf, component: port},
 *      scheme: one2one, link: eth}
 *
 * An endpoint is every chosen component of every chosen instance, in order: "nic" all, "nic[3]"
 * one, "nic[0:4]" 0 to 3. one2one joins the first with the first, and so on, as far as the shorter
 * list goes; many2many each with each. Instances whose device has accelerators (xpu, npu, gpu) are
 * nodes, all alike; the others are switches.
 *
 * Refused: nodes of several devices, devices inside of devices, cables from node to node. Left
 * out, with a note: links inside a device (which GPUs NVLink joins is a question), annotations.
 *
 * Source: Keysight/infragraph, schema and yaml/closfabric.yaml, yaml/dgx_h100.yaml.
 */
#include "sim/base/yaml_foreign.h"
#include "sim/import/topology/dump.h"

enum { MOST_PAIRS = 1 << 20 };

typedef struct {
  OrrDump *dump;
  OrrDumpFabric *fabric;
  OrrDiags *diags;
  const OrrNode *tree;
  const OrrNode *server; /* the device of the nodes */
  guint n_pairs;
} Reader;

/* One component of one instance. */
typedef struct {
  const OrrNode *instance;
  gint64 number, component; /* of the instance, of the component */
  const char *name;         /* the component's */
} End;

static OrrPlace place_of(const OrrNode *node) {
  OrrPlace place = node->place;
  place.node = NULL; /* the tree is freed before the findings are */
  return place;
}

static gboolean has_line(const OrrDumpText *text, const char *key) {
  for (guint i = 0; i < text->n_lines; i++)
    if (g_str_has_prefix(text->lines[i], key)) return TRUE;
  return FALSE;
}

static gboolean recognise(const OrrDumpText *text) {
  return has_line(text, "devices:") && has_line(text, "instances:");
}

/* Item @i of the list @key of @map; NULL: no more, or not a list of maps. */
static const OrrNode *item(const OrrNode *map, const char *key, guint i) {
  const OrrNode *list = map ? orr_node_get(map, key) : NULL;
  if (!list || list->kind != ORR_NODE_LIST || i >= list->items->len) return NULL;
  const OrrNode *one = list->items->pdata[i];
  return one->kind == ORR_NODE_MAP ? one : NULL;
}

static const OrrNode *named(const OrrNode *map, const char *key, const char *name) {
  const OrrNode *one;
  for (guint i = 0; name && (one = item(map, key, i)); i++)
    if (g_strcmp0(orr_node_get_text(one, "name"), name) == 0) return one;
  return NULL;
}

/* The count of an instance or a component, 1 where it has none; 0 with an error. */
static gint64 count_of(const Reader *reader, const OrrNode *map, gint64 most) {
  const char *text = orr_node_get_text(map, "count");
  char *end = NULL;
  const gint64 count = text ? g_ascii_strtoll(text, &end, 10) : 1;
  if ((!text || (end != text && !*end)) && count >= 1 && count <= most) return count;
  orr_diags_error(reader->diags, place_of(map), "count takes whole numbers from 1 to %ld", most);
  return 0;
}

static gboolean is_accelerator(const OrrNode *component) {
  static const char *const words[] = {"xpu", "npu", "gpu", NULL};
  const char *choice = orr_node_get_text(component, "choice");
  return choice && g_strv_contains(words, choice);
}

static const OrrNode *accelerator_of(const OrrNode *device) {
  const OrrNode *component;
  for (guint i = 0; (component = item(device, "components", i)); i++)
    if (is_accelerator(component)) return component;
  return NULL;
}

static const OrrNode *device_of(const Reader *reader, const OrrNode *instance) {
  return named(reader->tree, "devices", orr_node_get_text(instance, "device"));
}

static gboolean is_host(const Reader *reader, const OrrNode *instance) {
  return accelerator_of(device_of(reader, instance)) != NULL;
}

/* "nic[0:4]" as its name and a range of @count things. FALSE: not of that form, or beyond. */
static gboolean range_of(const char *text, gint64 count, gint64 *ret_first, gint64 *ret_end) {
  const char *open = strchr(text, '[');
  char *at;
  *ret_first = 0;
  *ret_end = count;
  if (!open) return TRUE;
  *ret_first = g_ascii_strtoll(open + 1, &at, 10);
  *ret_end = *ret_first + 1;
  if (at == open + 1) return FALSE;
  if (*at == ':') {
    const char *second = at + 1;
    *ret_end = g_ascii_strtoll(second, &at, 10);
    if (at == second) return FALSE;
  }
  return at[0] == ']' && !at[1] && *ret_first >= 0 && *ret_first < *ret_end && *ret_end <= count;
}

static char *bare(const char *text) { return g_strndup(text, strcspn(text, "[")); }

/* The ends of @endpoint, of End; NULL with an error. */
static GArray *ends_of(const Reader *reader, const OrrNode *endpoint) {
  const char *instance_text = orr_node_get_text(endpoint, "instance"),
             *component_text = orr_node_get_text(endpoint, "component");
  g_autofree char *instance_name = bare(instance_text ? instance_text : ""),
                  *component_name = bare(component_text ? component_text : "");
  const OrrNode *instance = named(reader->tree, "instances", instance_name),
                *component = instance
                                 ? named(device_of(reader, instance), "components", component_name)
                                 : NULL;
  gint64 first[2], end[2];
  if (!component) {
    orr_diags_error(reader->diags, place_of(endpoint),
                    "expected an instance and a component of its device, found '%.40s' and '%.40s'",
                    instance_name, component_name);
    return NULL;
  }
  if (!range_of(instance_text, count_of(reader, instance, ORR_DUMP_MAX_HOSTS), &first[0],
                &end[0]) ||
      !range_of(component_text, count_of(reader, component, ORR_DUMP_MAX_PORTS), &first[1],
                &end[1])) {
    orr_diags_error(reader->diags, place_of(endpoint),
                    "expected NAME, NAME[I] or NAME[FROM:TO] within the counts, found '%.40s' and "
                    "'%.40s'",
                    instance_text, component_text);
    return NULL;
  }
  if ((end[0] - first[0]) * (end[1] - first[1]) > MOST_PAIRS) {
    orr_diags_error(reader->diags, place_of(endpoint), "more than %d ends", MOST_PAIRS);
    return NULL;
  }
  GArray *ends = g_array_new(FALSE, FALSE, sizeof(End));
  for (gint64 i = first[0]; i < end[0]; i++)
    for (gint64 k = first[1]; k < end[1]; k++)
      ORR_APPEND(ends, End, {instance, i, k, orr_node_get_text(component, "name")});
  return ends;
}

/* Of the link that @edge names, one direction; 0: the file does not say. */
static double rate_of(const Reader *reader, const OrrNode *edge) {
  static const struct {
    const char *key;
    double bytes;
  } units[] = {{"gigabits_per_second", 1e9 / 8}, {"gigabytes_per_second", 1e9}};
  const OrrNode *link = named(reader->tree, "links", orr_node_get_text(edge, "link"));
  const OrrNode *physical = link ? orr_node_get(link, "physical") : NULL;
  const OrrNode *bandwidth =
      physical && physical->kind == ORR_NODE_MAP ? orr_node_get(physical, "bandwidth") : NULL;
  for (guint i = 0; bandwidth && bandwidth->kind == ORR_NODE_MAP && i < G_N_ELEMENTS(units); i++) {
    const char *text = orr_node_get_text(bandwidth, units[i].key);
    const double value = text ? g_ascii_strtod(text, NULL) : 0;
    if (isfinite(value) && value > 0) return value * units[i].bytes;
  }
  return 0;
}

static char *name_of(const End *end) {
  return g_strdup_printf("%s%ld", orr_node_get_text(end->instance, "name"), end->number);
}

static void add_pair(Reader *reader, const OrrNode *edge, const End *a, const End *b, double rate) {
  const gboolean a_is_host = is_host(reader, a->instance), b_is_host = is_host(reader, b->instance);
  if (a_is_host && b_is_host)
    return orr_diags_error(reader->diags, place_of(edge),
                           "a cable from node to node has no document");
  g_autofree char *from = name_of(a), *to = name_of(b);
  if (!a_is_host && !b_is_host)
    return orr_dump_fabric_cable(reader->fabric, orr_dump_fabric_switch(reader->fabric, from),
                                 orr_dump_fabric_switch(reader->fabric, to), 1, rate);
  const End *host = a_is_host ? a : b;
  g_autofree char *nic = g_strdup_printf("%s%ld", host->name, host->component);
  orr_dump_fabric_port(reader->fabric, a_is_host ? from : to, nic,
                       orr_dump_fabric_switch(reader->fabric, a_is_host ? to : from), rate);
}

static void read_edge(Reader *reader, const OrrNode *edge) {
  const OrrNode *ep1 = orr_node_get(edge, "ep1"), *ep2 = orr_node_get(edge, "ep2");
  if (!ep1 || !ep2 || ep1->kind != ORR_NODE_MAP || ep2->kind != ORR_NODE_MAP)
    return orr_diags_error(reader->diags, place_of(edge), "an edge has ep1, ep2, scheme and link");
  g_autoptr(GArray) from = ends_of(reader, ep1), to = from ? ends_of(reader, ep2) : NULL;
  if (!to) return;
  const gboolean all = g_strcmp0(orr_node_get_text(edge, "scheme"), "many2many") == 0;
  const double rate = rate_of(reader, edge),
               pairs = all ? (double)from->len * to->len : MIN(from->len, to->len);
  if (pairs + reader->n_pairs > MOST_PAIRS)
    return orr_diags_error(reader->diags, place_of(edge), "more than %d cables", MOST_PAIRS);
  reader->n_pairs += (guint)pairs;
  for (guint i = 0; i < from->len && (all || i < to->len); i++)
    for (guint k = all ? 0 : i; k < (all ? to->len : i + 1); k++)
      add_pair(reader, edge, &g_array_index(from, End, i), &g_array_index(to, End, k), rate);
}

/* --- The nodes --- */

static void add_nics(Reader *reader, OrrDumpNode *node) {
  const OrrNode *component;
  for (guint i = 0; (component = item(reader->server, "components", i)); i++) {
    if (g_strcmp0(orr_node_get_text(component, "choice"), "nic") != 0) continue;
    const gint64 count = count_of(reader, component, ORR_DUMP_MAX_NICS);
    for (gint64 k = 0; k < count; k++) {
      g_autofree char *name = g_strdup_printf("%s%ld", orr_node_get_text(component, "name"), k);
      OrrDumpNic *nic = orr_dump_node_add_nic(node, name);
      ORR_EACH(const OrrDumpPort, port, reader->fabric->ports)
        if (g_strcmp0(port->nic, name) == 0) nic->bytes_per_s = port->bytes_per_s;
    }
  }
}

static void add_node(Reader *reader) {
  const OrrNode *component = accelerator_of(reader->server);
  const char *description = orr_node_get_text(component, "description");
  const gint64 count = count_of(reader, component, ORR_DUMP_MAX_GPUS);
  OrrDumpNode *node = orr_dump_add_node(reader->dump, "InfraGraph", place_of(reader->server));
  for (gint64 i = 0; i < count; i++) {
    g_autofree char *id = g_strdup_printf("GPU%ld", i);
    orr_dump_node_add_gpu(node, id)->kind.name = g_strdup(description ? description : "");
  }
  add_nics(reader, node);
}

/* The one device that has accelerators and instances. */
static gboolean find_server(Reader *reader) {
  const OrrNode *instance, *component;
  for (guint i = 0; (instance = item(reader->tree, "instances", i)); i++) {
    const OrrNode *device = device_of(reader, instance);
    for (guint k = 0; (component = item(device, "components", k)); k++)
      if (g_strcmp0(orr_node_get_text(component, "choice"), "device") == 0) {
        orr_diags_error(reader->diags, place_of(component),
                        "a device inside of a device: want its components");
        return FALSE;
      }
    if (!device || !accelerator_of(device)) continue;
    if (reader->server && reader->server != device) {
      orr_diags_error(reader->diags, place_of(instance),
                      "nodes of two devices: a cluster's nodes are alike");
      return FALSE;
    }
    reader->server = device;
  }
  if (!reader->server)
    orr_diags_error(reader->diags, place_of(reader->tree),
                    "no instance has a device with a component whose choice is xpu, npu or gpu");
  return reader->server != NULL;
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  g_autoptr(GPtrArray) trees = orr_yaml_foreign_parse(text->text, text->length, text->file, diags);
  const OrrNode *edge;
  if (!trees || trees->len == 0) return;
  Reader reader = {.dump = dump, .diags = diags, .tree = trees->pdata[0]};
  if (reader.tree->kind != ORR_NODE_MAP || !find_server(&reader)) return;
  reader.fabric = orr_dump_add_fabric(dump, "InfraGraph", orr_dump_place(text, 1, 1));
  const guint n_before = orr_diags_n_errors(diags);
  for (guint i = 0; (edge = item(reader.tree, "edges", i)); i++)
    if (orr_diags_n_errors(diags) < n_before + 20) read_edge(&reader, edge);
  add_node(&reader);
  orr_dump_note(dump,
                "links inside a device, NVLink among them: the device's document has its own");
}

const OrrDumpReader orr_dump_infragraph = {
    .name = "infragraph",
    .sentence = "an infrastructure of InfraGraph, as YAML",
    .recognise = recognise,
    .read = read_text,
};

/*
 * dump_nccl_xml.c - the topology that NCCL and RCCL write (NCCL_TOPO_DUMP_FILE) and read
 * (NCCL_TOPO_FILE). The only file that includes libxml2.
 *
 *   <system version="1">
 *     <cpu numaid="0" host_hash="0x1" ...>
 *       <pci busid="0000:16:00.0" class="0x060400" ...>                            a PCIe switch
 *         <pci busid="0000:18:00.0" class="0x030200" device="0x2330"
 *              link_speed="32.0 GT/s PCIe" ...>                                      a GPU
 *           <gpu dev="0" sm="90" rank="0" gdr="1">
 *             <nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>        to NVSwitch
 *           </gpu>
 *         </pci>
 *         <pci busid="0000:19:00.0" class="0x020700" ...>
 *           <nic><net name="mlx5_0" speed="400000"/></nic>                           400 Gb/s
 *
 * Classes: 0x0302xx and 0x0380xx, 0x1200xx GPUs, 0x02xxxx NICs, 0x0604xx bridges. An nvlink's (or
 * AMD's xgmi's) tclass says whether its target is a GPU or an NVSwitch (0x068000). Files that a
 * cloud ships hold classes alone: NCCL finds the rest when it starts, so NVLinks are then not
 * known to be missing. Elements and attributes of no use here are passed over, as NCCL does.
 *
 * A document type is refused: NCCL writes none, and entities can expand without bound. Nothing is
 * loaded from the network or another file.
 *
 * Source: NCCL 2.27, src/graph/xml.cc and topo.cc; RCCL, src/graph.
 */
#include <libxml/parser.h>

#include "sim/base/file.h"
#include "sim/import/topology/dump.h"

typedef struct {
  const OrrDumpText *text;
  OrrDump *dump;
  OrrDiags *diags;
  GHashTable *nodes;   /* host hash -> OrrDumpNode */
  GHashTable *targets; /* "HOST BUSID" -> GPU's index + 1 */
  GPtrArray *gpus;     /* xmlNode* of <gpu>, with the node and GPU they belong to */
  GArray *owners;      /* of Owner, parallel to gpus */
  guint n_switches;    /* PCIe switches so far */
} Reader;

typedef struct {
  OrrDumpNode *node;
  guint gpu;
  const char *host;
} Owner;

/* Where a walk through the elements is. */
typedef struct {
  OrrDumpNode *node;
  const char *host;
  int numa, pcie;
  double speed; /* of the PCIe above */
} Spot;

static gboolean recognise(const OrrDumpText *text) {
  const char *at = text->text;
  if (strstr(at, "hwloc2.dtd") || strstr(at, "type=\"PCIDev\"")) return FALSE; /* lstopo's */
  if (strstr(at, "<system") && (strstr(at, "<cpu") || strstr(at, "<pci"))) return TRUE;
  while (g_ascii_isspace(*at)) at++;
  return g_str_has_prefix(at, "<?xml") || g_str_has_prefix(at, "<graphs") ||
         g_str_has_prefix(at, "<system") || g_str_has_prefix(at, "<!--") ||
         g_str_has_prefix(at, "<!DOCTYPE");
}

/* --- Attributes --- */

static char *attribute(const xmlNode *element, const char *name) {
  xmlChar *value = xmlGetProp(element, (const xmlChar *)name);
  char *copy = g_strdup((const char *)value);
  xmlFree(value);
  return copy;
}

static gint64 integer(const xmlNode *element, const char *name, gint64 fallback) {
  g_autofree char *text = attribute(element, name);
  char *end = text;
  const gint64 value = text ? g_ascii_strtoll(text, &end, 0) : fallback;
  return text && end > text ? value : fallback;
}

static double real(const xmlNode *element, const char *name) {
  g_autofree char *text = attribute(element, name);
  const double value = text ? g_ascii_strtod(text, NULL) : 0;
  return value > 0 && value < 1e12 ? value : 0;
}

static gboolean is_named(const xmlNode *element, const char *name) {
  return element->type == XML_ELEMENT_NODE && strcmp((const char *)element->name, name) == 0;
}

static OrrPlace place_of(const Reader *reader, const xmlNode *element) {
  return orr_dump_place(reader->text, (guint)MAX(xmlGetLineNo(element), 0), 1);
}

/* --- Elements --- */

static OrrDumpNode *node_of(Reader *reader, const xmlNode *cpu, const char *host) {
  OrrDumpNode *node = g_hash_table_lookup(reader->nodes, host);
  if (node) return node;
  node = orr_dump_add_node(reader->dump, "NCCL's XML", place_of(reader, cpu));
  node->label = *host ? g_strdup(host) : NULL;
  node->has_pcie = TRUE;
  g_hash_table_insert(reader->nodes, g_strdup(host), node);
  return node;
}

/* MI50 "906", MI200 "910" and "gfx90a", MI300 "gfx942". */
static char *gcn_of(const xmlNode *gpu) {
  g_autofree char *text = attribute(gpu, "gcn");
  if (!text || g_str_has_prefix(text, "gfx")) return g_steal_pointer(&text);
  return strcmp(text, "910") == 0 ? g_strdup("gfx90a") : g_strconcat("gfx", text, NULL);
}

static void add_gpu(Reader *reader, xmlNode *pci, xmlNode *gpu, const Spot *spot) {
  g_autofree char *bus = attribute(pci, "busid");
  if (spot->node->gpus->len >= ORR_DUMP_MAX_GPUS) {
    if (orr_diags_n_errors(reader->diags) < 20)
      orr_diags_error(reader->diags, place_of(reader, pci), "more than %d GPUs in one system",
                      ORR_DUMP_MAX_GPUS);
    return;
  }
  OrrDumpGpu *made = orr_dump_node_add_gpu(spot->node, bus ? bus : "");
  made->numa = spot->numa;
  made->pcie = spot->pcie;
  made->kind.vendor = (guint32)integer(pci, "vendor", 0);
  made->kind.id = (guint32)integer(pci, "device", 0);
  made->kind.pcie_gt_per_s = spot->speed;
  if (gpu) {
    made->kind.gcn = gcn_of(gpu);
    made->kind.sm = made->kind.gcn ? 0 : (int)integer(gpu, "sm", 0);
    made->kind.nvlinks_known = TRUE;
    g_ptr_array_add(reader->gpus, gpu);
    ORR_APPEND(reader->owners, Owner, {spot->node, spot->node->gpus->len - 1, spot->host});
  }
  if (bus)
    g_hash_table_insert(reader->targets, g_strdup_printf("%s %s", spot->host, bus),
                        GUINT_TO_POINTER(spot->node->gpus->len));
}

/* The nets of one card are its ports; NICs without <net> are known by their class alone. */
static void add_nic(xmlNode *pci, xmlNode *nic, const Spot *spot) {
  double sum = 0;
  int ports = 0;
  g_autofree char *name = NULL;
  for (xmlNode *net = nic ? nic->children : NULL; net; net = net->next) {
    if (!is_named(net, "net")) continue;
    if (!name) name = attribute(net, "name");
    sum += real(net, "speed") * 1e6 / 8;
    ports++;
  }
  if (spot->node->nics->len >= ORR_DUMP_MAX_NICS) return;
  if (nic && ports == 0) return; /* a device of another kind */
  OrrDumpNic *made = orr_dump_node_add_nic(spot->node, name ? name : "NIC");
  made->bytes_per_s = sum;
  made->ports = MAX(ports, 1);
  made->numa = spot->numa;
  made->pcie = pci ? spot->pcie : -1;
  made->pcie_gt_per_s = pci ? spot->speed : 0;
}

static xmlNode *child(xmlNode *element, const char *name) {
  for (xmlNode *at = element->children; at; at = at->next)
    if (is_named(at, name)) return at;
  return NULL;
}

static void walk(Reader *reader, xmlNode *parent, Spot spot);

/* A display controller of a board (ASPEED) is not a GPU, whatever its class. */
static gboolean is_gpu(const xmlNode *pci, gint64 class) {
  const gint64 vendor = integer(pci, "vendor", 0);
  const gboolean is_class =
      class >> 8 == 0x0302 || class >> 8 == 0x0300 || class >> 8 == 0x0380 || class >> 8 == 0x1200;
  return is_class && (vendor == 0 || vendor == 0x10de || vendor == 0x1002);
}

/* A card of several ports has one function each: the lowest is the card, and the ports add up. */
static void read_pci(Reader *reader, xmlNode *pci, Spot spot) {
  const gint64 class = integer(pci, "class", 0);
  xmlNode *nic = child(pci, "nic"), *gpu = child(pci, "gpu");
  const double speed = real(pci, "link_speed");
  const gboolean has_gpu = gpu || is_gpu(pci, class);
  const gboolean is_bridge = class >> 8 == 0x0604 || (!has_gpu && child(pci, "pci"));
  if (speed > 0) spot.speed = speed;
  if (is_bridge) { /* a switch within a switch counts as one: PXB */
    if (spot.pcie < 0) spot.pcie = (int)reader->n_switches++;
    walk(reader, pci, spot);
  } else if (has_gpu) {
    add_gpu(reader, pci, gpu, &spot);
  } else if (nic || class >> 16 == 0x02) {
    add_nic(pci, nic, &spot);
  }
}

static void walk(Reader *reader, xmlNode *parent, Spot spot) {
  for (xmlNode *at = parent->children; at; at = at->next) {
    if (is_named(at, "pci")) read_pci(reader, at, spot);
    if (is_named(at, "nic")) add_nic(NULL, at, &spot);
  }
}

static void read_cpu(Reader *reader, xmlNode *cpu) {
  g_autofree char *hash = attribute(cpu, "host_hash");
  const char *host = g_intern_string(hash ? hash : "");
  const Spot spot = {.node = node_of(reader, cpu, host),
                     .host = host,
                     .numa = (int)CLAMP(integer(cpu, "numaid", -1), -1, 1 << 16),
                     .pcie = -1};
  walk(reader, cpu, spot);
}

/* --- Links between GPUs, when all GPUs are known --- */

static guint16 *link_between(const OrrDumpNode *node, guint a, guint b) {
  return &node->nvlink[(gsize)a * node->gpus->len + b];
}

/* One <nvlink> or <xgmi>: to another GPU, or to a switch. */
static void read_link(const Reader *reader, const xmlNode *link, const Owner *owner) {
  g_autofree char *target = attribute(link, "target");
  g_autofree char *key = g_strdup_printf("%s %s", owner->host, target ? target : "");
  const gint64 count = CLAMP(integer(link, "count", 1), 0, 1000),
               class = integer(link, "tclass", 0);
  const guint peer = GPOINTER_TO_UINT(g_hash_table_lookup(reader->targets, key));
  OrrDumpKind *kind = &orr_dump_gpu(owner->node, owner->gpu)->kind;
  kind->nvlinks += (guint)count;
  if (class >> 8 == 0x0680 || (target && g_str_has_prefix(target, "fffffff")))
    *link_between(owner->node, owner->gpu, owner->gpu) = G_MAXUINT16; /* on the NVSwitches */
  else if (peer > 0 && peer - 1 != owner->gpu)
    *link_between(owner->node, owner->gpu, peer - 1) = (guint16)count;
  else if (peer > 0)
    kind->nvlinks -= (guint)count; /* a link to itself, in files written by hand */
}

static void join_switched(OrrDumpNode *node) {
  const guint n = node->gpus->len;
  for (guint a = 0; a < n; a++)
    for (guint b = 0; b < n; b++)
      if (a != b && *link_between(node, a, a) && *link_between(node, b, b))
        *link_between(node, a, b) = G_MAXUINT16;
  for (guint a = 0; a < n; a++) *link_between(node, a, a) = 0;
}

static void mark_nics(OrrDumpNode *node) {
  for (guint i = 0; i < node->nics->len; i++)
    for (guint g = 0; g < node->gpus->len; g++)
      if (orr_dump_nic(node, i)->pcie >= 0 &&
          orr_dump_nic(node, i)->pcie == orr_dump_gpu(node, g)->pcie)
        orr_dump_nic(node, i)->beside_gpu = TRUE;
}

static void read_links(Reader *reader) {
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init(&iter, reader->nodes);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    OrrDumpNode *node = value;
    node->nvlink = g_new0(guint16, (gsize)node->gpus->len * node->gpus->len);
    mark_nics(node);
  }
  for (guint i = 0; i < reader->gpus->len; i++)
    for (xmlNode *at = ((xmlNode *)reader->gpus->pdata[i])->children; at; at = at->next)
      if (is_named(at, "nvlink") || is_named(at, "xgmi"))
        read_link(reader, at, &g_array_index(reader->owners, Owner, i));
  g_hash_table_iter_init(&iter, reader->nodes);
  while (g_hash_table_iter_next(&iter, NULL, &value)) join_switched(value);
}

/* --- The whole --- */

static void read_system(Reader *reader, xmlNode *root) {
  guint n_gpus = 0;
  for (xmlNode *at = root->children; at; at = at->next)
    if (is_named(at, "cpu")) read_cpu(reader, at);
  if (g_hash_table_size(reader->nodes) == 0 && child(root, "pci")) /* no CPU: written by hand */
    walk(reader, root,
         (Spot){.node = node_of(reader, root, ""), .host = "", .numa = -1, .pcie = -1});
  for (guint i = 0; i < reader->dump->nodes->len; i++)
    n_gpus += ((OrrDumpNode *)reader->dump->nodes->pdata[i])->gpus->len;
  if (n_gpus == 0)
    orr_diags_error(reader->diags, place_of(reader, root),
                    "no GPU in this system: expected <pci class=\"0x030200\"> or <gpu>");
  read_links(reader);
}

static void read_root(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags, xmlNode *root) {
  Reader reader = {text, dump, diags, NULL, NULL, NULL, NULL, 0};
  const char *name = (const char *)root->name;
  if (strcmp(name, "system") != 0) {
    const gboolean is_graph = strcmp(name, "graphs") == 0;
    orr_diags_error(diags, orr_dump_place(text, (guint)MAX(xmlGetLineNo(root), 0), 1),
                    "the root element is <%.40s>, expected <system>%s", name,
                    is_graph ? ": this is a graph file (NCCL_GRAPH_DUMP_FILE), which holds NCCL's "
                               "channels and no links; NCCL_TOPO_DUMP_FILE writes the topology"
                             : "");
    return;
  }
  reader.nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  reader.targets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  reader.gpus = g_ptr_array_new();
  reader.owners = g_array_new(FALSE, FALSE, sizeof(Owner));
  read_system(&reader, root);
  g_hash_table_unref(reader.nodes);
  g_hash_table_unref(reader.targets);
  g_ptr_array_unref(reader.gpus);
  g_array_unref(reader.owners);
}

static void report(const OrrDumpText *text, OrrDiags *diags, const xmlParserCtxt *parser) {
  const xmlError *last = &parser->lastError;
  g_autofree char *message = g_strstrip(g_strdup(last->message ? last->message : "no element"));
  orr_diags_error(diags, orr_dump_place(text, (guint)MAX(last->line, 0), (guint)MAX(last->int2, 0)),
                  "this is not well-formed XML: %.200s", message);
}

static gboolean check_type(const OrrDumpText *text, OrrDiags *diags) {
  for (guint i = 0; i < text->n_lines; i++) {
    const char *found = strstr(text->lines[i], "<!DOCTYPE");
    if (!found) found = strstr(text->lines[i], "<!ENTITY");
    if (!found) continue;
    orr_diags_error(diags, orr_dump_place(text, i + 1, (guint)(found - text->lines[i]) + 1),
                    "a document type or an entity: NCCL writes none, and none is expanded here");
    return FALSE;
  }
  return TRUE;
}

static void read_document(const OrrDumpText *text, const char *xml, OrrDump *dump,
                          OrrDiags *diags) {
  xmlParserCtxt *parser = xmlNewParserCtxt();
  xmlDoc *document = xmlCtxtReadMemory(parser, xml, (int)strlen(xml), NULL, "UTF-8",
                                       XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
  xmlNode *root = document ? xmlDocGetRootElement(document) : NULL;
  if (root)
    read_root(text, dump, diags, root);
  else
    report(text, diags, parser);
  xmlFreeDoc(document);
  xmlFreeParserCtxt(parser);
}

/* The next <system> element at or behind @from alone, with as many lines before it as in the text;
 * *@ret_end: where it ends. NULL: there are no more. */
static char *cut_system(const OrrDumpText *text, const char *from, const char **ret_end) {
  static const char end_tag[] = "</system>";
  const char *start = strstr(from, "<system"), *end = start ? strstr(start, end_tag) : NULL;
  if (!start) return NULL;
  *ret_end = end ? end + strlen(end_tag) : text->text + text->length;
  GString *xml = g_string_new(NULL);
  for (const char *at = text->text; at < start; at++)
    if (*at == '\n') g_string_append_c(xml, '\n');
  g_string_append_len(xml, start, *ret_end - start);
  return g_string_free(xml, FALSE);
}

/* A page can hold several, with other text around them. */
static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  const char *at = text->text;
  guint n = 0;
  if (text->length > ORR_FILE_MAX_DOCUMENT)
    orr_diags_error(diags, orr_dump_place(text, 0, 0),
                    "more than 16 MiB of XML: NCCL writes some kilobytes");
  if (text->length > ORR_FILE_MAX_DOCUMENT || !check_type(text, diags)) return;
  for (char *xml; n < ORR_DUMP_MAX_FABRICS && (xml = cut_system(text, at, &at)); n++) {
    read_document(text, xml, dump, diags);
    g_free(xml);
  }
  if (n == 0) read_document(text, text->text, dump, diags);
}

const OrrDumpReader orr_dump_nccl_xml = {
    .name = "nccl-xml",
    .sentence = "the XML of NCCL_TOPO_DUMP_FILE",
    .recognise = recognise,
    .read = read_text,
};

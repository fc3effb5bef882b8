/*
 * cluster_plan.c - joins the plan of a node with the shape of a fabric, and writes both.
 */
#include "sim/import/topology/cluster_plan.h"

#include "sim/base/quantity.h"
#include "sim/base/yaml.h"
#include "topologies/cluster.h"

typedef struct {
  OrrDump *dump;
  const OrrTopologyAnswers *answers;
  OrrLibrary *library;
  OrrClusterPlan *plan;
  OrrNodePlan node;
  const OrrDumpFabric *fabric; /* NULL: no dump shows one */
  OrrFabricGraph *graph;
  OrrFabricShape shape;
  gint64 nodes, max_nodes;
  char *nodes_said;
} Planner;

void orr_cluster_plan_free(OrrClusterPlan *plan) {
  if (!plan) return;
  g_free(plan->text);
  g_clear_pointer(&plan->questions, g_ptr_array_unref);
  g_clear_pointer(&plan->notes, g_ptr_array_unref);
  g_free(plan);
}

static void ask(const Planner *planner, char *question) {
  g_ptr_array_add(planner->plan->questions, question);
}

static gboolean refuse(GError **error, char *message) {
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_DOCUMENT, message);
  g_free(message);
  return FALSE;
}

/* --- Which fabric --- */

static gboolean choose_fabric(Planner *planner, GError **error) {
  const GPtrArray *all = planner->dump->fabrics;
  const char *choose = planner->answers->choose;
  g_autoptr(GString) list = g_string_new(NULL);
  ORR_EACH_POINTER_AT(i, const OrrDumpFabric, fabric, all) {
    g_autofree char *number = g_strdup_printf("%u", i + 1),
                    *place = orr_node_plan_place(fabric->place);
    if (choose && (g_strcmp0(fabric->label, choose) == 0 || strcmp(number, choose) == 0))
      planner->fabric = fabric;
    g_string_append_printf(list, "%s%s%s%s (%s, %u switches)", i ? "; " : "", number,
                           fabric->label ? " or " : "", fabric->label ? fabric->label : "", place,
                           fabric->switches->len);
  }
  if (all->len == 1) planner->fabric = all->pdata[0];
  if (all->len <= 1 || planner->fabric) return TRUE;
  const OrrPlace place = ((const OrrDumpFabric *)all->pdata[1])->place;
  return refuse(
      error, g_strdup_printf("%s:%d:1: error: %u fabrics are described: --choose takes one of %s",
                             place.file, place.line, all->len, list->str));
}

static gboolean misuse(GError **error, char *message) {
  g_set_error_literal(error, ORR_FAULT, ORR_FAULT_USAGE, message);
  g_free(message);
  return FALSE;
}

/* Whether --choose is the number or name of a machine or a fabric, or the name of a switch. */
static gboolean check_choose(const Planner *planner, GError **error) {
  const char *choose = planner->answers->choose;
  const OrrDump *dump = planner->dump;
  char *end;
  const guint64 number = choose ? g_ascii_strtoull(choose, &end, 10) : 0;
  if (!choose || (!*end && number >= 1 && number <= MAX(dump->nodes->len, dump->fabrics->len)))
    return TRUE;
  for (guint i = 0; i < dump->nodes->len; i++)
    if (g_strcmp0(((const OrrDumpNode *)dump->nodes->pdata[i])->label, choose) == 0) return TRUE;
  ORR_EACH_POINTER(const OrrDumpFabric, fabric, dump->fabrics)
    if (g_strcmp0(fabric->label, choose) == 0 || g_hash_table_contains(fabric->by_name, choose))
      return TRUE;
  return misuse(error,
                g_strdup_printf("--choose: '%.60s' is not a machine, a fabric or a switch of "
                                "these dumps",
                                choose));
}

/* Answers that contradict what the dumps show. */
static gboolean check_answers(const Planner *planner, GError **error) {
  const OrrTopologyAnswers *answers = planner->answers;
  const gboolean has_cables = planner->graph && !planner->graph->from->is_tree;
  if (answers->gpus && planner->node.is_seen && answers->gpus != planner->node.gpus)
    return misuse(error,
                  g_strdup_printf("--gpus-per-node is %ld, but the dumps show %ld GPUs in a node",
                                  answers->gpus, planner->node.gpus));
  if (answers->nics && has_cables && answers->nics != planner->graph->n_ports)
    return misuse(error, g_strdup_printf("--nics-per-node is %ld, but nodes have %u ports on the "
                                         "fabric",
                                         answers->nics, planner->graph->n_ports));
  if (answers->oversubscription > 0 && has_cables)
    return misuse(error, g_strdup("--oversubscription is for fabrics whose cables the dumps do not "
                                  "show: here they are counted"));
  return TRUE;
}

/* Host names alone do not describe a machine. */
static gboolean check_seen(const Planner *planner, GError **error) {
  if (planner->fabric || planner->node.is_seen || planner->dump->nic_bytes_per_s > 0) return TRUE;
  return refuse(error, g_strdup("neither a node nor a fabric is described here: give nvidia-smi "
                                "topo -m or NCCL's XML, ibnetdiscover or topology.conf as well"));
}

/* Ports of a node as the fabric has them count: they are joined. */
static void take_ports(Planner *planner) {
  OrrNodePlan *node = &planner->node;
  const gint64 ports = planner->graph->n_ports;
  if (node->is_seen && node->nics && node->nics != ports && !planner->answers->nics)
    orr_dump_note(
        planner->dump,
        "nodes have %ld ports on the fabric, and %ld NICs from the inside: the fabric counts",
        ports, node->nics);
  node->nics = ports;
  node->is_nics_assumed = FALSE;
  g_free(node->nics_said);
  node->nics_said = g_strdup_printf("%s: ports of a node", planner->fabric->format);
  if (planner->graph->port_bytes_per_s <= 0 || planner->graph->is_rate_given ||
      planner->answers->link_bytes_per_s > 0)
    return;
  const gboolean from_fabric =
      node->is_rate_assumed || planner->graph->port_bytes_per_s != node->nic_bytes_per_s;
  if (!from_fabric) return;
  node->nic_bytes_per_s = planner->graph->port_bytes_per_s;
  g_free(node->rate_said);
  node->rate_said = g_strdup_printf("%s: the rate that the link runs at", planner->fabric->format);
  node->is_rate_assumed = FALSE;
}

static gboolean has_rates(const OrrDumpFabric *fabric) {
  ORR_EACH(const OrrDumpPort, port, fabric->ports)
    if (port->bytes_per_s > 0) return TRUE;
  return FALSE;
}

static gboolean plan_graph(Planner *planner, GError **error) {
  if (!planner->fabric) return TRUE;
  planner->graph = orr_fabric_graph_new(planner->dump, planner->fabric, planner->answers->choose,
                                        planner->node.nic_bytes_per_s, error);
  if (!planner->graph) {
    g_prefix_error(error, "%s:%d:1: error: ", planner->fabric->place.file,
                   planner->fabric->place.line);
    return FALSE;
  }
  for (guint i = 0; i < planner->graph->notes->len; i++)
    orr_dump_note(planner->dump, "%s", (char *)planner->graph->notes->pdata[i]);
  const gboolean is_known = has_rates(planner->fabric);
  if (!planner->fabric->is_tree) {
    take_ports(planner);
    if (!is_known && !planner->answers->link_bytes_per_s) planner->node.is_rate_assumed = TRUE;
  }
  return TRUE;
}

/* --- GPUs and nodes that no dump shows --- */

static gboolean is_tray(const Planner *planner) {
  return strstr(planner->node.device, "gb200") || strstr(planner->node.device, "gb300");
}

/* Whether NVLink joins the trays of a block of Slurm's. */
static gboolean joins_block(const Planner *planner) {
  return planner->fabric && planner->fabric->block > 0 && is_tray(planner);
}

static void plan_gpus(Planner *planner) {
  OrrNodePlan *node = &planner->node;
  if (node->is_domain_assumed && !joins_block(planner))
    ask(planner, g_strdup_printf("Which GPUs does NVLink join? No dump shows it; assumed all %ld "
                                 "of a node, if the device has NVLink. --scale-up-domain N",
                                 node->domain));
  if (node->gpus == 0) {
    node->gpus = node->nics > 1 ? node->nics : 8;
    node->gpus_said = g_strdup("QUESTION: assumed");
    ask(planner, g_strdup_printf("How many GPUs in a node? No dump shows a node from the inside; "
                                 "assumed %ld. --gpus-per-node N, or give topo -m as well",
                                 node->gpus));
  }
  if (node->domain == 0) {
    node->domain = node->gpus;
    node->domain_said = g_strdup("QUESTION: assumed");
  }
  if (node->nics == 0) {
    node->nics = node->gpus;
    g_free(node->nics_said);
    node->nics_said = g_strdup("QUESTION: assumed one for each GPU");
    node->is_nics_assumed = TRUE;
  }
  if (node->is_nics_assumed)
    ask(planner, g_strdup_printf("How many NICs of a node carry traffic between nodes? No dump "
                                 "shows them; assumed %ld. --nics-per-node N",
                                 node->nics));
}

static void plan_rate(Planner *planner) {
  g_autofree char *rate = NULL;
  if (!planner->node.is_rate_assumed) return;
  rate = g_strdup_printf("%.10g Gb/s", planner->node.nic_bytes_per_s * 8 / 1e9);
  ask(planner, g_strdup_printf("What is the rate of a NIC? No dump shows it; assumed %s. "
                               "--link-rate RATE",
                               rate));
}

static gboolean plan_nodes(Planner *planner, GError **error) {
  const gint64 built = planner->graph ? planner->graph->n_nodes : 0;
  const gint64 hosts = planner->dump->hosts ? planner->dump->hosts->len : 0;
  planner->nodes = planner->answers->nodes ? planner->answers->nodes
                   : built                 ? built
                   : hosts                 ? hosts
                                           : MAX(planner->node.nodes, 1);
  planner->nodes_said = g_strdup(planner->answers->nodes ? "--nodes"
                                 : built                 ? planner->fabric->format
                                 : hosts                 ? "the host file"
                                                         : "");
  if (built && planner->nodes > built)
    return refuse(error,
                  g_strdup_printf("--nodes is %ld, but the fabric has %ld nodes of this kind",
                                  planner->nodes, built));
  if (built > planner->nodes) planner->max_nodes = built;
  if (!built && !hosts && !planner->answers->nodes && planner->node.nodes <= 1)
    ask(planner, g_strdup("How many nodes, and what joins them? The dumps show one from the "
                          "inside. --nodes N, or give ibnetdiscover or topology.conf as well"));
  return TRUE;
}

/* A NIC that several GPUs share, or several NICs of a GPU. */
static gboolean check_sharing(const Planner *planner, GError **error) {
  const gint64 gpus = planner->node.gpus, nics = planner->node.nics;
  if (nics % gpus == 0 || gpus % nics == 0) return TRUE;
  return refuse(error,
                g_strdup_printf("%ld GPUs cannot share %ld ports of a node evenly: a node has a "
                                "whole number of NICs for each GPU, or of GPUs for each NIC "
                                "(--gpus-per-node, --nics-per-node)",
                                gpus, nics));
}

/* A block of topology/block is an NVLink domain where nodes are NVL72's trays; a file of several
 * hosts is one where NCCL merged them. */
static void plan_domain(Planner *planner) {
  OrrNodePlan *node = &planner->node;
  if (planner->answers->domain) return;
  if (node->nodes > 1 && node->domain == node->gpus && node->mesh == 0) {
    node->domain = node->gpus * node->nodes;
    g_free(node->domain_said);
    node->domain_said =
        g_strdup_printf("NCCL merges %ld hosts that share an NVLink domain", node->nodes);
  } else if (joins_block(planner)) {
    node->domain = node->gpus * planner->fabric->block;
    g_free(node->domain_said);
    node->domain_said = g_strdup("a block of Slurm's topology/block");
  } else if ((planner->fabric && planner->fabric->block > 0) || is_tray(planner)) {
    ask(planner, g_strdup_printf(
                     "Does NVLink span nodes%s? Assumed domains of %ld GPUs. --scale-up-domain N",
                     is_tray(planner) ? " (NVL72)" : ", as blocks of Slurm do", node->domain));
  }
}

static gboolean plan_shape(Planner *planner, GError **error) {
  const OrrFabricAnswers answers = {planner->node.gpus, planner->node.nics,
                                    planner->node.nic_bytes_per_s,
                                    planner->answers->oversubscription};
  if (!planner->graph) return TRUE;
  if (!planner->graph->from->is_tree && answers.nics > answers.gpus)
    orr_fabric_graph_bond(planner->graph, (guint)(answers.nics / answers.gpus));
  if (!orr_fabric_shape_init(&planner->shape, planner->graph, &answers, error)) return FALSE;
  if (planner->shape.is_assumed && planner->answers->oversubscription <= 0)
    ask(planner,
        g_strdup_printf("What joins the switches? %s counts no cables; assumed as many as "
                        "carry all below%s. --oversubscription X, or ibnetdiscover",
                        planner->fabric->format, planner->shape.is_rail ? ", and rails" : ""));
  return TRUE;
}

/* --- Writing --- */

/* A line with where it is from as a comment. */
static void G_GNUC_PRINTF(3, 4) add_line(GString *text, const char *said, const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_string_append_vprintf(text, format, args);
  va_end(args);
  if (said && *said) g_string_append_printf(text, "  # %s", said);
  g_string_append_c(text, '\n');
}

/* Lines of at most 100 columns behind "# ", with control characters left out. */
static void add_comment(GString *text, const char *first, const char *comment) {
  g_auto(GStrv) words = g_strsplit(comment, " ", -1);
  g_autoptr(GString) line = g_string_new(first);
  for (guint i = 0; words[i]; i++) {
    for (char *at = words[i]; *at; at++)
      if (g_ascii_iscntrl(*at)) *at = '?';
    if (line->len + strlen(words[i]) > 98 && line->len > 4) {
      g_string_append_printf(text, "# %s\n", g_strchomp(line->str));
      g_string_assign(line, "    ");
    }
    g_string_append_printf(line, "%s ", words[i]);
  }
  g_string_append_printf(text, "# %s\n", g_strchomp(line->str));
}

static char *file_names(char **files) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; files[i]; i++) {
    g_autofree char *base = g_path_get_basename(files[i]);
    for (char *at = base; *at; at++)
      if (g_ascii_iscntrl(*at) || strchr("\"\\", *at)) *at = '_';
    g_string_append_printf(text, "%s%s", i ? ", " : "", base);
  }
  return g_string_free(text, FALSE);
}

static void add_head(GString *text, const Planner *planner, const char *names) {
  g_autofree char *head = g_strdup_printf("Made by orrery import topology from %s.", names);
  const GPtrArray *questions = planner->plan->questions, *notes = planner->dump->notes;
  add_comment(text, "", head);
  if (questions->len) g_string_append(text, "#\n# Not shown by the dumps:\n");
  for (guint i = 0; i < questions->len; i++) add_comment(text, "  - ", questions->pdata[i]);
  if (notes->len) g_string_append(text, "#\n# What was left out:\n");
  for (guint i = 0; i < notes->len; i++) add_comment(text, "  - ", notes->pdata[i]);
  if (planner->shape.said) {
    g_autofree char *said = g_strdup_printf("The fabric is %s.", planner->shape.said);
    g_string_append(text, "#\n");
    add_comment(text, "", said);
  }
}

/* NVLinks that are fewer than the device has make its scale-up narrower; links without a switch
 * divide it among the other GPUs. */
static gboolean add_device(GString *text, const Planner *planner, GError **error) {
  const OrrNodePlan *node = &planner->node;
  const gboolean is_narrow = node->links > 0 && node->links < node->all_links && node->domain > 1;
  double rate = 0;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrNode *device =
      is_narrow || node->mesh > 0
          ? orr_library_borrow(planner->library, "device", node->device, (OrrPlace){0}, diags)
          : NULL;
  const char *full = device ? orr_node_get_text(device, "scale-up-bandwidth") : NULL;
  const char *own = device ? orr_node_get_text(device, "scale-up-links") : NULL;
  const gint64 own_mesh = own ? g_ascii_strtoll(own, NULL, 10) : 0;
  const gboolean is_rewired = node->mesh > 0 && node->mesh != MAX(own_mesh, 1);
  if (!is_narrow && !is_rewired) {
    add_line(text, node->device_said, "device: %s", node->device);
    return TRUE;
  }
  if (is_narrow && (!full || !orr_quantity_parse(full, ORR_UNIT_BYTES_PER_S, &rate, error)))
    return error && *error ? FALSE : orr_diags_check(diags, error);
  add_line(text, node->device_said, "device:\n  base: %s", node->device);
  if (is_narrow)
    g_string_append_printf(text, "  scale-up-bandwidth: %.10g GB/s  # %u of %u NVLinks\n",
                           rate / 1e9 * node->links / node->all_links, node->links,
                           node->all_links);
  if (is_rewired)
    g_string_append_printf(text,
                           "  scale-up-links: %u  # no switch: 1/%u of it to each other GPU\n",
                           node->mesh, node->mesh);
  return TRUE;
}

static void add_node(GString *text, const Planner *planner) {
  const OrrNodePlan *node = &planner->node;
  g_string_append(text, "node:\n");
  add_line(text, node->gpus_said, "  gpus: %ld", node->gpus);
  add_line(text, node->domain_said, "  scale-up-domain: %ld", node->domain);
  add_line(text, node->nics_said, "  nics-per-gpu: %.10g", (double)node->nics / (double)node->gpus);
  if (node->nics > node->gpus && planner->graph && !planner->graph->from->is_tree &&
      planner->graph->bonded == 1)
    add_line(text, "the NICs of a GPU are on several switches", "  ports: separate");
  add_line(text, node->rate_said, "  nic-bandwidth: %.10g Gb/s", node->nic_bytes_per_s * 8 / 1e9);
  if (!node->gpus_per_switch && !node->gpus_per_bridge) return;
  g_string_append(text, "  host:\n");
  if (node->gpus_per_switch)
    add_line(text, "under one PCIe switch", "    gpus-per-switch: %ld", node->gpus_per_switch);
  if (node->gpus_per_bridge)
    add_line(text, "on one NUMA node", "    gpus-per-bridge: %ld", node->gpus_per_bridge);
}

/* The dumps may show nodes from the inside only; what joins them is then assumed. */
static void ask_of_fabric(const Planner *planner) {
  if (planner->shape.yaml || planner->nodes <= 1) return;
  ask(planner, g_strdup("What joins the nodes? A fat-tree is assumed: give ibnetdiscover or "
                        "topology.conf as well"));
}

static void add_fabric(GString *text, const Planner *planner) {
  const char *yaml = planner->shape.yaml ? planner->shape.yaml : "  kind: fat-tree\n";
  const gint64 ports = planner->nodes * planner->node.nics;
  g_autoptr(GString) own = g_string_new(yaml);
  if (!planner->shape.yaml && ports > 2048) { /* what 64 ports hold at two levels */
    g_string_append(own, "  levels: 3\n");
    if (ports > 65536) g_string_append(own, "  radix: 4096\n");
  }
  if (!planner->shape.yaml && planner->answers->oversubscription > 1)
    g_string_append_printf(own, "  oversubscription: %.10g\n", planner->answers->oversubscription);
  g_string_append_printf(text, "fabric:%s\n", planner->shape.yaml ? "" : "  # QUESTION: assumed");
  if (planner->node.domain <= planner->node.gpus) {
    g_string_append(text, own->str);
    return;
  }
  g_auto(GStrv) lines = g_strsplit(own->str, "\n", -1);
  g_string_append(text, "  kind: nvlink-domain\n  scale-out:\n");
  for (guint i = 0; lines[i] && *lines[i]; i++) g_string_append_printf(text, "  %s\n", lines[i]);
}

static gboolean write_document(Planner *planner, char **files, GError **error) {
  g_autofree char *names = file_names(files);
  GString *text = g_string_new(NULL);
  planner->plan->text = NULL;
  ask_of_fabric(planner);
  add_head(text, planner, names);
  g_string_append_printf(text,
                         "schema: cluster/1\nname: %s\nsource: \"orrery import topology, %s\"\n",
                         planner->answers->name ? planner->answers->name : "imported", names);
  const gboolean fine = add_device(text, planner, error);
  if (fine) {
    add_line(text, planner->nodes_said, "nodes: %ld", planner->nodes);
    if (planner->max_nodes)
      add_line(text, planner->fabric->format, "max-nodes: %ld", planner->max_nodes);
    add_node(text, planner);
    add_fabric(text, planner);
  }
  planner->plan->text = g_string_free(text, FALSE);
  return fine;
}

/* What `orrery check` does. */
static gboolean verify(const Planner *planner, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const char *text = planner->plan->text;
  g_autoptr(OrrNode) root = orr_yaml_parse(text, strlen(text), "the imported cluster", diags);
  OrrCluster cluster = {0};
  if (root && orr_field_read(&orr_cluster_table, root, planner->library, diags, &cluster))
    orr_cluster_check(&cluster, root->place, diags);
  orr_field_clear(&orr_cluster_table, &cluster);
  if (orr_diags_check(diags, error)) return TRUE;
  g_prefix_error(error, "the machine that the dumps describe cannot be simulated: ");
  return FALSE;
}

static gboolean make(Planner *planner, char **files, GError **error) {
  if (!check_choose(planner, error)) return FALSE;
  if (!orr_node_plan_init(&planner->node, planner->dump, planner->answers, planner->library,
                          planner->plan->questions, error))
    return FALSE;
  if (!choose_fabric(planner, error) || !check_seen(planner, error)) return FALSE;
  if (!plan_graph(planner, error) || !check_answers(planner, error)) return FALSE;
  plan_gpus(planner);
  plan_rate(planner);
  plan_domain(planner);
  return check_sharing(planner, error) && plan_nodes(planner, error) &&
         plan_shape(planner, error) && write_document(planner, files, error) &&
         verify(planner, error);
}

OrrClusterPlan *orr_cluster_plan_new(OrrDump *dump, const OrrTopologyAnswers *answers, char **files,
                                     OrrLibrary *library, GError **error) {
  g_autoptr(OrrClusterPlan) plan = g_new0(OrrClusterPlan, 1);
  plan->questions = g_ptr_array_new_with_free_func(g_free);
  Planner planner = {.dump = dump, .answers = answers, .library = library, .plan = plan};
  const gboolean is_made = make(&planner, files, error);
  plan->notes = g_ptr_array_ref(dump->notes);
  orr_node_plan_clear(&planner.node);
  orr_fabric_graph_free(planner.graph);
  orr_fabric_shape_clear(&planner.shape);
  g_free(planner.nodes_said);
  return is_made ? g_steal_pointer(&plan) : NULL;
}

/*
 * nvlink_domain.c - nvlink-domain: NVLink domains over several nodes, and a scale-out fabric that
 * joins them.
 *
 *     +-- domain 0: NVLink switches --+   +-- domain 1 ------+
 *     | n0: 4 GPUs ... n17: 4 GPUs    |   | n18 ... n35      |
 *     +---|-------------------|-------+   +---|--------------+
 *        NICs ------------- scale-out fabric (any other kind) -----
 *
 * The size of a domain is the node's scale-up-domain: 72 on GB200 NVL72, whose 72 GPUs each have
 * one NVLink to each of 18 switch chips, so that every GPU reaches every other at its full rate in
 * one hop (NVIDIA DGX SuperPOD reference architecture, DGX GB200, "Multi-node NVLink Fabric").
 * Within a domain a route is tx(src), rx(dst); only traffic between domains meets the fabric named
 * by scale-out.
 *
 * Bisection: the scale-out fabric's. A domain of D GPUs of V bytes/s has D * V / 2 of its own.
 *
 *   node: {gpus: 4, scale-up-domain: 72, ...}
 *   fabric: {kind: nvlink-domain, scale-out: {kind: fat-tree, oversubscription: 2}}
 */
#include "topologies/fabric.h"

extern const OrrFabricKind orr_nvlink_domain;

typedef struct {
  OrrChoice scale_out;
} Params;

typedef struct {
  const OrrFabricKind *kind;
  gpointer plan;
} Plan;

static const OrrFieldTable params_table =
    ORR_FIELDS("nvlink-domain", "Parameters of the fabric nvlink-domain.", Params,
               ORR_FIELD_CHOICE(Params, "scale-out", scale_out, &orr_fabric_registry, "fat-tree",
                                "The fabric that joins the domains: any kind but nvlink-domain."));

static gpointer plan_new(const OrrCluster *cluster, const void *data, gint64 n_ports,
                         double port_bytes_per_s, GError **error) {
  const Params *params = data;
  const OrrFabricKind *kind = (const OrrFabricKind *)params->scale_out.entry;
  if (!kind || kind == &orr_nvlink_domain)
    return orr_fault_null(
        error, ORR_FAULT_DOCUMENT,
        "scale-out is %s: it must be a fabric of NICs, e.g. fat-tree or rail-optimized",
        kind ? kind->entry.name : "missing");
  gpointer inner = kind->plan(cluster, params->scale_out.params, n_ports, port_bytes_per_s, error);
  if (!inner) {
    g_prefix_error(error, "scale-out: ");
    return NULL;
  }
  Plan *plan = g_new0(Plan, 1);
  *plan = (Plan){kind, inner};
  return plan;
}

static void plan_free(gpointer data) {
  Plan *plan = data;
  if (!plan) return;
  plan->kind->plan_free(plan->plan);
  g_free(plan);
}

static gint64 n_links(gconstpointer data) {
  const Plan *plan = data;
  return plan->kind->n_links(plan->plan);
}

static guint route(gconstpointer data, gint64 src_port, gint64 dst_port, guint64 hash,
                   GArray *links) {
  const Plan *plan = data;
  return plan->kind->route(plan->plan, src_port, dst_port, hash, links);
}

/* fabric.c reads the kind that the cluster names for detours, so valiant and ugal are refused
 * here even if the scale-out fabric would have them. */
static gboolean reaches(gconstpointer data, gint64 src_port, gint64 dst_port) {
  const Plan *plan = data;
  return !plan->kind->reaches || plan->kind->reaches(plan->plan, src_port, dst_port);
}

static guint n_paths(gconstpointer data) {
  const Plan *plan = data;
  return plan->kind->n_paths ? plan->kind->n_paths(plan->plan) : 1;
}

static guint diameter(gconstpointer data) {
  const Plan *plan = data;
  return plan->kind->diameter(plan->plan);
}

static double link_bandwidth(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  return plan->kind->link_bandwidth(plan->plan, link);
}

static char *link_name(gconstpointer data, gint64 link) {
  const Plan *plan = data;
  return plan->kind->link_name(plan->plan, link);
}

static void trunks(gconstpointer data, const char *name, gboolean is_switch, GArray *parts) {
  const Plan *plan = data;
  if (plan->kind->trunks) plan->kind->trunks(plan->plan, name, is_switch, parts);
}

static double switch_latency(gconstpointer data) {
  const Plan *plan = data;
  return plan->kind->switch_latency(plan->plan);
}

static void levels(gconstpointer data, GArray *ret_levels) {
  const Plan *plan = data;
  plan->kind->levels(plan->plan, ret_levels);
}

static void bill(gconstpointer data, OrrBill *ret_bill) {
  const Plan *plan = data;
  plan->kind->bill(plan->plan, ret_bill);
}

static double bisection(gconstpointer data) {
  const Plan *plan = data;
  return plan->kind->bisection(plan->plan);
}

const OrrFabricKind orr_nvlink_domain = {
    .entry = {.name = "nvlink-domain",
              .sentence = "NVLink domains over several nodes (NVL72), joined by a scale-out fabric "
                          "of any other kind.",
              .params = &params_table},
    .spans_nodes = TRUE,
    .plan = plan_new,
    .plan_free = plan_free,
    .n_links = n_links,
    .route = route,
    .reaches = reaches,
    .n_paths = n_paths,
    .link_bandwidth = link_bandwidth,
    .link_name = link_name,
    .trunks = trunks,
    .switch_latency = switch_latency,
    .levels = levels,
    .bill = bill,
    .bisection = bisection,
    .diameter = diameter,
};

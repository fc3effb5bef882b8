/*
 * node_plan.c - one machine out of all that were dumped: its GPUs, NVLink domain, NICs, PCIe.
 *
 * The XML states most, then the matrix, then lspci: the first of them is the machine, the others
 * add what it lacks. Machines that are alike are counted as nodes; of machines that differ,
 * --choose takes one.
 */
#include "sim/import/topology/cluster_plan.h"

typedef struct {
  OrrNodePlan *plan;
  OrrDump *dump;
  const OrrTopologyAnswers *answers;
  OrrLibrary *library;
  GPtrArray *questions;
  const OrrDumpNode *node; /* NULL: no dump shows one */
} Planner;

void orr_node_plan_clear(OrrNodePlan *plan) {
  g_free(plan->device);
  g_free(plan->device_said);
  g_free(plan->gpus_said);
  g_free(plan->domain_said);
  g_free(plan->nics_said);
  g_free(plan->rate_said);
  *plan = (OrrNodePlan){0};
}

char *orr_node_plan_place(OrrPlace place) {
  g_autofree char *base = g_path_get_basename(place.file);
  return place.line > 0 ? g_strdup_printf("%s:%d", base, place.line) : g_steal_pointer(&base);
}

static void ask(const Planner *planner, char *question) {
  g_ptr_array_add(planner->questions, question);
}

/* --- Which machine --- */

static char *fingerprint(const OrrDumpNode *node) {
  const gsize n = node->gpus->len;
  g_autofree char *links = g_compute_checksum_for_data(
      G_CHECKSUM_MD5, (const guchar *)(node->nvlink ? (gpointer)node->nvlink : (gpointer) ""),
      node->nvlink ? n * n * sizeof *node->nvlink : 0);
  return g_strdup_printf("%s %" G_GSIZE_FORMAT " %u %s", node->format, n, node->nics->len, links);
}

static char *describe(const OrrDumpNode *node, guint number) {
  g_autofree char *place = orr_node_plan_place(node->place);
  guint most = 0;
  for (guint i = 0; i < node->gpus->len; i++) most = MAX(most, orr_dump_gpu(node, i)->kind.nvlinks);
  return g_strdup_printf("%u%s%s: %u GPUs of %u NVLinks, %u NICs (%s)", number,
                         node->label ? " or " : "", node->label ? node->label : "", node->gpus->len,
                         most, node->nics->len, place);
}

/* The machines of one format that differ, each once; @ret_n: how many machines there are in all. */
static GPtrArray *different(const OrrDump *dump, const char *format, guint *ret_n) {
  GPtrArray *nodes = g_ptr_array_new();
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  *ret_n = 0;
  ORR_EACH_POINTER(OrrDumpNode, node, dump->nodes) {
    if (strcmp(node->format, format) != 0 || node->gpus->len == 0) continue;
    ++*ret_n;
    if (g_hash_table_add(seen, fingerprint(node))) g_ptr_array_add(nodes, node);
  }
  return nodes;
}

static const OrrDumpNode *chosen(const GPtrArray *nodes, const char *choose) {
  char *end;
  const guint64 number = choose ? g_ascii_strtoull(choose, &end, 10) : 0;
  for (guint i = 0; choose && i < nodes->len; i++) {
    const OrrDumpNode *node = nodes->pdata[i];
    if ((!*end && number == i + 1) || g_strcmp0(node->label, choose) == 0) return node;
  }
  return NULL;
}

static gboolean refuse_several(const GPtrArray *nodes, GError **error) {
  g_autoptr(GString) list = g_string_new(NULL);
  for (guint i = 0; i < nodes->len && i < 9; i++) {
    g_autofree char *one = describe(nodes->pdata[i], i + 1);
    g_string_append_printf(list, "%s%s", i ? "; " : "", one);
  }
  const OrrPlace place = ((const OrrDumpNode *)nodes->pdata[1])->place;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "%s:%d:1: error: %u machines that differ are described: --choose takes one of %s",
              place.file, place.line, nodes->len, list->str);
  return FALSE;
}

/* The machine of that format; *@ret_node NULL: none has it. */
static gboolean find_node(Planner *planner, const char *format, const OrrDumpNode **ret_node,
                          GError **error) {
  guint n = 0;
  g_autoptr(GPtrArray) nodes = different(planner->dump, format, &n);
  *ret_node = NULL;
  if (nodes->len == 0) return TRUE;
  *ret_node = nodes->len == 1 ? nodes->pdata[0] : chosen(nodes, planner->answers->choose);
  if (!*ret_node) return refuse_several(nodes, error);
  if (nodes->len == 1 && (*ret_node)->label) planner->plan->nodes = MAX(planner->plan->nodes, n);
  return TRUE;
}

enum { N_FORMATS = 7 };
static const char *const formats[N_FORMATS] = {"NCCL's XML", "nvidia-smi topo -m",  "lspci",
                                               "lstopo",     "rocm-smi --showtopo", "SimAI",
                                               "InfraGraph"};

static gboolean choose_node(Planner *planner, const OrrDumpNode *all[N_FORMATS], GError **error) {
  for (guint i = 0; i < N_FORMATS; i++) {
    if (!find_node(planner, formats[i], &all[i], error)) return FALSE;
    if (!all[i]) continue;
    if (!planner->node) planner->node = all[i];
    if (all[i]->gpus->len == planner->node->gpus->len) continue;
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s shows %u GPUs in a node, %s shows %u: are these dumps of two machines? Give "
                "the dumps of one",
                planner->node->format, planner->node->gpus->len, all[i]->format, all[i]->gpus->len);
    return FALSE;
  }
  planner->plan->is_seen = planner->node != NULL;
  if (planner->node) planner->plan->nodes = MAX(planner->plan->nodes, 1);
  return TRUE;
}

/* --- The device --- */

/* What all dumps show of the GPU: the first that shows something counts. */
static OrrDumpKind evidence(const Planner *planner, const OrrDumpNode *const all[N_FORMATS]) {
  OrrDumpKind kind = {0};
  for (guint i = 0; i < N_FORMATS; i++) {
    if (!all[i]) continue;
    const OrrDumpKind *shown = &orr_dump_gpu(all[i], 0)->kind;
    if (!kind.name) kind.name = shown->name;
    if (!kind.id && shown->id) kind.vendor = shown->vendor, kind.id = shown->id;
    if (!kind.vendor) kind.vendor = shown->vendor;
    if (!kind.sm) kind.sm = shown->sm;
    if (!kind.gcn) kind.gcn = shown->gcn;
    if (kind.pcie_gt_per_s <= 0) kind.pcie_gt_per_s = shown->pcie_gt_per_s;
    if (!kind.nvlinks_known && shown->nvlinks_known)
      kind.nvlinks_known = TRUE, kind.nvlinks = shown->nvlinks;
  }
  if (!kind.name && planner->dump->kinds->len > 0)
    kind.name = g_array_index(planner->dump->kinds, OrrDumpKind, 0).name;
  return kind;
}

static gboolean has_device(OrrLibrary *library, const char *name) {
  g_autofree char *path = orr_library_path(library, "device", name);
  return path != NULL;
}

static gboolean take_answer(const Planner *planner, const OrrDumpKind *kind, GError **error) {
  const char *name = planner->answers->device;
  g_auto(GStrv) known = orr_library_names(planner->library, "device");
  const char *nearest = orr_diag_nearest_word(name, (const char *const *)known);
  g_autofree char *list = g_strjoinv(", ", known);
  if (has_device(planner->library, name) || strchr(name, '/')) {
    planner->plan->device = g_strdup(name);
    planner->plan->device_said = g_strdup("--device");
    for (const OrrKnownGpu *gpu = orr_known_gpus; gpu->label && !kind->gcn; gpu++)
      if (g_strcmp0(gpu->device, name) == 0) planner->plan->all_links = gpu->nvlinks;
    return TRUE;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
              "--device: no device is called '%s'%s%s%s (known: %s)", name,
              nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", list);
  return FALSE;
}

static char *labels(const GPtrArray *found) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < found->len && i < 8; i++)
    g_string_append_printf(text, "%s%s", i ? ", " : "",
                           ((const OrrKnownGpu *)found->pdata[i])->label);
  return g_string_free(text, FALSE);
}

static gboolean refuse_device(const GPtrArray *found, const char *shown, GError **error) {
  g_autofree char *list = labels(found);
  g_autofree char *known = g_strdup_printf(found->len > 1 ? "one of %s" : "%s", list);
  g_autofree char *unknown = g_strdup_printf("not known here (%s)", shown ? shown : "");
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "the GPU is %s, for which the library has no device: write one "
              "(topologies/devices/README.md) and name it with --device, or name the nearest",
              found->len ? known : unknown);
  return FALSE;
}

/* Nothing shows which GPU it is: PCIe Gen5 came with Hopper, Gen4 with Ampere. */
static void assume_device(const Planner *planner, const OrrDumpKind *kind) {
  const gboolean is_older = kind->pcie_gt_per_s > 0 && kind->pcie_gt_per_s < 32;
  planner->plan->device = g_strdup(is_older ? "a100-80gb-sxm" : "h100-sxm");
  planner->plan->device_said = g_strdup("QUESTION: assumed, no dump names the GPU");
  ask(planner, g_strdup_printf("Which GPU? No dump names it%s; assumed %s. --device NAME",
                               kind->pcie_gt_per_s >= 32 ? " (PCIe Gen5)"
                               : kind->pcie_gt_per_s > 0 ? " (PCIe Gen4 or older)"
                                                         : "",
                               planner->plan->device));
}

static void take_device(const Planner *planner, const GPtrArray *found, const OrrKnownGpu *gpu) {
  g_autofree char *list = labels(found);
  planner->plan->device = g_strdup(gpu->device);
  planner->plan->all_links = gpu->nvlinks;
  if (found->len == 1) {
    planner->plan->device_said = g_strdup_printf("%s, as the dump shows", gpu->label);
    return;
  }
  planner->plan->device_said = g_strdup_printf("QUESTION: could be %s", list);
  ask(planner,
      g_strdup_printf("Which GPU? The dump fits %s; assumed %s. --device NAME", list, gpu->device));
}

static gboolean plan_device(const Planner *planner, const OrrDumpNode *const all[N_FORMATS],
                            GError **error) {
  const OrrDumpKind kind = evidence(planner, all);
  g_autofree char *shown = NULL;
  g_autoptr(GPtrArray) found = orr_known_gpu_match(&kind, &shown);
  if (planner->answers->device) return take_answer(planner, &kind, error);
  ORR_EACH_POINTER(const OrrKnownGpu, gpu, found) {
    if (!gpu->device || !has_device(planner->library, gpu->device)) continue;
    take_device(planner, found, gpu);
    return TRUE;
  }
  if (found->len > 0 || shown) return refuse_device(found, shown, error);
  assume_device(planner, &kind);
  return TRUE;
}

/* --- GPUs and NVLink --- */

static guint links_between(const OrrDumpNode *node, guint a, guint b) {
  return node->nvlink ? node->nvlink[(gsize)a * node->gpus->len + b] : 0;
}

static gboolean all_joined(const OrrDumpNode *node, guint first, guint n) {
  for (guint a = first; a < first + n; a++)
    for (guint b = first; b < first + n; b++)
      if (a != b && !links_between(node, a, b)) return FALSE;
  return TRUE;
}

/* Whether all pairs of each @size consecutive GPUs are joined. */
static gboolean in_blocks(const OrrDumpNode *node, guint size) {
  const guint n = node->gpus->len;
  gboolean fits = size > 1 && size <= n && n % size == 0;
  for (guint first = 0; fits && first < n; first += size) fits = all_joined(node, first, size);
  return fits;
}

static guint largest_block(const OrrDumpNode *node) {
  guint size = node->gpus->len;
  while (size > 1 && !in_blocks(node, size)) size--;
  return size;
}

static gboolean any_joined(const OrrDumpNode *node) {
  for (guint a = 0; a < node->gpus->len; a++)
    for (guint b = 0; b < node->gpus->len; b++)
      if (a != b && links_between(node, a, b)) return TRUE;
  return FALSE;
}

static const OrrDumpNode *shows_nvlink(const OrrDumpNode *const all[N_FORMATS]) {
  for (guint i = 0; i < N_FORMATS; i++)
    if (all[i] && orr_dump_gpu(all[i], 0)->kind.nvlinks_known) return all[i];
  return NULL;
}

/* Smallest and largest of some counts. */
typedef struct {
  guint least, most;
} Range;

static void widen(Range *range, guint count) {
  range->least = MIN(range->least, count);
  range->most = MAX(range->most, count);
}

/* NVLinks of GPU @a to the rest of its domain; widens @pairs by the count of each pair. */
static guint links_inside(const OrrDumpNode *node, guint a, guint size, Range *pairs) {
  const guint first = a / size * size;
  guint sum = 0;
  for (guint b = first; b < first + size; b++) {
    if (b == a) continue;
    widen(pairs, links_between(node, a, b));
    sum += links_between(node, a, b);
  }
  return sum;
}

/* Counts the links that GPUs have inside their domains. Over a switch each pair shows all links of
 * a GPU. Without one the links to other GPUs of the domain add up to no more than the GPU has: a
 * mesh, in which a pair has its own links alone. */
static void count_links(const Planner *planner, const OrrDumpNode *node) {
  OrrNodePlan *plan = planner->plan;
  const guint size = (guint)plan->domain;
  Range links = {G_MAXUINT, 0}, pairs = {G_MAXUINT, 0};
  gboolean is_mesh = TRUE;
  for (guint i = 0; i < node->gpus->len; i++) {
    const guint own = orr_dump_gpu(node, i)->kind.nvlinks;
    const guint inside = links_inside(node, i, size, &pairs);
    is_mesh &= inside <= own;
    widen(&links, MIN(inside, own));
  }
  if (links.least != links.most)
    orr_dump_note(planner->dump, "GPUs of one domain have %u to %u NVLinks in it: all are given %u",
                  links.least, links.most, MAX(links.least, 1));
  plan->links = MAX(links.least, 1);
  plan->mesh = is_mesh ? size - 1 : 0;
  if (is_mesh && pairs.least != pairs.most)
    orr_dump_note(planner->dump,
                  "pairs of GPUs of one domain have %u to %u NVLinks: every pair is simulated with "
                  "%.3g, %u divided by %u",
                  pairs.least, pairs.most, (double)plan->links / plan->mesh, plan->links,
                  plan->mesh);
}

static gboolean is_joined(const OrrDumpNode *node, guint gpu) {
  for (guint b = 0; b < node->gpus->len; b++)
    if (b != gpu && links_between(node, gpu, b)) return TRUE;
  return FALSE;
}

/* Refuses a node in which some GPUs have no NVLink and others have: the dump does not show whether
 * it is broken or was bought so. */
static gboolean check_loners(const OrrDumpNode *node, GError **error) {
  g_autoptr(GString) loners = g_string_new(NULL);
  guint n = 0;
  for (guint i = 0; i < node->gpus->len; i++) {
    if (is_joined(node, i)) continue;
    g_string_append_printf(loners, "%s%s", n ? ", " : "", orr_dump_gpu(node, i)->id);
    n++;
  }
  if (n == 0 || n == node->gpus->len) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "%s ha%s no NVLink, the other %u GPUs have: is the node broken? "
              "--scale-up-domain N says how many GPUs a domain has (%u: as if it were whole; 1: "
              "without NVLink)",
              loners->str, n == 1 ? "s" : "ve", node->gpus->len - n, node->gpus->len);
  return FALSE;
}

/* What joins the GPUs of a domain, for a comment. Newly allocated. */
static char *domain_text(const OrrNodePlan *plan, const OrrDumpNode *node) {
  g_autofree char *place = orr_node_plan_place(node->place);
  if (plan->domain > 1)
    return g_strdup_printf("%s: %u NVLinks of each GPU join every pair of %ld%s", place,
                           plan->links, plan->domain, plan->mesh > 1 ? ", without a switch" : "");
  return g_strdup_printf(any_joined(node)
                             ? "%s: NVLink joins some pairs of GPUs, in no blocks of one size"
                             : "%s: no NVLink joins GPUs",
                         place);
}

static gboolean plan_domain(const Planner *planner, const OrrDumpNode *const all[N_FORMATS],
                            GError **error) {
  OrrNodePlan *plan = planner->plan;
  const OrrDumpNode *node = shows_nvlink(all);
  if (!node) {
    plan->domain = plan->gpus;
    plan->domain_said = g_strdup("QUESTION: no dump shows NVLinks");
    plan->is_domain_assumed = TRUE;
    return TRUE;
  }
  if (!check_loners(node, error)) return FALSE;
  plan->domain = largest_block(node);
  if (plan->domain > 1) count_links(planner, node);
  plan->domain_said = domain_text(plan, node);
  if (plan->domain < plan->gpus && any_joined(node))
    orr_dump_note(planner->dump,
                  "NVLink does not join every pair of GPUs: domains of %ld are written, and "
                  "NVLinks between two domains are not simulated",
                  plan->domain);
  return TRUE;
}

static void plan_gpus(const Planner *planner) {
  OrrNodePlan *plan = planner->plan;
  plan->gpus = planner->answers->gpus;
  if (planner->node) {
    g_autofree char *place = orr_node_plan_place(planner->node->place);
    plan->gpus = planner->node->gpus->len;
    plan->gpus_said = g_strdup_printf("%s, %s", place, planner->node->format);
  } else if (plan->gpus) {
    plan->gpus_said = g_strdup("--gpus-per-node");
  }
}

/* --- NICs --- */

/* The number of NICs of the fastest rate; where some share a switch with GPUs, of those NICs alone.
 * */
static guint count_nics(const Planner *planner, const OrrDumpNode *node, double *ret_rate) {
  guint n = 0, beside = 0;
  for (guint i = 0; i < node->nics->len; i++)
    *ret_rate = MAX(*ret_rate, orr_dump_nic(node, i)->bytes_per_s);
  for (guint i = 0; i < node->nics->len; i++) {
    const OrrDumpNic *nic = orr_dump_nic(node, i);
    if (nic->bytes_per_s < *ret_rate) continue;
    n++;
    beside += nic->beside_gpu;
  }
  if (n < node->nics->len)
    orr_dump_note(planner->dump,
                  "%u NICs slower than the fastest are left out (storage, "
                  "management?)",
                  node->nics->len - n);
  if (beside == 0 || beside == n) return n;
  orr_dump_note(planner->dump,
                "%u of %u NICs share no switch with a GPU: left out (storage, management?)",
                n - beside, n);
  return beside;
}

/* The largest number of at most @n NICs that @gpus GPUs can share evenly. */
static gint64 even_nics(gint64 n, gint64 gpus) {
  while (n > 0 && n % gpus != 0 && gpus % n != 0) n--;
  return n;
}

static void assume_nics(const Planner *planner) {
  OrrNodePlan *plan = planner->plan;
  const int seen = planner->dump->n_ib_nics;
  plan->nics = seen > 0 && plan->gpus ? even_nics(seen, plan->gpus) : seen > 0 ? seen : plan->gpus;
  plan->nics_said = g_strdup(seen > 0 ? "ibstat" : "QUESTION: assumed one for each GPU");
  plan->is_nics_assumed = seen == 0;
}

static void plan_nics(const Planner *planner) {
  OrrNodePlan *plan = planner->plan;
  const OrrDumpNode *node = planner->node;
  if (planner->answers->nics) {
    plan->nics = planner->answers->nics;
    plan->nics_said = g_strdup("--nics-per-node");
  } else if (node && node->nics->len > 0) {
    g_autofree char *place = orr_node_plan_place(node->place);
    const guint n = count_nics(planner, node, &plan->nic_bytes_per_s);
    plan->nics = even_nics(n, plan->gpus);
    plan->nics_said = g_strdup_printf("%s: %u NIC%s", place, n, n == 1 ? "" : "s");
    if (plan->nics < n)
      ask(planner, g_strdup_printf("Which of the %u NICs carry traffic between nodes? %ld of them "
                                   "divide evenly over the GPUs. --nics-per-node N",
                                   n, plan->nics));
  } else {
    assume_nics(planner);
  }
}

/* A NIC is bought to fill its slot: Gen5 x16 carries 400 Gb/s, Gen4 200, Gen3 100. */
static double slot_rate(const Planner *planner) {
  double speed = 0;
  for (guint i = 0; planner->node && i < planner->node->nics->len; i++)
    speed = MAX(speed, orr_dump_nic(planner->node, i)->pcie_gt_per_s);
  if (speed <= 0 && planner->node) speed = orr_dump_gpu(planner->node, 0)->kind.pcie_gt_per_s;
  const gboolean is_ampere = g_str_has_prefix(planner->plan->device, "a100");
  if (speed <= 0) return (is_ampere ? 200e9 : 400e9) / 8;
  return (speed >= 64 ? 800e9 : speed >= 32 ? 400e9 : speed >= 16 ? 200e9 : 100e9) / 8;
}

static void plan_rate(const Planner *planner) {
  OrrNodePlan *plan = planner->plan;
  if (planner->answers->link_bytes_per_s > 0) {
    plan->nic_bytes_per_s = planner->answers->link_bytes_per_s;
    plan->rate_said = g_strdup("--link-rate");
  } else if (plan->nic_bytes_per_s > 0) {
    plan->rate_said = g_strdup("the speed that NCCL read");
  } else if (planner->dump->nic_bytes_per_s > 0) {
    plan->nic_bytes_per_s = planner->dump->nic_bytes_per_s;
    plan->rate_said = g_strdup("ibstat");
  }
}

/* --- PCIe --- */

/* The size of the blocks of consecutive GPUs with equal @key; 0: not shown, or uneven. */
static gint64 block_of(const OrrDumpNode *node, gboolean by_numa) {
  const guint n = node->gpus->len;
  guint size = 1;
  for (guint i = 0; i < n; i++)
    if ((by_numa ? orr_dump_gpu(node, i)->numa : orr_dump_gpu(node, i)->pcie) < 0) return 0;
#define KEY(i_) (by_numa ? orr_dump_gpu(node, i_)->numa : orr_dump_gpu(node, i_)->pcie)
  while (size < n && KEY(size) == KEY(0)) size++;
  for (guint i = 0; i < n; i++)
    if (KEY(i) != KEY(i / size * size) || (i >= size && i % size == 0 && KEY(i) == KEY(i - 1)))
      return 0;
#undef KEY
  return n % size == 0 ? size : 0;
}

static void plan_pcie(const Planner *planner) {
  OrrNodePlan *plan = planner->plan;
  if (!planner->node || !planner->node->has_pcie) return;
  plan->gpus_per_switch = block_of(planner->node, FALSE);
  plan->gpus_per_bridge = block_of(planner->node, TRUE);
  if (plan->gpus_per_switch <= 1 || plan->gpus_per_switch == plan->gpus) plan->gpus_per_switch = 0;
  if (plan->gpus_per_bridge == plan->gpus) plan->gpus_per_bridge = 0;
  if (plan->gpus_per_switch > 0 && plan->gpus_per_bridge % plan->gpus_per_switch != 0)
    plan->gpus_per_bridge = 0;
}

/* --- The whole --- */

/* The domain that the user names has the links that the dump shows, where they join all of it. */
static void take_domain(const Planner *planner, const OrrDumpNode *const all[N_FORMATS]) {
  OrrNodePlan *plan = planner->plan;
  const OrrDumpNode *node = shows_nvlink(all);
  plan->domain = planner->answers->domain;
  plan->domain_said = g_strdup("--scale-up-domain");
  if (node && plan->domain <= node->gpus->len && in_blocks(node, (guint)plan->domain))
    count_links(planner, node);
}

gboolean orr_node_plan_init(OrrNodePlan *plan, OrrDump *dump, const OrrTopologyAnswers *answers,
                            OrrLibrary *library, GPtrArray *questions, GError **error) {
  const OrrDumpNode *all[N_FORMATS] = {NULL};
  Planner planner = {plan, dump, answers, library, questions, NULL};
  *plan = (OrrNodePlan){0};
  gboolean is_planned = choose_node(&planner, all, error) && plan_device(&planner, all, error);
  if (is_planned) plan_gpus(&planner);
  if (is_planned && plan->gpus && !answers->domain) is_planned = plan_domain(&planner, all, error);
  if (!is_planned) {
    if (planner.node && error && g_error_matches(*error, ORR_FAULT, ORR_FAULT_DOCUMENT))
      g_prefix_error(error, "%s:%d:1: error: ", planner.node->place.file, planner.node->place.line);
    orr_node_plan_clear(plan);
    return FALSE;
  }
  plan_nics(&planner);
  plan_rate(&planner);
  plan_pcie(&planner);
  if (answers->domain) take_domain(&planner, all);
  if (plan->nic_bytes_per_s <= 0) { /* a fabric may still show it */
    plan->nic_bytes_per_s = slot_rate(&planner);
    plan->rate_said = g_strdup("QUESTION: assumed, the rate of its PCIe slot");
    plan->is_rate_assumed = TRUE;
  }
  return TRUE;
}

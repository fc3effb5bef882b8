/*
 * launch_assume.c - what an input leaves open is assumed aloud: a line of the scenario with its
 * reason, and a remark above the answer. Under --strict it is asked instead.
 *
 * GPUs of a training job, where nothing names them: the fewest that
 *
 *   1. the layout divides: a multiple of TP x PP x CP, and of PP x EP;
 *   2. hold the training state in 60 % of their memory, 18 bytes a parameter (Rajbhandari et al.
 *      2020, ZeRO, section 3.1: 16 with Adam in mixed precision; 18 with gradients in fp32) over
 *      all of them, or over one copy's GPUs where replicas hold whole weights (HSDP, DDP), in a
 *      number of whole nodes that is a power of two;
 *   3. share the global batch evenly, where the input says it: fewer replicas if need be.
 *
 * GPUs of a benchmark whose server the input does not have: the fewest of one node, a power of two,
 * that hold the weights in the same 60 %; tensor parallelism over all of them.
 */
#include "sim/base/quantity.h"
#include "sim/import/launch/launch_serving.h"

static const double state_bytes = 18, usable = 0.6;

gboolean orr_launch_draft_assume(OrrLaunchDraft *draft, const char *path, const char *value,
                                 const char *why, const char *question) {
  if (orr_launch_draft_get(draft, path)) return TRUE;
  if (draft->options->strict) {
    orr_launch_draft_ask(draft, "%s", question);
    return FALSE;
  }
  g_autofree char *remark = g_strdup_printf("assumed: %s", why);
  orr_launch_draft_set(draft, path, value, NULL, remark);
  orr_launch_draft_remark(draft, "assumed: %s %s, %s", path, value, why);
  return TRUE;
}

gboolean orr_launch_draft_assume_count(OrrLaunchDraft *draft, const char *path, gint64 value,
                                       const char *why, const char *question) {
  g_autofree char *text = g_strdup_printf("%ld", value);
  return orr_launch_draft_assume(draft, path, text, why, question);
}

/* --- GPUs --- */

static double number_of(const char *text, OrrUnit unit) {
  double number = 0;
  return text && orr_quantity_parse(text, unit, &number, NULL) ? number : 0;
}

/* A document of the library; NULL: it has none of that name. */
static const OrrNode *document(OrrLaunchDraft *draft, const char *kind, const char *name) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  return name ? orr_library_borrow(draft->library, kind, name, (OrrPlace){0}, ignored) : NULL;
}

static double parameters_of(OrrLaunchDraft *draft) {
  const char *name = draft->options->model;
  if (!name) name = orr_launch_draft_get(draft, "model");
  if (!name) name = orr_launch_draft_get(draft, "model.base");
  const OrrNode *model = document(draft, "model", name);
  return model ? number_of(orr_node_get_text(model, "parameters"), ORR_UNIT_NONE) : 0;
}

/* The GPUs that hold @bytes for each parameter. */
static double gpus_for(OrrLaunchDraft *draft, const OrrNode *cluster, double bytes) {
  const OrrNode *device = document(draft, "device", orr_node_get_text(cluster, "device"));
  const double memory = device ? number_of(orr_node_get_text(device, "memory"), ORR_UNIT_BYTES) : 0;
  return memory > 0 ? parameters_of(draft) * bytes / (usable * memory) : 0;
}

/* Bytes of training's state for each parameter. An adapter's base is held once, in 2 bytes. */
static double state_of(OrrLaunchDraft *draft) {
  return orr_launch_draft_get(draft, "workload.lora.rank") ? 2 : state_bytes;
}

static gint64 common_multiple(gint64 a, gint64 b) {
  gint64 x = a, y = b;
  while (y) {
    const gint64 rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

static gint64 copies_of(const OrrLaunchDraft *draft) { return CLAMP(draft->copies, 1, 1 << 20); }

/* At most @wanted replicas that share the global batch evenly, the same number in each copy. */
static gint64 replicas_of(OrrLaunchDraft *draft, gint64 wanted) {
  const char *global = orr_launch_draft_get(draft, "workload.batch.global");
  const gint64 micro = orr_launch_draft_degree(draft, "workload.batch.micro");
  const gint64 batch = global ? g_ascii_strtoll(global, NULL, 10) : 0;
  for (gint64 n = MIN(wanted, batch); batch > 0 && n > 0; n--)
    if (batch % (n * micro) == 0 && n % copies_of(draft) == 0) return n;
  return MAX(wanted, 1);
}

/* The launcher gives the GPUs of each node, and no number of nodes. */
static void assume_nodes(OrrLaunchDraft *draft, gint64 unit) {
  const gint64 n = (unit + draft->gpus_per_node - 1) / draft->gpus_per_node;
  g_autofree char *why =
      g_strdup_printf("assumed: %ld node%s, the fewest that hold the layout", n, n == 1 ? "" : "s");
  orr_launch_draft_remark(draft, "%s; --nodes N says otherwise", why);
  orr_launch_draft_set_nodes(draft, n, why);
}

/* Whole nodes that hold the layout and the state. */
static gint64 fewest_gpus(OrrLaunchDraft *draft, const OrrNode *cluster, gint64 unit,
                          gint64 per_node) {
  const gint64 each = unit * copies_of(draft);
  const double least =
      MAX((double)each, (double)copies_of(draft) * gpus_for(draft, cluster, state_of(draft)));
  gint64 nodes = 1;
  while ((double)(nodes * per_node) < least && nodes < 1 << 20) nodes *= 2;
  return MAX(1, nodes * per_node / each) * each;
}

/* FALSE: a node of @per_node GPUs does not hold the model. */
static gboolean assume_engine(OrrLaunchDraft *draft, const OrrNode *cluster, gint64 per_node) {
  const double bytes = *orr_launch_serving_format(draft) ? 1 : 2;
  const double least = gpus_for(draft, cluster, bytes);
  gint64 gpus = 1;
  while ((double)gpus < least) gpus *= 2;
  if (gpus > per_node) return FALSE;
  g_autofree char *why =
      g_strdup_printf("assumed: %ld GPU%s: the fewest that hold %.0f byte%s per parameter in 60 %% "
                      "of their memory, since the input does not have the server's line",
                      gpus, gpus == 1 ? "" : "s", bytes, bytes == 1 ? "" : "s");
  orr_launch_draft_remark(draft, "%s; --gpus N says otherwise", why);
  orr_launch_draft_set_nodes(draft, 1, why);
  orr_launch_draft_set_gpus_per_node(draft, gpus, NULL);
  if (gpus > 1) orr_launch_draft_set_number(draft, "workload.parallel.tp", gpus, NULL, "assumed");
  return TRUE;
}

gboolean orr_launch_draft_assume_gpus(OrrLaunchDraft *draft, gint64 split) {
  const OrrNode *cluster = document(draft, "cluster", draft->options->cluster);
  const char *text = cluster ? orr_node_get_text(orr_node_get(cluster, "node"), "gpus") : NULL;
  const gint64 per_node = (gint64)number_of(text, ORR_UNIT_NONE), model = MAX(split, 1);
  const gint64 unit =
      common_multiple(model, orr_launch_draft_degree(draft, "workload.parallel.pp") *
                                 orr_launch_draft_degree(draft, "workload.parallel.ep"));
  if (per_node < 1 || unit > 1 << 22 || draft->options->strict) return FALSE;
  if (g_strcmp0(orr_launch_draft_get(draft, "workload.kind"), "serving") == 0)
    return assume_engine(draft, cluster, per_node);
  if (draft->gpus_per_node > 0) {
    assume_nodes(draft, unit);
    return TRUE;
  }
  const gint64 most = fewest_gpus(draft, cluster, unit, per_node);
  const gint64 gpus = replicas_of(draft, most / model) * model;
  g_autofree char *copies =
      copies_of(draft) > 1 ? g_strdup_printf("%ld copies of ", copies_of(draft)) : g_strdup("");
  g_autofree char *why =
      g_strdup_printf("assumed: %ld GPUs: the fewest whole nodes that hold the layout (%ld a "
                      "replica) and %s%.0f bytes per parameter in 60 %% of their memory",
                      gpus, model, copies, state_of(draft));
  orr_launch_draft_remark(draft, "%s; --gpus N or --nodes N says otherwise", why);
  orr_launch_draft_set_nodes(draft, 1, why);
  orr_launch_draft_set_gpus_per_node(draft, gpus, NULL);
  return TRUE;
}

/*
 * training_overlap - which of a layer's products and tensor-parallel collectives are cut into
 * pieces together.
 *
 *   all-gather, [cast], product    of one pass: the gathered rows are multiplied       -> [cast], gather in pieces
 *   product, reduce-scatter        of the forward; of inputs' gradients where the      -> scatter in pieces
 *                                  kind takes those (parallel.tp-comm-overlap)
 *
 * A gather that serves a product by weight sums over the gathered rows and stays whole.
 */
#include "workloads/training/training_private.h"

static const OrrTpOverlapKind *kind_of(const OrrTraining *params) {
  return (const OrrTpOverlapKind *)params->parallel.tp_comm_overlap.entry;
}

static gboolean is_comm(const OrrOperator *op, OrrOperatorComm comm) {
  return op->kind == ORR_OPERATOR_COMM && op->comm.group == ORR_GROUP_TP && op->comm.op == comm;
}

/* The product that waits for the gather at @i, what prepares it in between; 0: none. */
static guint gathered_product(const GArray *operators, guint i) {
  const OrrOperator *comm = &g_array_index(operators, OrrOperator, i);
  if (!is_comm(comm, ORR_COMM_ALL_GATHER) || comm->pass == ORR_PASS_WGRAD) return 0;
  for (guint k = i + 1; k < operators->len; k++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, k);
    if (op->pass != comm->pass) return 0;
    if (op->kind == ORR_OPERATOR_GEMM) return k;
    if (!g_str_equal(op->name, "cast") && !g_str_equal(op->name, "dequantise")) return 0;
  }
  return 0;
}

static gboolean is_scattered_product(const OrrTpOverlapKind *kind, const GArray *operators,
                                     guint i) {
  const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
  if (op->kind != ORR_OPERATOR_GEMM || i + 1 == operators->len) return FALSE;
  const OrrOperator *comm = &g_array_index(operators, OrrOperator, i + 1);
  if (!is_comm(comm, ORR_COMM_REDUCE_SCATTER) || comm->pass != op->pass) return FALSE;
  return op->pass == ORR_PASS_FORWARD || (op->pass == ORR_PASS_DGRAD && kind->scatters_gradients);
}

/* Pieces beyond the first, from @first on. */
static void mark_launched(const OrrTpOverlapKind *kind, GArray *out, guint first) {
  for (guint i = first + 1; kind->one_dispatch && i < out->len; i++)
    g_array_index(out, OrrOperator, i).launched = TRUE;
}

/* Puts the operators from @i on that belong together, in pieces where they are taken; returns
 * how many they were. */
static guint put_next(const OrrJob *job, const GArray *operators, guint i, GArray *out) {
  const OrrTpOverlapKind *kind = kind_of(job->params);
  const void *params = job->params->parallel.tp_comm_overlap.params;
  const OrrOperator *at = &g_array_index(operators, OrrOperator, i);
  const guint product = kind->gather ? gathered_product(operators, i) : 0;
  OrrTpOverlapCall call = {.ranks = job->tp};
  if (product > 0) {
    const guint before = out->len;
    g_array_append_vals(out, at + 1, product - i - 1);
    call.product = g_array_index(operators, OrrOperator, product);
    call.comm = *at;
    if (kind->gather(params, &call, out)) {
      mark_launched(kind, out, before + product - i - 1);
      return product - i + 1;
    }
    g_array_set_size(out, before);
  }
  if (kind->scatter && is_scattered_product(kind, operators, i)) {
    call.product = *at;
    call.comm = *(at + 1);
    const guint before = out->len;
    if (kind->scatter(params, &call, out)) {
      mark_launched(kind, out, before);
      return 2;
    }
  }
  g_array_append_vals(out, at, 1);
  return 1;
}

void orr_training_overlap(const OrrJob *job, GArray *operators) {
  const OrrTpOverlapKind *kind = kind_of(job->params);
  if (job->tp == 1 || (!kind->gather && !kind->scatter)) return;
  g_autoptr(GArray) out = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  for (guint i = 0; i < operators->len;) i += put_next(job, operators, i, out);
  g_array_set_size(operators, 0);
  if (out->len > 0) g_array_append_vals(operators, out->data, out->len);
}

/* All ranks of each tensor-parallel group reach each other over NVLink? */
static gboolean leaves_domain(const OrrTraining *params, const OrrCluster *cluster) {
  const OrrParallel *p = &params->parallel;
  const gint64 sizes[ORR_N_AXES] = {[ORR_AXIS_TP] = p->tp,
                                    [ORR_AXIS_CP] = p->cp,
                                    [ORR_AXIS_DP] =
                                        orr_training_replicas(params, orr_cluster_n_gpus(cluster)),
                                    [ORR_AXIS_PP] = p->pp};
  g_autofree gint64 *gpus = g_new(gint64, p->tp);
  OrrPlacement placement;
  if (!orr_placement_init(&placement, p->order, sizes, NULL)) return FALSE; /* said elsewhere */
  const gint64 first[ORR_N_AXES] = {0};
  orr_placement_group(&placement, ORR_AXIS_TP, first, gpus);
  for (gint64 i = 1; i < p->tp; i++)
    if (gpus[i] / cluster->node.scale_up_domain != gpus[0] / cluster->node.scale_up_domain)
      return TRUE;
  return FALSE;
}

char *orr_training_refuse_overlap(const OrrTraining *params, const OrrCluster *cluster) {
  const OrrTpOverlapKind *kind = kind_of(params);
  const OrrParallel *p = &params->parallel;
  if (!kind || (!kind->gather && !kind->scatter) || p->tp == 1) return NULL;
  if (!p->sequence_parallel)
    return g_strdup_printf(
        "parallel.tp-comm-overlap %s (tp is %" G_GINT64_FORMAT
        ") wants sequence-parallel: true: it cuts gathers and scatters, not all-reduces",
        kind->entry.name, p->tp);
  if (p->tp > 1 && leaves_domain(params, cluster))
    return g_strdup_printf(
        "parallel.tp-comm-overlap %s writes to peers over NVLink: tp (%" G_GINT64_FORMAT
        ", order %s) must stay inside a scale-up domain of %" G_GINT64_FORMAT " GPUs",
        kind->entry.name, p->tp, p->order, cluster->node.scale_up_domain);
  return NULL;
}

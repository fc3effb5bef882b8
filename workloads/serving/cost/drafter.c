/*
 * drafter.c - computes the time of drafting, and draws the accepted tokens of drafts.
 */
#include "workloads/serving/cost/drafter.h"

#include "sim/base/csv.h"
#include "sim/base/random.h"
#include "workloads/serving/arrivals/arrival.h"

struct OrrDrafter {
  OrrSpeculation speculation;
  OrrDraft draft;
  OrrWorld world; /* the target's world, with the drafting model */
  OrrServingCostParams params;
  OrrServingCost *cost; /* NULL: drafting does not use the GPUs */
  GArray *trace;        /* of gint32; NULL: by acceptance */
};

/* --- life --- */

static GArray *read_trace(const OrrSpeculation *speculation, char *const *folders, GError **error) {
  const gint64 most = orr_speculation_depth(speculation);
  g_autofree char *path =
      orr_arrival_find(speculation->trace, folders, "workload.engine.speculation", error);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrCsv) csv = path ? orr_csv_read(path, diags, error) : NULL;
  if (!csv) return NULL;
  g_autoptr(GArray) trace = g_array_new(FALSE, FALSE, sizeof(gint32));
  const int column = orr_csv_column(csv, "accepted");
  if (column < 0)
    orr_diags_error(diags, ((OrrCsvLine *)csv->lines->pdata[csv->header_line])->place,
                    "there is no column accepted");
  for (guint i = 0; column >= 0 && i < csv->lines->len; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    double accepted;
    if (!line->cells || !orr_csv_number(csv, line, column, diags, &accepted)) continue;
    if (accepted < 0 || accepted > (double)most || accepted != floor(accepted))
      orr_diags_error(diags, line->place, "accepted is %g: want a whole number from 0 to %s (%d)",
                      accepted, speculation->depth > 0 ? "depth" : "num-speculative-tokens",
                      (int)most);
    ORR_APPEND(trace, gint32, (gint32)accepted);
  }
  if (!orr_diags_check(diags, error)) return NULL;
  if (trace->len > 0) return g_steal_pointer(&trace);
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s: the trace has no rows", path);
}

OrrDrafter *orr_drafter_new(const OrrChoice *choice, const OrrServingCostParams *target,
                            GError **error) {
  const OrrSpeculation speculation = orr_speculation_of(choice);
  if (speculation.tokens == 0) return NULL;
  g_autoptr(OrrDrafter) drafter = g_new0(OrrDrafter, 1);
  drafter->speculation = speculation;
  ((const OrrSpeculator *)choice->entry)
      ->draft(choice->params, target->world->model, &drafter->draft);
  drafter->world = *target->world;
  drafter->world.model = &drafter->draft.model;
  drafter->params = *target;
  drafter->params.world = &drafter->world;
  drafter->params.pp = 1; /* drafting runs on the last stage */
  drafter->params.lora = (OrrLora){0};
  drafter->params.shard.plain_first = drafter->params.shard.plain_last = 0; /* the target's ends */
  if (speculation.trace &&
      !(drafter->trace = read_trace(&speculation, target->world->folders, error)))
    return NULL;
  if (drafter->draft.model.layers > 0 &&
      !(drafter->cost = orr_serving_cost_new(&drafter->params, error)))
    return NULL;
  return g_steal_pointer(&drafter);
}

void orr_drafter_free(OrrDrafter *drafter) {
  if (!drafter) return;
  orr_serving_cost_free(drafter->cost);
  if (drafter->trace) g_array_unref(drafter->trace);
  g_free(drafter);
}

/* --- accepted tokens --- */

enum { OF_FOUND = 1, OF_ACCEPTED, OF_TRACE };

static guint64 draw(const OrrDrafter *drafter, const OrrRequest *request, guint64 of, gint64 i) {
  const guint64 place =
      orr_random_hash3((guint64)drafter->world.seed, request->id + ((guint64)request->sample << 32),
                       (guint64)request->generated);
  return orr_random_hash3(place, of, (guint64)i);
}

static double unit(guint64 random) { return (double)(random >> 11) * 0x1p-53; }

gint64 orr_drafter_drafts(const OrrDrafter *drafter, const OrrRequest *request) {
  return unit(draw(drafter, request, OF_FOUND, 0)) < drafter->draft.found
             ? drafter->speculation.tokens
             : 0;
}

gint64 orr_drafter_accepted(const OrrDrafter *drafter, const OrrRequest *request, gint64 drafted) {
  if (drafted == 0) return 0;
  if (drafter->trace) {
    const guint at = (guint)(draw(drafter, request, OF_TRACE, 0) % drafter->trace->len);
    return MIN(drafted, (gint64)g_array_index(drafter->trace, gint32, at));
  }
  const gint64 most = MIN(drafted, orr_speculation_depth(&drafter->speculation));
  gint64 n = 0;
  while (n < most && unit(draw(drafter, request, OF_ACCEPTED, n)) <
                         orr_speculation_acceptance(&drafter->speculation, n))
    n++;
  return n;
}

/* --- the cost of drafting --- */

static void add_time(OrrStepTime *sum, OrrStepTime time) {
  sum->gpu_s += time.gpu_s;
  sum->stage_s += time.stage_s;
  sum->comm_s += time.comm_s;
  sum->attention_s += time.attention_s;
  orr_joules_add(&sum->joules, time.joules, 1);
}

/* The group splits the projection's output, as in any column-parallel product. */
static double projection_s(const OrrDrafter *drafter, gint64 tokens) {
  const gint64 hidden = drafter->draft.model.hidden;
  if (drafter->draft.joined == 0) return 0;
  const OrrOperator op = orr_operator_gemm(
      "draft-projection", ORR_PASS_FORWARD, drafter->params.shard.activations,
      (OrrGemmShape){1, tokens, hidden / drafter->params.shard.tp, hidden * drafter->draft.joined});
  return orr_cost_sustained(drafter->world.cost, &op).time_s;
}

static void add_pass(OrrDrafter *drafter, const OrrStepShape *shape, OrrStepTime *sum) {
  OrrStepTime time = orr_serving_cost_step(drafter->cost, shape);
  const double more_s = projection_s(drafter, orr_serving_cost_padded(drafter->cost, shape));
  time.gpu_s += more_s;
  time.stage_s += more_s;
  add_time(sum, time);
}

/* The shape of a drafting step: all sequences of @shape with a token for each branch, @further
 * tokens later. */
static OrrStepShape next_shape(const OrrStepShape *shape, gint64 further, gint64 branches) {
  const double n = shape->sequences;
  double keys = shape->key_sum;
  if (shape->chunk > 0)
    keys += shape->n_chunks * shape->chunk_key_sum / shape->chunk + shape->chunk / 2;
  const double mean = keys / n + (double)further;
  return (OrrStepShape){.tokens = n * (double)branches,
                        .decodes = shape->sequences,
                        .key_sum = n * mean,
                        .keys_least = mean,
                        .keys_most = mean,
                        .sequences = shape->sequences,
                        .logits = shape->sequences * (guint)branches};
}

OrrStepTime orr_drafter_step(OrrDrafter *drafter, const OrrStepShape *shape) {
  OrrStepTime sum = {0};
  if (!drafter || !drafter->cost || shape->sequences == 0) return sum;
  OrrStepShape first = *shape;
  first.logits = shape->sequences;
  add_pass(drafter, &first, &sum);
  for (gint64 i = 1; i < orr_speculation_depth(&drafter->speculation); i++) {
    const OrrStepShape next = next_shape(shape, i, drafter->speculation.branches);
    add_pass(drafter, &next, &sum);
  }
  return sum;
}

double orr_drafter_host_s(const OrrDrafter *drafter, guint sequences) {
  return drafter ? drafter->draft.host_sequence_s * sequences : 0;
}

const double *orr_drafter_trust(const OrrDrafter *drafter) {
  return drafter && drafter->cost ? orr_serving_cost_trust(drafter->cost) : NULL;
}

void orr_drafter_memory(const OrrDraft *draft, const OrrInferenceShard *shard, double *ret_weights,
                        double *ret_kv) {
  const OrrModel *model = &draft->model;
  OrrInferenceShard own = *shard;
  own.plain_first = own.plain_last = 0; /* the target's ends */
  *ret_weights = *ret_kv = 0;
  if (model->layers == 0) return;
  const double projection =
      (double)(draft->joined * model->hidden * model->hidden) / (double)shard->tp;
  *ret_weights = orr_inference_weight_bytes(model, &own, 0, model->layers, draft->has_embedding,
                                            draft->has_head) +
                 projection * orr_dtype_bytes(shard->activations);
  *ret_kv = orr_inference_kv_bytes(model, shard, 0, model->layers);
}

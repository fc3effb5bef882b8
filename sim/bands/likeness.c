/*
 * likeness.c - fills the likeness of an answer: first what every kind of workload has, then what
 * its own parameters and results say.
 *
 *   release   the year and month of the stack's document, as a fraction of years
 *   fractions of the time: training from the kinds of time of a mean GPU; serving from the parts of
 *             a step's GPU time, less the time that replicas wait for the host; collectives: all
 *             communication
 *   fractions of the cost by how it is known: training by the seconds of each operator; serving by
 *             the seconds of steps; collectives by sizes
 */
#include "sim/bands/residuals.h"

#include "sim/bands/band_private.h"
#include "sim/run/scenario_stack.h"
#include "sim/run/answer/campaign_rows.h"
#include "workloads/collectives/collective_bench.h"
#include "workloads/diffusion/diffusion.h"
#include "workloads/post_training/post_training.h"
#include "workloads/serving/serving.h"
#include "workloads/stack.h"
#include "workloads/steps/diffusion_training.h"
#include "workloads/steps/recommendation.h"
#include "workloads/training/training.h"

static char *interned(const char *text) { return (char *)g_intern_string(text ? text : ""); }

static OrrLikenessRow empty_row(void) {
  OrrLikenessRow row;
  memset(&row, 0, sizeof row);
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    const OrrField *field = &orr_likeness_table.fields[i];
    char *member = (char *)&row + field->offset;
    if (field->kind == ORR_FIELD_TEXT)
      *(char **)(void *)member = interned("");
    else
      *(double *)(void *)member = NAN;
  }
  return row;
}

/* --- What every kind of workload has --- */

/* "2025-10" -> 2025.75; NAN for anything else. */
static double year_of(const char *released) {
  char *end = NULL;
  if (!released) return NAN;
  const guint64 year = g_ascii_strtoull(released, &end, 10);
  if (*end != '-') return NAN;
  return (double)year + ((double)g_ascii_strtoull(end + 1, NULL, 10) - 1) / 12;
}

static void fill_stack(OrrLibrary *library, const OrrScenario *scenario, OrrLikenessRow *row) {
  const char *name = orr_scenario_stack_name(&scenario->workload);
  row->stack = interned(ORR_STACK_NONE);
  if (strcmp(name, ORR_STACK_NONE) == 0) return;
  g_autofree char *document = orr_stack_resolve(library, name);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrNode *tree =
      document ? orr_library_borrow(library, "stack", document, (OrrPlace){0}, diags) : NULL;
  const OrrNode *family = tree ? orr_node_get(tree, "family") : NULL;
  const OrrNode *released = tree ? orr_node_get(tree, "released") : NULL;
  if (family) row->stack = interned(family->text);
  if (released) row->release = year_of(released->text);
  g_autofree char *fitted = orr_scenario_stack_fitted(library, scenario);
  row->fitted = interned(fitted);
}

static gboolean has_mixer(const OrrModel *model, OrrMixer mixer) {
  for (guint i = 0; i < orr_model_n_layer_kinds(model); i++)
    if (orr_model_kind(model, i).mixer == mixer) return TRUE;
  return FALSE;
}

static const char *family_of(const OrrModel *model) {
  if (has_mixer(model, ORR_MIXER_MAMBA) || has_mixer(model, ORR_MIXER_LINEAR)) return "state";
  if (model->mla.kv_rank > 0) return "latent";
  return model->moe.experts > 0 ? "experts" : "dense";
}

/* Whether what decides its kernels' times is not the library's @device of this name: a board that
 * nobody measured. Limits of power and clocks are settings of a measured one. @library may be NULL.
 */
static gboolean is_changed(OrrLibrary *library, const OrrDevice *device) {
  const OrrUnit flops = ORR_UNIT_FLOP_PER_S, bytes = ORR_UNIT_BYTES_PER_S;
  const struct {
    const char *key;
    OrrUnit unit;
    double number;
  } rates[] = {{"sms", ORR_UNIT_NONE, (double)device->sms},
               {"memory-bandwidth", bytes, device->memory_bytes_per_s},
               {"fp16", flops, device->fp16_flops},
               {"bf16", flops, device->bf16_flops},
               {"fp8", flops, device->fp8_flops},
               {"fp4", flops, device->fp4_flops},
               {"scale-up-bandwidth", bytes, device->scale_up_bytes_per_s}};
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const OrrNode *tree =
      library && device->name
          ? orr_library_borrow(library, "device", device->name, (OrrPlace){0}, ignored)
          : NULL;
  for (guint i = 0; tree && i < G_N_ELEMENTS(rates); i++) {
    double number;
    const char *text = orr_node_get_text(tree, rates[i].key);
    if (text && orr_quantity_parse(text, rates[i].unit, &number, NULL) &&
        fabs(number - rates[i].number) > 1e-3 * number)
      return TRUE;
  }
  return FALSE;
}

static void fill_machine(OrrLibrary *library, const OrrScenario *scenario, OrrLikenessRow *row) {
  const OrrCluster *cluster = &scenario->cluster;
  g_autofree char *changed = is_changed(library, &cluster->device)
                                 ? g_strconcat(cluster->device.name, " as changed", NULL)
                                 : NULL;
  row->device = interned(changed ? changed : cluster->device.name);
  row->architecture = interned(cluster->device.architecture);
  row->scale_up = (double)cluster->node.scale_up_domain;
}

static void fill_model(const OrrModel *model, OrrLikenessRow *row) {
  row->model = interned(model->name);
  row->family = interned(family_of(model));
  row->parameters = orr_model_parameters(model);
}

static double nodes_of(const OrrCluster *cluster, gint64 gpus) {
  return ceil((double)gpus / (double)cluster->node.gpus);
}

/* "8 h100-sxm in domains of 8; 400 Gb/s rail-optimized measured": what the machine is, whatever it
 * is called: its node, then the rate of a GPU's NICs, fabric and transport, unless the run sends
 * nothing over them. Without commas, which part the cells of residuals. */
static char *machine_text(const OrrCluster *cluster, gboolean has_network) {
  const OrrNodeShape *node = &cluster->node;
  GString *text = g_string_new(NULL);
  g_string_printf(text, "%ld %s in domains of %ld", node->gpus, cluster->device.name,
                  node->scale_up_domain);
  if (has_network)
    g_string_append_printf(text, "; %.0f Gb/s %s %s",
                           8e-9 * node->nics_per_gpu * node->nic_bytes_per_s,
                           cluster->fabric.entry->name, cluster->transport.entry->name);
  return g_string_free(text, FALSE);
}

/* After gpus and nodes. */
static void fill_network(const OrrCluster *cluster, OrrLikenessRow *row) {
  const double domain = (double)cluster->node.scale_up_domain, node = (double)cluster->node.gpus;
  const gboolean is_inside = !(row->gpus > 1) || row->nodes * node <= fmax(domain, node);
  const char *text = "";
  if (!is_inside)
    text = strcmp(cluster->fabric.entry->name, "torus") == 0 ? "torus"
                                                             : cluster->transport.entry->name;
  else if (row->gpus > 1)
    text = domain > 1 ? "scale-up" : "pcie";
  g_autofree char *machine = machine_text(cluster, !is_inside);
  row->transport = interned(text);
  row->cluster = interned(machine);
}

/* --- How costs are known --- */

static void add_how(OrrLikenessRow *row, int how, double seconds) {
  double *const members[] = {&row->measured, &row->interpolated, &row->carried, &row->modelled,
                             &row->outside};
  *members[how] += seconds;
}

static void begin_hows(OrrLikenessRow *row) {
  row->measured = row->interpolated = row->carried = row->modelled = row->outside = 0;
}

static void end_hows(OrrLikenessRow *row) {
  const double sum =
      row->measured + row->interpolated + row->carried + row->modelled + row->outside;
  double *const members[] = {&row->measured, &row->interpolated, &row->carried, &row->modelled,
                             &row->outside};
  for (guint i = 0; i < G_N_ELEMENTS(members); i++) *members[i] = sum > 0 ? *members[i] / sum : NAN;
}

/* The OrrHow that @text says, which may name the device that rows were carried over from. */
static int how_of(const OrrOutcome *outcome, const char *text) {
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++)
    if (g_strcmp0(text, orr_cost_how_text(outcome->carried_from, (OrrHow)how)) == 0) return how;
  return ORR_HOW_CARRIED;
}

/* --- By kind of workload --- */

static void fill_training_times(const OrrOutcome *outcome, OrrLikenessRow *row) {
  const double *seconds = outcome->time_by_kind;
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += seconds[kind];
  if (!(sum > 0)) return;
  row->gemm = seconds[ORR_TIME_GEMM] / sum;
  row->attention = seconds[ORR_TIME_ATTENTION] / sum;
  row->memory = (seconds[ORR_TIME_MEMORY] + seconds[ORR_TIME_OPTIMIZER]) / sum;
  row->comm = (seconds[ORR_TIME_TP_COMM] + seconds[ORR_TIME_CP_COMM] + seconds[ORR_TIME_EP_COMM] +
               seconds[ORR_TIME_PP_COMM] + seconds[ORR_TIME_DP_COMM]) /
              sum;
  row->host =
      (seconds[ORR_TIME_HOST] + seconds[ORR_TIME_STORAGE] + seconds[ORR_TIME_OFFLOAD]) / sum;
  row->bubble = seconds[ORR_TIME_BUBBLE] / sum;
}

/* The scenario's facts about training. */
static void fill_training_asked(const OrrScenario *scenario, OrrLikenessRow *row) {
  const OrrTraining *params = scenario->workload.params;
  row->format = interned(orr_precision_words[params->precision]);
  row->form = interned("step");
  row->method = interned(params->pipeline.entry->name);
  row->recompute = interned(orr_recompute_words[params->recompute]);
  row->sharding = interned(params->optimizer.sharding.entry->name);
  row->ep = (double)MAX(params->parallel.ep, 1);
  row->batch = (double)params->batch.global_size;
  row->micro = (double)params->batch.micro;
  row->input = (double)(params->sequence > 0 ? params->sequence : scenario->model.context);
}

/* A campaign has no time by kind: its steps ran in other processes. */
static void fill_campaign(const OrrScenario *scenario, const OrrOutcome *outcome,
                          OrrLikenessRow *row) {
  const OrrTraining *params = scenario->workload.params;
  const gint64 gpus = outcome->result.campaign.n_gpus;
  fill_training_asked(scenario, row);
  row->gpus = (double)gpus;
  row->nodes = nodes_of(&scenario->cluster, gpus);
  row->tp = (double)MAX(params->parallel.tp, 1);
  row->pp = (double)MAX(params->parallel.pp, 1);
  row->cp = (double)MAX(params->parallel.cp, 1);
  row->dp = row->gpus / (row->tp * row->pp * row->cp);
}

static void fill_training(const OrrScenario *scenario, const OrrOutcome *outcome,
                          OrrLikenessRow *row) {
  const OrrTrainingResult *result = &outcome->result.training;
  fill_training_asked(scenario, row);
  row->gpus = (double)result->n_gpus;
  row->nodes = nodes_of(&scenario->cluster, result->n_gpus);
  row->tp = (double)result->tp;
  row->pp = (double)result->pp;
  row->dp = (double)result->dp;
  row->cp = (double)result->cp;
  fill_training_times(outcome, row);
  begin_hows(row);
  ORR_EACH(const OrrOperatorRow, op, outcome->operators)
    add_how(row, how_of(outcome, op->how), op->seconds_total);
  end_hows(row);
}

/* The requests in flight or per second that the load keeps up; NAN for traces as recorded. */
static double load_of(const OrrChoice *load) {
  for (gsize i = 0; load->entry->params && i < load->entry->params->n_fields; i++) {
    const OrrField *field = &load->entry->params->fields[i];
    const char *member = (const char *)load->params + field->offset;
    if (strcmp(field->name, "concurrency") == 0)
      return (double)*(const gint64 *)(const void *)member;
    const double *rate = (const double *)(const void *)member;
    if (strcmp(field->name, "rate") == 0) return *rate > 0 ? *rate : NAN;
  }
  return NAN;
}

static double host_fraction(const OrrOutcome *outcome) {
  double host = 0, busy = 0;
  ORR_EACH(const OrrServingReplicaRow, replica, outcome->serving_replicas) {
    host += replica->host_fraction;
    busy += replica->gpu_busy;
  }
  return host + busy > 0 ? host / (host + busy) : NAN;
}

static void fill_serving_times(const OrrOutcome *outcome, OrrLikenessRow *row) {
  row->host = host_fraction(outcome);
  const double on_gpu = 1 - (isnan(row->host) ? 0 : row->host);
  row->attention = on_gpu * outcome->attention_fraction;
  row->experts = on_gpu * outcome->experts_fraction;
  row->comm = on_gpu * outcome->result.serving.comm_fraction;
  row->gemm = fmax(0, on_gpu - row->attention - row->experts - row->comm);
}

/* Replicas that prefill and decode send each other nothing: a fleet is off as each of them is. */
static gint64 engine_gpus(const OrrServing *params, const OrrServingResult *result) {
  return params->disaggregation.prefill > 0 ? result->n_gpus
                                            : result->n_gpus / MAX(result->replicas, 1);
}

static void fill_serving(const OrrScenario *scenario, const OrrOutcome *outcome,
                         OrrLikenessRow *row) {
  const OrrServing *params = scenario->workload.params;
  const OrrServingResult *result = &outcome->result.serving;
  row->format = interned(params->formats.quantization == ORR_QUANTIZATION_NONE
                             ? orr_dtype_names[params->formats.precision]
                             : orr_quantization_words[params->formats.quantization]);
  row->form = interned(params->disaggregation.prefill > 0 ? "apart" : "together");
  row->method = interned(params->engine.scheduler.entry->name);
  row->gpus = (double)engine_gpus(params, result);
  row->nodes = nodes_of(&scenario->cluster, engine_gpus(params, result));
  row->tp = (double)result->tp;
  row->pp = (double)result->pp;
  row->dp = (double)(result->replicas * MAX(params->parallel.dp_attention, 1));
  row->ep = (double)MAX(params->parallel.ep, 1);
  row->batch = result->running_mean;
  row->load = load_of(&params->load);
  row->arrivals = interned(params->load.entry->name);
  row->input =
      result->requests_per_s > 0 ? result->input_tokens_per_s / result->requests_per_s : NAN;
  row->output = orr_lengths_mean(&params->output);
  row->waiting = result->ttft.mean > 0 ? fmin(result->queue.mean / result->ttft.mean, 1) : NAN;
  row->cache = result->kv_peak;
  fill_serving_times(outcome, row);
  begin_hows(row);
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) add_how(row, how, outcome->trust[how]);
  end_hows(row);
}

static void fill_collectives(const OrrScenario *scenario, const OrrOutcome *outcome,
                             OrrLikenessRow *row) {
  const OrrCollectiveBench *params = scenario->workload.params;
  const OrrCollectivesResult *result = &outcome->result.collectives;
  row->format = interned(orr_dtype_names[params->dtype]);
  row->form = interned(orr_collective_words[params->collective]);
  row->gpus = (double)result->n_ranks;
  row->nodes = fmin(nodes_of(&scenario->cluster, result->n_ranks * MAX(params->stride, 1)),
                    (double)orr_cluster_n_nodes(&scenario->cluster));
  row->size = result->size_bytes;
  row->comm = 1;
  begin_hows(row);
  ORR_EACH(const OrrNcclTestRow, test, outcome->nccl_tests) {
    row->method = test->algorithm;
    add_how(row, how_of(outcome, test->how), 1);
  }
  end_hows(row);
}

static void fill_post_training(const OrrScenario *scenario, const OrrOutcome *outcome,
                               OrrLikenessRow *row) {
  const OrrPostTraining *params = scenario->workload.params;
  const OrrPostTrainingResult *result = &outcome->result.post_training;
  row->form = interned(orr_loop_kind_words[params->mode.kind]);
  row->method = interned(params->algorithm.entry->name);
  row->gpus = (double)result->n_gpus;
  row->nodes = nodes_of(&scenario->cluster, result->n_gpus);
  row->batch = (double)(params->prompts * params->samples);
  row->output = result->response_tokens_mean;
  row->waiting = result->rollout_wait_s / result->step_time_s;
}

/* Kinds whose GPUs all run alike. */
typedef struct {
  gint64 n_gpus;
  double batch, parameters, total_s, gemm_s, attention_s, memory_s, comm_s, host_s;
  int precision; /* OrrDtype */
} Alike;

static void fill_alike(const OrrScenario *scenario, const char *model, const Alike *alike,
                       OrrLikenessRow *row) {
  row->model = interned(model);
  row->format = interned(orr_dtype_names[alike->precision]);
  row->gpus = (double)alike->n_gpus;
  row->nodes = nodes_of(&scenario->cluster, alike->n_gpus);
  row->batch = alike->batch;
  row->parameters = alike->parameters > 0 ? alike->parameters : NAN;
  row->gemm = alike->gemm_s / alike->total_s;
  row->attention = alike->attention_s / alike->total_s;
  row->memory = alike->memory_s / alike->total_s;
  row->comm = alike->comm_s / alike->total_s;
  row->host = alike->host_s / alike->total_s;
}

static void fill_diffusion(const OrrScenario *scenario, const OrrOutcome *outcome,
                           OrrLikenessRow *row) {
  const OrrDiffusion *params = scenario->workload.params;
  const OrrDiffusionResult *r = &outcome->result.diffusion;
  const Alike alike = {r->n_gpus, (double)r->batch, 0,           r->latency_s,
                       r->gemm_s, r->attention_s,   r->memory_s, r->exposed_comm_s,
                       r->wait_s, params->precision};
  fill_alike(scenario, params->generator.name, &alike, row);
  row->input = r->tokens;
}

static void fill_step(const OrrScenario *scenario, const OrrOutcome *outcome, OrrLikenessRow *row) {
  const OrrStepResult *r = &outcome->result.step;
  const gboolean is_diffusion = outcome->kind->kind == &orr_diffusion_training_kind;
  const OrrDiffusionTraining *generates = scenario->workload.params;
  const OrrRecommendation *ranks = scenario->workload.params;
  const Alike alike = {r->n_gpus,
                       r->batch,
                       r->parameters,
                       r->step_s,
                       r->gemm_s,
                       r->attention_s,
                       r->memory_s + r->optimizer_s,
                       r->exposed_comm_s,
                       r->wait_s + r->host_memory_s,
                       is_diffusion ? generates->precision : ranks->precision};
  fill_alike(scenario, is_diffusion ? generates->generator.name : ranks->recommender.name, &alike,
             row);
}

OrrLikenessRow orr_likeness_of_size(const OrrLikenessRow *whole, const OrrOutcome *outcome,
                                    const OrrNcclTestRow *test) {
  OrrLikenessRow row = *whole;
  row.size = (double)test->size_bytes;
  row.method = test->algorithm;
  begin_hows(&row);
  add_how(&row, how_of(outcome, test->how), 1);
  return row;
}

/* --- The largest part of the time --- */

static const char *bound_of(const OrrLikenessRow *row) {
  const double experts = isnan(row->experts) ? 0 : row->experts;
  const struct {
    const char *name;
    double part;
  } parts[] = {{"compute", row->gemm + row->attention + experts},
               {"memory", row->memory},
               {"network", row->comm},
               {"host", row->host},
               {"bubble", row->bubble}};
  const char *best = "";
  double most = 0;
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
    if (parts[i].part > most) {
      most = parts[i].part;
      best = parts[i].name;
    }
  return best;
}

OrrLikenessRow orr_likeness_of(OrrLibrary *library, const OrrScenario *scenario,
                               const OrrOutcome *outcome) {
  OrrLikenessRow row = empty_row();
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  row.kind = interned(kind->entry.name);
  fill_machine(library, scenario, &row);
  fill_stack(library, scenario, &row);
  if (scenario->model.name && *scenario->model.name) fill_model(&scenario->model, &row);
  if (outcome->kind == &orr_campaign_rows_kind)
    fill_campaign(scenario, outcome, &row);
  else if (kind == &orr_training_kind)
    fill_training(scenario, outcome, &row);
  else if (kind == &orr_serving_kind)
    fill_serving(scenario, outcome, &row);
  else if (kind == &orr_collectives_kind)
    fill_collectives(scenario, outcome, &row);
  else if (kind == &orr_post_training_kind)
    fill_post_training(scenario, outcome, &row);
  else if (kind == &orr_diffusion_kind)
    fill_diffusion(scenario, outcome, &row);
  else if (kind == &orr_diffusion_training_kind || kind == &orr_recommendation_kind)
    fill_step(scenario, outcome, &row);
  fill_network(&scenario->cluster, &row);
  row.extras = (char *)orr_extras_of(scenario, outcome);
  row.bound = interned(bound_of(&row));
  return row;
}

OrrLikenessRow orr_likeness_of_all_reduce(const OrrScenario *scenario, const OrrOutcome *outcome,
                                          gint64 gpus, double bytes) {
  OrrLikenessRow row = empty_row();
  row.kind = interned("collectives");
  fill_machine(NULL, scenario, &row);
  row.stack = interned("nccl");
  row.format = interned("fp32");
  row.form = interned("all-reduce");
  row.method = interned("ring");
  row.gpus = (double)gpus;
  row.nodes = nodes_of(&scenario->cluster, gpus);
  row.size = bytes;
  row.comm = row.modelled = 1;
  row.measured = row.interpolated = row.carried = row.outside = 0;
  fill_network(&scenario->cluster, &row);
  row.extras = (char *)orr_extras_of(scenario, outcome);
  row.bound = interned("network");
  return row;
}

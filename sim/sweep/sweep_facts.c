/*
 * sweep_facts.c - the table of names, and the code that computes their values. A fact that a kind
 * of workload does not have is NAN, or "" for a text.
 */
#include "sim/sweep/sweep_facts.h"

#include "workloads/training/training.h"

#define NUMBER ORR_VALUE_NUMBER
#define TEXT ORR_VALUE_TEXT

const OrrSweepFactName orr_sweep_facts[ORR_N_FACTS] = {
    [ORR_FACT_TP] = {"tp", NUMBER, "Tensor-parallel size."},
    [ORR_FACT_PP] = {"pp", NUMBER, "Pipeline-parallel size."},
    [ORR_FACT_DP] =
        {"dp", NUMBER,
         "Data-parallel size; where the scenario leaves it open, n-gpus / (tp * pp * cp)."},
    [ORR_FACT_CP] = {"cp", NUMBER, "Context-parallel size."},
    [ORR_FACT_EP] = {"ep", NUMBER, "Expert-parallel size."},
    [ORR_FACT_CHUNKS] = {"chunks", NUMBER, "Model chunks per stage."},
    [ORR_FACT_SCHEDULE] = {"schedule", TEXT, "The pipeline schedule."},
    [ORR_FACT_MICRO_BATCH] = {"micro-batch", NUMBER, "Sequences in a micro-batch."},
    [ORR_FACT_MICRO_BATCHES] = {"micro-batches", NUMBER, "Micro-batches per replica and step."},
    [ORR_FACT_GLOBAL_BATCH] = {"global-batch", NUMBER, "Sequences per step."},
    [ORR_FACT_SEQUENCE] = {"sequence", NUMBER, "Tokens per sequence."},
    [ORR_FACT_RECOMPUTE] = {"recompute", TEXT, "Which activations are recomputed."},
    [ORR_FACT_SHARDING] = {"sharding", TEXT,
                           "State that data-parallel ranks shard (optimizer.sharding)."},
    [ORR_FACT_N_GPUS] = {"n-gpus", NUMBER, "GPUs in use."},
    [ORR_FACT_NODES] = {"nodes", NUMBER, "Nodes in use."},
    [ORR_FACT_GPUS_PER_NODE] = {"gpus-per-node", NUMBER, "GPUs per node."},
    [ORR_FACT_SCALE_UP_DOMAIN] = {"scale-up-domain", NUMBER, "GPUs joined by NVLink."},
    [ORR_FACT_LAYERS] = {"layers", NUMBER, "Layers of the model."},
    [ORR_FACT_HEADS] = {"heads", NUMBER, "Attention heads."},
    [ORR_FACT_KV_HEADS] = {"kv-heads", NUMBER, "Key-value heads."},
    [ORR_FACT_HIDDEN] = {"hidden", NUMBER, "Hidden size."},
    [ORR_FACT_CAPACITY] = {"memory-capacity-bytes", NUMBER, "Memory of a GPU."},
    [ORR_FACT_TDP] = {"tdp-watts", NUMBER,
                      "Thermal design power of a GPU; 0 if the device does not give it."},
};

const OrrSweepFactName orr_sweep_derived[ORR_N_DERIVED] = {
    [ORR_DERIVED_HEADROOM] = {"memory_headroom_bytes", NUMBER,
                              "A GPU's memory minus the largest amount that any GPU uses."},
};

const char *orr_sweep_name(guint i, const char **ret_sentence) {
  const OrrSweepFactName *name = i < ORR_N_FACTS ? &orr_sweep_facts[i]
                                 : i < ORR_N_FACTS + ORR_N_DERIVED
                                     ? &orr_sweep_derived[i - ORR_N_FACTS]
                                     : NULL;
  if (!name) return NULL;
  *ret_sentence = name->sentence;
  return name->name;
}

static OrrValue number(double value) {
  return (OrrValue){.type = ORR_VALUE_NUMBER, .number = value};
}

static OrrValue text(const char *value) {
  return (OrrValue){.type = ORR_VALUE_TEXT, .text = value};
}

static void fill_training(const OrrScenario *scenario, OrrValue *values) {
  const OrrTraining *t = scenario->workload.params;
  const OrrPipelineKind *schedule = (const OrrPipelineKind *)t->pipeline.entry;
  const double n_gpus = (double)orr_cluster_n_gpus(&scenario->cluster);
  const double split = (double)t->parallel.tp * (double)t->parallel.pp * (double)t->parallel.cp;
  const double dp = t->parallel.dp ? (double)t->parallel.dp : n_gpus / split;
  values[ORR_FACT_TP] = number((double)t->parallel.tp);
  values[ORR_FACT_PP] = number((double)t->parallel.pp);
  values[ORR_FACT_DP] = number(dp);
  values[ORR_FACT_CP] = number((double)t->parallel.cp);
  values[ORR_FACT_EP] = number((double)t->parallel.ep);
  values[ORR_FACT_CHUNKS] = number(schedule ? (double)schedule->chunks(t->pipeline.params) : 1);
  values[ORR_FACT_SCHEDULE] = text(schedule ? schedule->entry.name : "");
  values[ORR_FACT_SHARDING] =
      text(t->optimizer.sharding.entry ? t->optimizer.sharding.entry->name : "");
  values[ORR_FACT_MICRO_BATCH] = number((double)t->batch.micro);
  values[ORR_FACT_MICRO_BATCHES] =
      number((double)t->batch.global_size / ((double)t->batch.micro * dp));
  values[ORR_FACT_GLOBAL_BATCH] = number((double)t->batch.global_size);
  values[ORR_FACT_SEQUENCE] = number((double)(t->sequence ? t->sequence : scenario->model.context));
}

/* Serving has sizes of parallelism under the same paths; facts that it does not have (dp, chunks)
 * stay NAN. */
static void fill_parallel(const OrrScenario *scenario, OrrValue *values) {
  static const struct {
    OrrSweepFact fact;
    const char *path;
  } sizes[] = {{ORR_FACT_TP, "workload.parallel.tp"},
               {ORR_FACT_PP, "workload.parallel.pp"},
               {ORR_FACT_EP, "workload.parallel.ep"}};
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    void *data = NULL;
    const OrrField *field =
        orr_field_assign_member(&orr_scenario_table, (void *)scenario, sizes[i].path, &data);
    double size = NAN;
    if (field && orr_field_number(field, data, &size)) values[sizes[i].fact] = number(size);
  }
}

/* A word of the workload by path; "" if there is no such path. */
static const char *word_at(const OrrScenario *scenario, const char *path) {
  void *data = NULL;
  const OrrField *field =
      orr_field_assign_member(&orr_scenario_table, (void *)scenario, path, &data);
  return field && field->kind == ORR_FIELD_WORD
             ? field->words[*(const int *)((const char *)data + field->offset)]
             : "";
}

/* Whether an expression uses the fact: looking up a word by path takes a microsecond. */
static gboolean is_used(const OrrSweepPlan *plan, guint slot) {
  const GPtrArray *const rules[] = {plan->wheres, plan->objectives};
  for (guint k = 0; k < G_N_ELEMENTS(rules); k++)
    for (guint i = 0; rules[k] && i < rules[k]->len; i++)
      if (orr_expression_uses(((const OrrSweepRule *)rules[k]->pdata[i])->expression, slot))
        return TRUE;
  return FALSE;
}

void orr_sweep_facts_fill(const OrrSweepPlan *plan, const OrrScenario *scenario, OrrValue *values) {
  for (guint i = 0; i < ORR_N_FACTS; i++)
    values[i] = orr_sweep_facts[i].type == ORR_VALUE_TEXT ? text("") : number(NAN);
  if (scenario->workload.entry == &orr_training_kind.entry)
    fill_training(scenario, values);
  else
    fill_parallel(scenario, values);
  if (is_used(plan, ORR_FACT_RECOMPUTE))
    values[ORR_FACT_RECOMPUTE] = text(word_at(scenario, "workload.recompute"));
  values[ORR_FACT_N_GPUS] = number((double)orr_cluster_n_gpus(&scenario->cluster));
  values[ORR_FACT_NODES] = number((double)orr_cluster_n_nodes(&scenario->cluster));
  values[ORR_FACT_GPUS_PER_NODE] = number((double)scenario->cluster.node.gpus);
  values[ORR_FACT_SCALE_UP_DOMAIN] = number((double)scenario->cluster.node.scale_up_domain);
  values[ORR_FACT_LAYERS] = number((double)scenario->model.layers);
  values[ORR_FACT_HEADS] = number((double)scenario->model.heads);
  values[ORR_FACT_KV_HEADS] = number((double)scenario->model.kv_heads);
  values[ORR_FACT_HIDDEN] = number((double)scenario->model.hidden);
  values[ORR_FACT_CAPACITY] = number(scenario->cluster.device.memory_bytes);
  values[ORR_FACT_TDP] = number(scenario->cluster.device.tdp_watts);
}

/* A member of a result by name; NAN if this kind of workload does not have it. */
static double result_number(const OrrSweepPlan *plan, const OrrResult *result, const char *name) {
  double value = NAN;
  for (size_t i = 0; i < plan->kind->result->n_fields; i++)
    if (g_str_equal(plan->kind->result->fields[i].name, name))
      orr_field_number(&plan->kind->result->fields[i], result, &value);
  return value;
}

void orr_sweep_facts_fill_result(const OrrSweepPlan *plan, const OrrResult *result,
                                 OrrValue *values) {
  OrrValue *value = &values[plan->first_result];
  for (size_t i = 0; i < plan->kind->result->n_fields; i++) {
    double found;
    const OrrField *field = &plan->kind->result->fields[i];
    if (!orr_field_number(field, result, &found)) continue;
    *value++ =
        (OrrValue){.type = field->kind == ORR_FIELD_BOOL ? ORR_VALUE_TRUTH : ORR_VALUE_NUMBER,
                   .number = found};
  }
  OrrValue *derived = &values[plan->first_derived];
  derived[ORR_DERIVED_HEADROOM] =
      number(values[ORR_FACT_CAPACITY].number - result_number(plan, result, "memory-peak-bytes"));
}

/*
 * extras.c - the list of extras, each with the test that finds it. To add one: a function and a
 * line of the table; at most 32.
 */
#include "sim/bands/band_private.h"

#include "workloads/collectives/collective_bench.h"
#include "workloads/serving/serving.h"
#include "workloads/training/training.h"

typedef struct {
  const OrrScenario *scenario;
  const OrrOutcome *outcome;
  const OrrTraining *training; /* NULL: of another kind */
  const OrrServing *serving;
  const OrrServingResult *served; /* with @serving */
} Run;

/* --- The machine --- */

static gboolean has_several_nodes(const Run *run) {
  return orr_cluster_n_nodes(&run->scenario->cluster) > 1;
}

static gboolean is_routed(const Run *run) {
  return has_several_nodes(run) && run->scenario->cluster.routing != ORR_ROUTING_IDEAL;
}

static gboolean is_oversubscribed(const Run *run) {
  const OrrChoice *fabric = &run->scenario->cluster.fabric;
  const OrrFieldTable *params = fabric->entry ? fabric->entry->params : NULL;
  for (size_t i = 0; params && has_several_nodes(run) && i < params->n_fields; i++)
    if (strstr(params->fields[i].name, "oversubscription") &&
        *(const double *)(const void *)((const char *)fabric->params + params->fields[i].offset) >
            1)
      return TRUE;
  return FALSE;
}

static gboolean shares_nics(const Run *run) {
  return has_several_nodes(run) && run->scenario->cluster.node.nics_per_gpu < 1;
}

static gboolean has_faults(const Run *run) { return orr_scenario_has_faults(run->scenario); }

/* Jobs at other times or on links of their own count too: no measured run had any. */
static gboolean has_other_jobs(const Run *run) {
  return run->scenario->whole && run->scenario->whole->jobs->len > 1;
}

static gboolean has_groups(const Run *run) {
  return run->outcome->kind->kind == &orr_collectives_kind &&
         run->outcome->result.collectives.n_groups > 1;
}

/* --- Training --- */

static gboolean has_offload(const Run *run) {
  const OrrOffload *offload = run->training ? &run->training->offload : NULL;
  return offload && (offload->optimizer > 0 || offload->activations > 0 || offload->parameters);
}

static gboolean has_checkpoints(const Run *run) {
  return run->training && run->training->checkpoint.every > 0;
}

static gboolean has_loader(const Run *run) {
  return run->training && run->training->loader.sample_s > 0;
}

static gboolean is_evaluation(const Run *run) { return run->training && run->training->evaluation; }

static gboolean has_reference(const Run *run) { return run->training && run->training->reference; }

static gboolean has_noise(const Run *run) {
  return run->training && (run->training->noise.rank > 0 || run->training->noise.kernel > 0);
}

static gboolean has_lora(const Run *run) {
  if (run->serving) return run->serving->engine.lora.adapters > 0;
  return run->training && run->training->lora.rank > 0;
}

/* --- Serving --- */

static gboolean speculates(const Run *run) {
  return run->serving && orr_speculation_of(&run->serving->engine.speculation).tokens > 0;
}

static gboolean has_beams(const Run *run) { return run->serving && run->serving->beams.width > 1; }

static gboolean has_samples(const Run *run) { return run->serving && run->serving->samples > 1; }

static gboolean has_images(const Run *run) { return run->serving && run->serving->images > 0; }

static gboolean has_prefix_hits(const Run *run) {
  return run->serving && run->served->prefix_hit_rate > 0.05;
}

static gboolean has_tiers(const Run *run) {
  const OrrCacheTiers *tiers = run->serving ? &run->serving->engine.tiers : NULL;
  return tiers && tiers->host_bytes + tiers->ssd_bytes + tiers->remote_bytes > 0;
}

static gboolean scales(const Run *run) { return run->serving && orr_serving_scales(run->serving); }

/* The likeness of a fleet is one replica's; what its router adds, no row measured. */
static gboolean has_replicas(const Run *run) {
  return run->serving && run->served->replicas > 1 && run->serving->disaggregation.prefill == 0;
}

static gboolean has_regions(const Run *run) {
  return run->serving && orr_serving_n_regions(run->serving) > 0;
}

/* --- The table --- */

static const struct {
  const char *name;
  gboolean (*is_used)(const Run *run);
  gboolean is_alike; /* it says nothing of how unlike two runs are */
} extras[] = {{"speculation", speculates},
              {"beam search", has_beams},
              {"several outputs a prompt", has_samples},
              {"images", has_images},
              {"LoRA", has_lora},
              {"prefix hits", has_prefix_hits},
              {"cache tiers", has_tiers},
              {"autoscaling", scales},
              {"several replicas", has_replicas, TRUE},
              {"clients in regions", has_regions},
              {"offload", has_offload},
              {"checkpoints", has_checkpoints},
              {"a data loader", has_loader},
              {"evaluation", is_evaluation},
              {"a reference model", has_reference},
              {"noise", has_noise},
              {"faults", has_faults},
              {"other jobs", has_other_jobs},
              {"several groups at once", has_groups},
              {"shared NICs", shares_nics},
              {"an oversubscribed fabric", is_oversubscribed},
              {"routing that is not ideal", is_routed}};
G_STATIC_ASSERT(G_N_ELEMENTS(extras) <= 32);

const char *orr_extras_of(const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrWorkloadKind *kind = outcome->kind->kind;
  const Run run = {.scenario = scenario,
                   .outcome = outcome,
                   .training = kind == &orr_training_kind ? scenario->workload.params : NULL,
                   .serving = kind == &orr_serving_kind ? scenario->workload.params : NULL,
                   .served = &outcome->result.serving};
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(extras); i++)
    if (extras[i].is_used(&run))
      g_string_append_printf(text, "%s%s", text->len ? "+" : "", extras[i].name);
  return g_intern_string(text->str);
}

guint32 orr_extras_bits(const char *text) {
  guint32 bits = 0;
  if (!*text) return 0;
  g_auto(GStrv) names = g_strsplit(text, "+", -1);
  for (guint i = 0; i < G_N_ELEMENTS(extras); i++)
    if (g_strv_contains((const char *const *)names, extras[i].name)) bits |= 1u << i;
  return bits;
}

const char *orr_extras_name(guint32 bits) {
  for (guint i = 0; i < G_N_ELEMENTS(extras); i++)
    if (bits & (1u << i)) return extras[i].name;
  return "";
}

guint32 orr_extras_unlike(guint32 bits) {
  for (guint i = 0; i < G_N_ELEMENTS(extras); i++)
    if (extras[i].is_alike) bits &= ~(1u << i);
  return bits;
}

/*
 * summary_diffusion.c - the lines of a batch of pictures or videos.
 */
#include "sim/cli/summary.h"
#include "workloads/diffusion/diffusion.h"

static void add_asked(OrrPage *page, const OrrScenario *scenario, const OrrDiffusionResult *r) {
  const OrrDiffusion *params = scenario->workload.params;
  const OrrGeneratorShape shape = orr_diffusion_shape(params);
  const OrrDiffusionParallel *parallel = &params->parallel;
  orr_page_line(page, "model", "%s, %.4g billion parameters in the backbone",
                params->generator.name, orr_generator_parameters(params->generator.backbone) / 1e9);
  orr_page_line(page, "asked", "%ld of %ld x %ld, %ld frames, %ld steps; %.0f tokens each",
                r->batch, shape.height, shape.width, shape.frames, orr_diffusion_steps(params),
                r->tokens);
  orr_summary_machine(page, scenario, r->n_gpus);
  orr_page_line(page, "parallel", "Ulysses %d x ring %d x CFG %d x TP %d", (int)parallel->ulysses,
                (int)parallel->ring, (int)parallel->cfg, (int)parallel->tp);
  if (parallel->pipefusion > 1)
    orr_page_item(page, "PipeFusion of %d stages, patches: %d", (int)parallel->pipefusion,
                  (int)orr_diffusion_patches(params));
  if (parallel->displaced > 1)
    orr_page_item(page, "displaced patches on %d GPUs", (int)parallel->displaced);
  if (parallel->fsdp) orr_page_item(page, "weights sharded over all");
}

void orr_summary_diffusion(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrDiffusionResult *r = &outcome->result.diffusion;
  add_asked(page, scenario, r);
  orr_page_line(page, "latency", "%s: text %s, steps %s (%s each), decoder and output %s",
                orr_page_seconds(page, r->latency_s), orr_page_seconds(page, r->text_s),
                orr_page_seconds(page, r->denoise_s), orr_page_seconds(page, r->step_s),
                orr_page_seconds(page, r->decode_s));
  orr_summary_band_more(page, outcome, "latency_s", ORR_UNIT_SECONDS);
  orr_page_line(page, "speed", "%.4g outputs per second, %.0f TFLOP/s per GPU", r->outputs_per_s,
                r->tflops_per_gpu);
  orr_page_line(page, "bound by",
                "attention %s, gemm %s, memory-bound %s; exposed communication %s, waits %s",
                orr_page_percent(page, r->attention_s / r->latency_s),
                orr_page_percent(page, r->gemm_s / r->latency_s),
                orr_page_percent(page, r->memory_s / r->latency_s),
                orr_page_percent(page, r->exposed_comm_s / r->latency_s),
                orr_page_percent(page, r->wait_s / r->latency_s));
  if (r->offload_s > 0)
    orr_page_more(page, ", weights of the host %s",
                  orr_page_percent(page, r->offload_s / r->latency_s));
  const double used = r->weight_bytes + r->activation_bytes,
               room = scenario->cluster.device.memory_bytes;
  orr_page_line(page, "memory", "%s of weights, at least %s of activations, of %s: it %s",
                orr_page_bytes(page, r->weight_bytes), orr_page_bytes(page, r->activation_bytes),
                orr_page_bytes(page, room), used > room ? "does not fit" : "fits");
  orr_summary_energy(page, outcome,
                     orr_page_text(page, "%.4g J per output", r->energy_j_per_output),
                     "energy_j_per_output", r->gpu_power_mean_w, &r->machine);
}

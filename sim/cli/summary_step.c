/*
 * summary_step.c - the lines of a step of diffusion-training or recommendation.
 */
#include "sim/cli/summary.h"

void orr_summary_step(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrStepResult *r = &outcome->result.step;
  orr_page_line(page, "model", "%.4g billion parameters", r->parameters / 1e9);
  orr_summary_machine(page, scenario, r->n_gpus);
  orr_page_line(page, "step", "%s for %.10g samples", orr_page_seconds(page, r->step_s), r->batch);
  orr_summary_band_more(page, outcome, "step_s", ORR_UNIT_SECONDS);
  orr_page_line(page, "speed", "%.4g samples per second, %.4g per GPU; %.0f TFLOP/s per GPU",
                r->samples_per_s, r->samples_per_s_per_gpu, r->tflops_per_gpu);
  orr_page_line(page, "bound by",
                "gemm %s, attention %s, memory-bound %s, optimizer %s, host memory %s; exposed "
                "communication %s, waits %s",
                orr_page_percent(page, r->gemm_s / r->step_s),
                orr_page_percent(page, r->attention_s / r->step_s),
                orr_page_percent(page, r->memory_s / r->step_s),
                orr_page_percent(page, r->optimizer_s / r->step_s),
                orr_page_percent(page, r->host_memory_s / r->step_s),
                orr_page_percent(page, r->exposed_comm_s / r->step_s),
                orr_page_percent(page, r->wait_s / r->step_s));
  orr_page_line(page, "memory",
                "%s of weights, gradients and the optimizer's state; activations are not counted",
                orr_page_bytes(page, r->model_bytes));
  orr_summary_energy(page, outcome,
                     orr_page_text(page, "%.4g J per sample", r->energy_j_per_sample),
                     "energy_j_per_sample", r->gpu_power_mean_w, &r->machine);
}

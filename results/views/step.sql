-- Where does the time of a step of diffusion-training or recommendation go, and what does it cost in energy?
-- reads: step_result(step_s, samples_per_s, samples_per_s_per_gpu, gemm_s, attention_s, memory_s, optimizer_s, host_memory_s, exposed_comm_s, wait_s, tflops_per_gpu, gpu_power_mean_w, energy_j_per_sample)
-- rows-from: runs of diffusion-training or recommendation
-- step_s: one step
-- samples_per_s: samples per second of all GPUs
-- samples_per_s_per_gpu: the same per GPU
-- gemm_s: matrix products and convolutions
-- attention_s: attention
-- memory_s: kernels bound by memory
-- optimizer_s: the optimizer
-- host_memory_s: copies from host memory
-- exposed_comm_s: communication that holds up kernels
-- wait_s: waiting for launches
-- tflops_per_gpu: TFLOP/s per GPU
-- gpu_power_mean_w: watts of all GPUs
-- energy_j_per_sample: joules per sample
SELECT
  step_s,
  samples_per_s,
  samples_per_s_per_gpu,
  gemm_s,
  attention_s,
  memory_s,
  optimizer_s,
  host_memory_s,
  exposed_comm_s,
  wait_s,
  tflops_per_gpu,
  gpu_power_mean_w,
  energy_j_per_sample
FROM step_result
WHERE run_id = :run;

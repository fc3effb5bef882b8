-- Where does the time of a batch of pictures or videos go, and what does it cost in energy?
-- reads: diffusion_result(latency_s, outputs_per_s, text_s, denoise_s, step_s, decode_s, gemm_s, attention_s, memory_s, exposed_comm_s, wait_s, gpu_power_mean_w, energy_j_per_output)
-- rows-from: runs of diffusion models
-- latency_s: from the text to the last picture
-- outputs_per_s: pictures or videos per second
-- text_s: text encoders
-- denoise_s: all steps
-- step_s: one computed step
-- decode_s: the decoder, and the host's output
-- gemm_s: matrix products and convolutions
-- attention_s: attention
-- memory_s: kernels bound by memory
-- exposed_comm_s: communication that holds up kernels
-- wait_s: waiting for launches, or for the output
-- gpu_power_mean_w: watts of all GPUs
-- energy_j_per_output: joules per picture or video
SELECT
  latency_s,
  outputs_per_s,
  text_s,
  denoise_s,
  step_s,
  decode_s,
  gemm_s,
  attention_s,
  memory_s,
  exposed_comm_s,
  wait_s,
  gpu_power_mean_w,
  energy_j_per_output
FROM diffusion_result
WHERE run_id = :run;

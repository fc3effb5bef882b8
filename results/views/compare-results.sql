-- What differs in the results of two runs? Results that are 0 in both are skipped.
-- reads: training_result(iteration_time_s, tokens_per_s, tokens_per_s_per_gpu, model_tflops_per_gpu, mfu, hfu, bubble_fraction, exposed_comm_fraction, memory_peak_bytes, fits, n_gpus, cost_per_gpu_hour, cost_per_step, cost_per_million_tokens, cost_per_run); collectives_result(time_s, algbw_bytes_per_s, busbw_bytes_per_s, size_bytes, mean_busbw_bytes_per_s, n_ranks); serving_result(ttft_mean_s, ttft_p99_s, tpot_mean_s, tpot_p99_s, itl_mean_s, itl_p99_s, e2e_mean_s, e2e_p99_s, queue_mean_s, output_tokens_per_s, output_tokens_per_s_per_gpu, requests_per_s, goodput_rps, kv_utilization, kv_peak, prefix_hit_rate, preemptions, running_mean, gpu_busy, comm_fraction, energy_j_per_output_token, cost_per_gpu_hour, cost_per_million_input_tokens, cost_per_million_output_tokens, saturated, n_gpus, replicas, task_p50_s, task_p99_s, tasks_within); cluster_result(jct_mean_s, jct_p50_s, jct_p95_s, jct_p99_s, wait_mean_s, wait_p50_s, wait_p95_s, wait_p99_s, makespan_s, utilization, useful, idle_while_waiting, fragmentation, largest_gang, slowdown_jain, rho_mean, rho_max, placement_slowdown, ettr, preemptions, failures, gpu_hours, overhead_gpu_hours, failed_gpu_hours, gpu_power_mean_w, energy_kwh, cost_hardware, cost_energy, cost_per_useful_gpu_hour, most_waiting, n_timed_out, n_left_out, n_jobs, n_gpus); post_training_result(step_time_s, tokens_per_s, tokens_per_s_per_gpu, samples_per_s, rollout_s, rollout_tail, rollout_wait_s, switch_s, data_s, old_log_probs_s, reference_s, rewards_s, values_s, critic_update_s, update_s, weight_sync_s, rollout_busy, rollout_sequences, rollout_help, trainer_busy, staleness_mean, staleness_most, computed_again, preemptions, samples_dropped, samples_resumed, rollout_memory_bytes, update_memory_bytes, fits, energy_j_per_step, gpu_power_mean_w, rollout_gpus, update_gpus, replicas, n_gpus); campaign_result(goodput, goodput_low, goodput_high, goodput_p5, goodput_p95, duration_s, effective_s, tokens, tokens_per_s, tokens_per_day, step_s, failures, restarts, mttf_s, checkpoints, stall_s, out_p50, out_p99, stopped, cost, cost_lost, energy_j_per_token, gpu_power_mean_w, n_gpus); diffusion_result(latency_s, outputs_per_s, text_s, denoise_s, step_s, decode_s, gemm_s, attention_s, memory_s, exposed_comm_s, wait_s, offload_s, tflops_per_gpu, weight_bytes, activation_bytes, energy_j_per_output, gpu_power_mean_w, cost_per_gpu_hour, cost_per_day, batch, n_gpus); step_result(step_s, samples_per_s, samples_per_s_per_gpu, gemm_s, attention_s, memory_s, exposed_comm_s, host_memory_s, optimizer_s, wait_s, tflops_per_gpu, model_bytes, energy_j_per_sample, gpu_power_mean_w, cost_per_gpu_hour, cost_per_day, batch, n_gpus); serving_task_result(tasks_per_hour, done, e2e_mean_s, e2e_p50_s, e2e_p99_s, first_mean_s, first_p99_s, turns_mean, input_tokens_mean, cached_tokens_mean, output_tokens_mean, in_flight_mean, gpu_seconds_mean, cpu_cores_mean, cost_per_task, rejected, timeouts, over_turns, over_tokens, over_context, tasks)
-- takes: other (the run to compare with; the previous run of the same kind when not given)
-- rows-from: two runs of one kind
-- metric: name of the result
-- other: value in the other run
-- this: value in this run
-- change_percent: this over other, less one; 0 where they agree to nine digits, the precision of the sums
-- unit: unit of the values; empty for counts and fractions
-- meaning: what the result means
WITH pair AS (
  SELECT
    :run AS this,
    coalesce(:other, (SELECT max(o.id) FROM run o JOIN run t ON t.id = :run WHERE o.id < t.id AND o.kind = t.kind)) AS other
),
training AS (SELECT t.* FROM training_result t JOIN pair ON t.run_id IN (pair.this, pair.other)),
collectives AS (SELECT c.* FROM collectives_result c JOIN pair ON c.run_id IN (pair.this, pair.other)),
serving AS (SELECT s.* FROM serving_result s JOIN pair ON s.run_id IN (pair.this, pair.other)),
post AS (SELECT p.* FROM post_training_result p JOIN pair ON p.run_id IN (pair.this, pair.other)),
campaign AS (SELECT r.* FROM campaign_result r JOIN pair ON r.run_id IN (pair.this, pair.other)),
diffusion AS (SELECT r.* FROM diffusion_result r JOIN pair ON r.run_id IN (pair.this, pair.other)),
step AS (SELECT r.* FROM step_result r JOIN pair ON r.run_id IN (pair.this, pair.other)),
task AS (SELECT r.* FROM serving_task_result r JOIN pair ON r.run_id IN (pair.this, pair.other)),
cluster AS (SELECT c.* FROM cluster_result c JOIN pair ON c.run_id IN (pair.this, pair.other)),
fact (run_id, position, table_name, name, value) AS (
  SELECT run_id, 1, 'training_result', 'iteration_time_s', iteration_time_s FROM training UNION ALL
  SELECT run_id, 2, 'training_result', 'tokens_per_s', tokens_per_s FROM training UNION ALL
  SELECT run_id, 3, 'training_result', 'tokens_per_s_per_gpu', tokens_per_s_per_gpu FROM training UNION ALL
  SELECT run_id, 4, 'training_result', 'model_tflops_per_gpu', model_tflops_per_gpu FROM training UNION ALL
  SELECT run_id, 5, 'training_result', 'mfu', mfu FROM training UNION ALL
  SELECT run_id, 6, 'training_result', 'hfu', hfu FROM training UNION ALL
  SELECT run_id, 7, 'training_result', 'bubble_fraction', bubble_fraction FROM training UNION ALL
  SELECT run_id, 8, 'training_result', 'exposed_comm_fraction', exposed_comm_fraction FROM training UNION ALL
  SELECT run_id, 9, 'training_result', 'memory_peak_bytes', memory_peak_bytes FROM training UNION ALL
  SELECT run_id, 10, 'training_result', 'fits', fits FROM training UNION ALL
  SELECT run_id, 11, 'training_result', 'n_gpus', n_gpus FROM training UNION ALL
  SELECT run_id, 12, 'collectives_result', 'time_s', time_s FROM collectives UNION ALL
  SELECT run_id, 13, 'collectives_result', 'algbw_bytes_per_s', algbw_bytes_per_s FROM collectives UNION ALL
  SELECT run_id, 14, 'collectives_result', 'busbw_bytes_per_s', busbw_bytes_per_s FROM collectives UNION ALL
  SELECT run_id, 15, 'collectives_result', 'size_bytes', size_bytes FROM collectives UNION ALL
  SELECT run_id, 16, 'collectives_result', 'mean_busbw_bytes_per_s', mean_busbw_bytes_per_s FROM collectives UNION ALL
  SELECT run_id, 17, 'collectives_result', 'n_ranks', n_ranks FROM collectives UNION ALL
  SELECT run_id, 18, 'serving_result', 'ttft_mean_s', ttft_mean_s FROM serving UNION ALL
  SELECT run_id, 19, 'serving_result', 'ttft_p99_s', ttft_p99_s FROM serving UNION ALL
  SELECT run_id, 20, 'serving_result', 'tpot_mean_s', tpot_mean_s FROM serving UNION ALL
  SELECT run_id, 21, 'serving_result', 'tpot_p99_s', tpot_p99_s FROM serving UNION ALL
  SELECT run_id, 22, 'serving_result', 'itl_mean_s', itl_mean_s FROM serving UNION ALL
  SELECT run_id, 23, 'serving_result', 'itl_p99_s', itl_p99_s FROM serving UNION ALL
  SELECT run_id, 24, 'serving_result', 'e2e_mean_s', e2e_mean_s FROM serving UNION ALL
  SELECT run_id, 25, 'serving_result', 'e2e_p99_s', e2e_p99_s FROM serving UNION ALL
  SELECT run_id, 26, 'serving_result', 'queue_mean_s', queue_mean_s FROM serving UNION ALL
  SELECT run_id, 27, 'serving_result', 'output_tokens_per_s', output_tokens_per_s FROM serving UNION ALL
  SELECT run_id, 28, 'serving_result', 'output_tokens_per_s_per_gpu', output_tokens_per_s_per_gpu FROM serving UNION ALL
  SELECT run_id, 29, 'serving_result', 'requests_per_s', requests_per_s FROM serving UNION ALL
  SELECT run_id, 30, 'serving_result', 'goodput_rps', goodput_rps FROM serving UNION ALL
  SELECT run_id, 31, 'serving_result', 'kv_utilization', kv_utilization FROM serving UNION ALL
  SELECT run_id, 32, 'serving_result', 'kv_peak', kv_peak FROM serving UNION ALL
  SELECT run_id, 33, 'serving_result', 'prefix_hit_rate', prefix_hit_rate FROM serving UNION ALL
  SELECT run_id, 34, 'serving_result', 'preemptions', preemptions FROM serving UNION ALL
  SELECT run_id, 35, 'serving_result', 'running_mean', running_mean FROM serving UNION ALL
  SELECT run_id, 36, 'serving_result', 'gpu_busy', gpu_busy FROM serving UNION ALL
  SELECT run_id, 37, 'serving_result', 'comm_fraction', comm_fraction FROM serving UNION ALL
  SELECT run_id, 38, 'serving_result', 'energy_j_per_output_token', energy_j_per_output_token FROM serving UNION ALL
  SELECT run_id, 39, 'serving_result', 'cost_per_million_output_tokens', cost_per_million_output_tokens FROM serving UNION ALL
  SELECT run_id, 40, 'serving_result', 'saturated', saturated FROM serving UNION ALL
  SELECT run_id, 41, 'serving_result', 'n_gpus', n_gpus FROM serving UNION ALL
  SELECT run_id, 42, 'serving_result', 'replicas', replicas FROM serving UNION ALL
  SELECT run_id, 43, 'training_result', 'cost_per_gpu_hour', cost_per_gpu_hour FROM training UNION ALL
  SELECT run_id, 44, 'training_result', 'cost_per_step', cost_per_step FROM training UNION ALL
  SELECT run_id, 45, 'training_result', 'cost_per_million_tokens', cost_per_million_tokens FROM training UNION ALL
  SELECT run_id, 46, 'training_result', 'cost_per_run', cost_per_run FROM training UNION ALL
  SELECT run_id, 47, 'serving_result', 'cost_per_gpu_hour', cost_per_gpu_hour FROM serving UNION ALL
  SELECT run_id, 48, 'serving_result', 'cost_per_million_input_tokens', cost_per_million_input_tokens FROM serving UNION ALL
  SELECT run_id, 49, 'post_training_result', 'step_time_s', step_time_s FROM post UNION ALL
  SELECT run_id, 50, 'post_training_result', 'tokens_per_s', tokens_per_s FROM post UNION ALL
  SELECT run_id, 51, 'post_training_result', 'tokens_per_s_per_gpu', tokens_per_s_per_gpu FROM post UNION ALL
  SELECT run_id, 52, 'post_training_result', 'samples_per_s', samples_per_s FROM post UNION ALL
  SELECT run_id, 53, 'post_training_result', 'rollout_s', rollout_s FROM post UNION ALL
  SELECT run_id, 54, 'post_training_result', 'rollout_tail', rollout_tail FROM post UNION ALL
  SELECT run_id, 55, 'post_training_result', 'rollout_wait_s', rollout_wait_s FROM post UNION ALL
  SELECT run_id, 56, 'post_training_result', 'switch_s', switch_s FROM post UNION ALL
  SELECT run_id, 57, 'post_training_result', 'data_s', data_s FROM post UNION ALL
  SELECT run_id, 58, 'post_training_result', 'old_log_probs_s', old_log_probs_s FROM post UNION ALL
  SELECT run_id, 59, 'post_training_result', 'reference_s', reference_s FROM post UNION ALL
  SELECT run_id, 60, 'post_training_result', 'rewards_s', rewards_s FROM post UNION ALL
  SELECT run_id, 61, 'post_training_result', 'values_s', values_s FROM post UNION ALL
  SELECT run_id, 62, 'post_training_result', 'critic_update_s', critic_update_s FROM post UNION ALL
  SELECT run_id, 63, 'post_training_result', 'update_s', update_s FROM post UNION ALL
  SELECT run_id, 64, 'post_training_result', 'weight_sync_s', weight_sync_s FROM post UNION ALL
  SELECT run_id, 65, 'post_training_result', 'rollout_busy', rollout_busy FROM post UNION ALL
  SELECT run_id, 66, 'post_training_result', 'rollout_sequences', rollout_sequences FROM post UNION ALL
  SELECT run_id, 67, 'post_training_result', 'rollout_help', rollout_help FROM post UNION ALL
  SELECT run_id, 68, 'post_training_result', 'trainer_busy', trainer_busy FROM post UNION ALL
  SELECT run_id, 69, 'post_training_result', 'staleness_mean', staleness_mean FROM post UNION ALL
  SELECT run_id, 70, 'post_training_result', 'staleness_most', staleness_most FROM post UNION ALL
  SELECT run_id, 71, 'post_training_result', 'computed_again', computed_again FROM post UNION ALL
  SELECT run_id, 72, 'post_training_result', 'preemptions', preemptions FROM post UNION ALL
  SELECT run_id, 73, 'post_training_result', 'samples_dropped', samples_dropped FROM post UNION ALL
  SELECT run_id, 74, 'post_training_result', 'samples_resumed', samples_resumed FROM post UNION ALL
  SELECT run_id, 75, 'post_training_result', 'rollout_memory_bytes', rollout_memory_bytes FROM post UNION ALL
  SELECT run_id, 76, 'post_training_result', 'update_memory_bytes', update_memory_bytes FROM post UNION ALL
  SELECT run_id, 77, 'post_training_result', 'fits', fits FROM post UNION ALL
  SELECT run_id, 78, 'post_training_result', 'energy_j_per_step', energy_j_per_step FROM post UNION ALL
  SELECT run_id, 79, 'post_training_result', 'gpu_power_mean_w', gpu_power_mean_w FROM post UNION ALL
  SELECT run_id, 80, 'post_training_result', 'rollout_gpus', rollout_gpus FROM post UNION ALL
  SELECT run_id, 81, 'post_training_result', 'update_gpus', update_gpus FROM post UNION ALL
  SELECT run_id, 82, 'post_training_result', 'replicas', replicas FROM post UNION ALL
  SELECT run_id, 83, 'post_training_result', 'n_gpus', n_gpus FROM post UNION ALL
  SELECT run_id, 84, 'cluster_result', 'jct_mean_s', jct_mean_s FROM cluster UNION ALL
  SELECT run_id, 85, 'cluster_result', 'jct_p50_s', jct_p50_s FROM cluster UNION ALL
  SELECT run_id, 86, 'cluster_result', 'jct_p95_s', jct_p95_s FROM cluster UNION ALL
  SELECT run_id, 87, 'cluster_result', 'jct_p99_s', jct_p99_s FROM cluster UNION ALL
  SELECT run_id, 88, 'cluster_result', 'wait_mean_s', wait_mean_s FROM cluster UNION ALL
  SELECT run_id, 89, 'cluster_result', 'wait_p50_s', wait_p50_s FROM cluster UNION ALL
  SELECT run_id, 90, 'cluster_result', 'wait_p95_s', wait_p95_s FROM cluster UNION ALL
  SELECT run_id, 91, 'cluster_result', 'wait_p99_s', wait_p99_s FROM cluster UNION ALL
  SELECT run_id, 92, 'cluster_result', 'makespan_s', makespan_s FROM cluster UNION ALL
  SELECT run_id, 93, 'cluster_result', 'utilization', utilization FROM cluster UNION ALL
  SELECT run_id, 94, 'cluster_result', 'useful', useful FROM cluster UNION ALL
  SELECT run_id, 95, 'cluster_result', 'idle_while_waiting', idle_while_waiting FROM cluster UNION ALL
  SELECT run_id, 96, 'cluster_result', 'fragmentation', fragmentation FROM cluster UNION ALL
  SELECT run_id, 97, 'cluster_result', 'largest_gang', largest_gang FROM cluster UNION ALL
  SELECT run_id, 98, 'cluster_result', 'slowdown_jain', slowdown_jain FROM cluster UNION ALL
  SELECT run_id, 99, 'cluster_result', 'rho_mean', rho_mean FROM cluster UNION ALL
  SELECT run_id, 100, 'cluster_result', 'rho_max', rho_max FROM cluster UNION ALL
  SELECT run_id, 101, 'cluster_result', 'placement_slowdown', placement_slowdown FROM cluster UNION ALL
  SELECT run_id, 102, 'cluster_result', 'ettr', ettr FROM cluster UNION ALL
  SELECT run_id, 103, 'cluster_result', 'preemptions', preemptions FROM cluster UNION ALL
  SELECT run_id, 104, 'cluster_result', 'failures', failures FROM cluster UNION ALL
  SELECT run_id, 105, 'cluster_result', 'gpu_hours', gpu_hours FROM cluster UNION ALL
  SELECT run_id, 106, 'cluster_result', 'overhead_gpu_hours', overhead_gpu_hours FROM cluster UNION ALL
  SELECT run_id, 107, 'cluster_result', 'failed_gpu_hours', failed_gpu_hours FROM cluster UNION ALL
  SELECT run_id, 108, 'cluster_result', 'gpu_power_mean_w', gpu_power_mean_w FROM cluster UNION ALL
  SELECT run_id, 109, 'cluster_result', 'energy_kwh', energy_kwh FROM cluster UNION ALL
  SELECT run_id, 110, 'cluster_result', 'cost_hardware', cost_hardware FROM cluster UNION ALL
  SELECT run_id, 111, 'cluster_result', 'cost_energy', cost_energy FROM cluster UNION ALL
  SELECT run_id, 112, 'cluster_result', 'cost_per_useful_gpu_hour', cost_per_useful_gpu_hour FROM cluster UNION ALL
  SELECT run_id, 113, 'cluster_result', 'most_waiting', most_waiting FROM cluster UNION ALL
  SELECT run_id, 114, 'cluster_result', 'n_timed_out', n_timed_out FROM cluster UNION ALL
  SELECT run_id, 115, 'cluster_result', 'n_left_out', n_left_out FROM cluster UNION ALL
  SELECT run_id, 116, 'cluster_result', 'n_jobs', n_jobs FROM cluster UNION ALL
  SELECT run_id, 117, 'cluster_result', 'n_gpus', n_gpus FROM cluster UNION ALL
  SELECT run_id, 118, 'serving_result', 'task_p50_s', task_p50_s FROM serving UNION ALL
  SELECT run_id, 119, 'serving_result', 'task_p99_s', task_p99_s FROM serving UNION ALL
  SELECT run_id, 120, 'serving_result', 'tasks_within', tasks_within FROM serving UNION ALL
  SELECT run_id, 121, 'campaign_result', 'goodput', goodput FROM campaign UNION ALL
  SELECT run_id, 122, 'campaign_result', 'goodput_low', goodput_low FROM campaign UNION ALL
  SELECT run_id, 123, 'campaign_result', 'goodput_high', goodput_high FROM campaign UNION ALL
  SELECT run_id, 124, 'campaign_result', 'goodput_p5', goodput_p5 FROM campaign UNION ALL
  SELECT run_id, 125, 'campaign_result', 'goodput_p95', goodput_p95 FROM campaign UNION ALL
  SELECT run_id, 126, 'campaign_result', 'duration_s', duration_s FROM campaign UNION ALL
  SELECT run_id, 127, 'campaign_result', 'effective_s', effective_s FROM campaign UNION ALL
  SELECT run_id, 128, 'campaign_result', 'tokens', tokens FROM campaign UNION ALL
  SELECT run_id, 129, 'campaign_result', 'tokens_per_s', tokens_per_s FROM campaign UNION ALL
  SELECT run_id, 130, 'campaign_result', 'tokens_per_day', tokens_per_day FROM campaign UNION ALL
  SELECT run_id, 131, 'campaign_result', 'step_s', step_s FROM campaign UNION ALL
  SELECT run_id, 132, 'campaign_result', 'failures', failures FROM campaign UNION ALL
  SELECT run_id, 133, 'campaign_result', 'restarts', restarts FROM campaign UNION ALL
  SELECT run_id, 134, 'campaign_result', 'mttf_s', mttf_s FROM campaign UNION ALL
  SELECT run_id, 135, 'campaign_result', 'checkpoints', checkpoints FROM campaign UNION ALL
  SELECT run_id, 136, 'campaign_result', 'stall_s', stall_s FROM campaign UNION ALL
  SELECT run_id, 137, 'campaign_result', 'out_p50', out_p50 FROM campaign UNION ALL
  SELECT run_id, 138, 'campaign_result', 'out_p99', out_p99 FROM campaign UNION ALL
  SELECT run_id, 139, 'campaign_result', 'stopped', stopped FROM campaign UNION ALL
  SELECT run_id, 140, 'campaign_result', 'cost', cost FROM campaign UNION ALL
  SELECT run_id, 141, 'campaign_result', 'cost_lost', cost_lost FROM campaign UNION ALL
  SELECT run_id, 142, 'campaign_result', 'energy_j_per_token', energy_j_per_token FROM campaign UNION ALL
  SELECT run_id, 143, 'campaign_result', 'gpu_power_mean_w', gpu_power_mean_w FROM campaign UNION ALL
  SELECT run_id, 144, 'campaign_result', 'n_gpus', n_gpus FROM campaign UNION ALL
  SELECT run_id, 145, 'diffusion_result', 'latency_s', latency_s FROM diffusion UNION ALL
  SELECT run_id, 146, 'diffusion_result', 'outputs_per_s', outputs_per_s FROM diffusion UNION ALL
  SELECT run_id, 147, 'diffusion_result', 'text_s', text_s FROM diffusion UNION ALL
  SELECT run_id, 148, 'diffusion_result', 'denoise_s', denoise_s FROM diffusion UNION ALL
  SELECT run_id, 149, 'diffusion_result', 'step_s', step_s FROM diffusion UNION ALL
  SELECT run_id, 150, 'diffusion_result', 'decode_s', decode_s FROM diffusion UNION ALL
  SELECT run_id, 151, 'diffusion_result', 'gemm_s', gemm_s FROM diffusion UNION ALL
  SELECT run_id, 152, 'diffusion_result', 'attention_s', attention_s FROM diffusion UNION ALL
  SELECT run_id, 153, 'diffusion_result', 'memory_s', memory_s FROM diffusion UNION ALL
  SELECT run_id, 154, 'diffusion_result', 'exposed_comm_s', exposed_comm_s FROM diffusion UNION ALL
  SELECT run_id, 155, 'diffusion_result', 'wait_s', wait_s FROM diffusion UNION ALL
  SELECT run_id, 156, 'diffusion_result', 'offload_s', offload_s FROM diffusion UNION ALL
  SELECT run_id, 157, 'diffusion_result', 'tflops_per_gpu', tflops_per_gpu FROM diffusion UNION ALL
  SELECT run_id, 158, 'diffusion_result', 'weight_bytes', weight_bytes FROM diffusion UNION ALL
  SELECT run_id, 159, 'diffusion_result', 'activation_bytes', activation_bytes FROM diffusion UNION ALL
  SELECT run_id, 160, 'diffusion_result', 'energy_j_per_output', energy_j_per_output FROM diffusion UNION ALL
  SELECT run_id, 161, 'diffusion_result', 'gpu_power_mean_w', gpu_power_mean_w FROM diffusion UNION ALL
  SELECT run_id, 162, 'diffusion_result', 'cost_per_gpu_hour', cost_per_gpu_hour FROM diffusion UNION ALL
  SELECT run_id, 163, 'diffusion_result', 'cost_per_day', cost_per_day FROM diffusion UNION ALL
  SELECT run_id, 164, 'diffusion_result', 'batch', batch FROM diffusion UNION ALL
  SELECT run_id, 165, 'diffusion_result', 'n_gpus', n_gpus FROM diffusion UNION ALL
  SELECT run_id, 166, 'step_result', 'step_s', step_s FROM step UNION ALL
  SELECT run_id, 167, 'step_result', 'samples_per_s', samples_per_s FROM step UNION ALL
  SELECT run_id, 168, 'step_result', 'samples_per_s_per_gpu', samples_per_s_per_gpu FROM step UNION ALL
  SELECT run_id, 169, 'step_result', 'gemm_s', gemm_s FROM step UNION ALL
  SELECT run_id, 170, 'step_result', 'attention_s', attention_s FROM step UNION ALL
  SELECT run_id, 171, 'step_result', 'memory_s', memory_s FROM step UNION ALL
  SELECT run_id, 172, 'step_result', 'exposed_comm_s', exposed_comm_s FROM step UNION ALL
  SELECT run_id, 173, 'step_result', 'host_memory_s', host_memory_s FROM step UNION ALL
  SELECT run_id, 174, 'step_result', 'optimizer_s', optimizer_s FROM step UNION ALL
  SELECT run_id, 175, 'step_result', 'wait_s', wait_s FROM step UNION ALL
  SELECT run_id, 176, 'step_result', 'tflops_per_gpu', tflops_per_gpu FROM step UNION ALL
  SELECT run_id, 177, 'step_result', 'model_bytes', model_bytes FROM step UNION ALL
  SELECT run_id, 178, 'step_result', 'energy_j_per_sample', energy_j_per_sample FROM step UNION ALL
  SELECT run_id, 179, 'step_result', 'gpu_power_mean_w', gpu_power_mean_w FROM step UNION ALL
  SELECT run_id, 180, 'step_result', 'cost_per_gpu_hour', cost_per_gpu_hour FROM step UNION ALL
  SELECT run_id, 181, 'step_result', 'cost_per_day', cost_per_day FROM step UNION ALL
  SELECT run_id, 182, 'step_result', 'batch', batch FROM step UNION ALL
  SELECT run_id, 183, 'step_result', 'n_gpus', n_gpus FROM step UNION ALL
  SELECT run_id, 184, 'serving_task_result', 'tasks_per_hour', tasks_per_hour FROM task UNION ALL
  SELECT run_id, 185, 'serving_task_result', 'done', done FROM task UNION ALL
  SELECT run_id, 186, 'serving_task_result', 'e2e_mean_s', e2e_mean_s FROM task UNION ALL
  SELECT run_id, 187, 'serving_task_result', 'e2e_p50_s', e2e_p50_s FROM task UNION ALL
  SELECT run_id, 188, 'serving_task_result', 'e2e_p99_s', e2e_p99_s FROM task UNION ALL
  SELECT run_id, 189, 'serving_task_result', 'first_mean_s', first_mean_s FROM task UNION ALL
  SELECT run_id, 190, 'serving_task_result', 'first_p99_s', first_p99_s FROM task UNION ALL
  SELECT run_id, 191, 'serving_task_result', 'turns_mean', turns_mean FROM task UNION ALL
  SELECT run_id, 192, 'serving_task_result', 'input_tokens_mean', input_tokens_mean FROM task UNION ALL
  SELECT run_id, 193, 'serving_task_result', 'cached_tokens_mean', cached_tokens_mean FROM task UNION ALL
  SELECT run_id, 194, 'serving_task_result', 'output_tokens_mean', output_tokens_mean FROM task UNION ALL
  SELECT run_id, 195, 'serving_task_result', 'in_flight_mean', in_flight_mean FROM task UNION ALL
  SELECT run_id, 196, 'serving_task_result', 'gpu_seconds_mean', gpu_seconds_mean FROM task UNION ALL
  SELECT run_id, 197, 'serving_task_result', 'cpu_cores_mean', cpu_cores_mean FROM task UNION ALL
  SELECT run_id, 198, 'serving_task_result', 'cost_per_task', cost_per_task FROM task UNION ALL
  SELECT run_id, 199, 'serving_task_result', 'rejected', rejected FROM task UNION ALL
  SELECT run_id, 200, 'serving_task_result', 'timeouts', timeouts FROM task UNION ALL
  SELECT run_id, 201, 'serving_task_result', 'over_turns', over_turns FROM task UNION ALL
  SELECT run_id, 202, 'serving_task_result', 'over_tokens', over_tokens FROM task UNION ALL
  SELECT run_id, 203, 'serving_task_result', 'over_context', over_context FROM task UNION ALL
  SELECT run_id, 204, 'serving_task_result', 'tasks', tasks FROM task
),
side AS (
  SELECT
    f.position,
    f.table_name,
    f.name,
    max(iif(f.run_id = pair.other, f.value, NULL)) AS other,
    max(iif(f.run_id = pair.this, f.value, NULL)) AS this
  FROM fact f
  CROSS JOIN pair
  WHERE pair.other IS NOT NULL
  GROUP BY f.position, f.table_name, f.name
)
SELECT
  s.name AS metric,
  s.other,
  s.this,
  iif(abs(s.this - s.other) <= 1e-7 * abs(s.other), 0.0, 100.0 * (s.this - s.other)) / nullif(abs(s.other), 0) AS change_percent,
  coalesce(d.unit, '') AS unit,
  coalesce(d.sentence, '') AS meaning
FROM side s
LEFT JOIN metric_def d ON d.table_name = s.table_name AND d.name = s.name
WHERE coalesce(s.other, 0) <> 0 OR coalesce(s.this, 0) <> 0
ORDER BY s.position;

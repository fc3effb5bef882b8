-- What differs in the results of two runs? Results that are 0 in both are skipped.
-- reads: training_result(iteration_time_s, tokens_per_s, tokens_per_s_per_gpu, model_tflops_per_gpu, mfu, hfu, bubble_fraction, exposed_comm_fraction, memory_peak_bytes, fits, n_gpus, cost_per_gpu_hour, cost_per_step, cost_per_million_tokens, cost_per_run); collectives_result(time_s, algbw_bytes_per_s, busbw_bytes_per_s, size_bytes, mean_busbw_bytes_per_s, n_ranks); serving_result(ttft_mean_s, ttft_p99_s, tpot_mean_s, tpot_p99_s, itl_mean_s, itl_p99_s, e2e_mean_s, e2e_p99_s, queue_mean_s, output_tokens_per_s, output_tokens_per_s_per_gpu, requests_per_s, goodput_rps, kv_utilization, kv_peak, prefix_hit_rate, preemptions, running_mean, gpu_busy, comm_fraction, energy_j_per_output_token, cost_per_gpu_hour, cost_per_million_input_tokens, cost_per_million_output_tokens, saturated, n_gpus, replicas); cluster_result(jct_mean_s, jct_p50_s, jct_p95_s, jct_p99_s, wait_mean_s, wait_p50_s, wait_p95_s, wait_p99_s, makespan_s, utilization, useful, idle_while_waiting, fragmentation, largest_gang, slowdown_jain, rho_mean, rho_max, placement_slowdown, ettr, preemptions, failures, gpu_hours, overhead_gpu_hours, failed_gpu_hours, gpu_power_mean_w, energy_kwh, cost_hardware, cost_energy, cost_per_useful_gpu_hour, most_waiting, n_timed_out, n_left_out, n_jobs, n_gpus); post_training_result(step_time_s, tokens_per_s, tokens_per_s_per_gpu, samples_per_s, rollout_s, rollout_tail, rollout_wait_s, switch_s, data_s, old_log_probs_s, reference_s, rewards_s, values_s, critic_update_s, update_s, weight_sync_s, rollout_busy, rollout_sequences, rollout_help, trainer_busy, staleness_mean, staleness_most, computed_again, preemptions, samples_dropped, samples_resumed, rollout_memory_bytes, update_memory_bytes, fits, energy_j_per_step, gpu_power_mean_w, rollout_gpus, update_gpus, replicas, n_gpus)
-- takes: other (the run to compare with; the previous run of the same kind when not given)
-- rows-from: two runs of training, serving, collectives, post-training or clusters of jobs
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
  SELECT run_id, 117, 'cluster_result', 'n_gpus', n_gpus FROM cluster
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

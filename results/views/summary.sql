-- What is the result of the run: step time, latencies, goodput, waits, bandwidths, or the best point of a sweep?
-- reads: training_result(iteration_time_s, tokens_per_s, tokens_per_s_per_gpu, model_tflops_per_gpu, hardware_tflops_per_gpu, mfu, hfu, memory_peak_bytes, fits, bubble_fraction, exposed_comm_fraction, n_gpus, tp, pp, dp, cp, micro_batches, layer_forward_s, layer_backward_s, costs_outside); serving_result(ttft_mean_s, ttft_p99_s, tpot_mean_s, tpot_p99_s, goodput_rps, requests_per_s, output_tokens_per_s, output_tokens_per_s_per_gpu, running_mean, gpu_busy, kv_utilization, kv_peak, prefix_hit_rate, preemptions, saturated, n_gpus, replicas); campaign_result(goodput, goodput_low, goodput_high, tokens_per_day, tokens_per_s, tokens, duration_s, effective_s, step_s, failures, mttf_s, restarts, checkpoints, stall_s, out_p50, out_p99, stopped, seeds, n_gpus); cluster_result(utilization, useful, makespan_s, wait_mean_s, wait_p50_s, wait_p95_s, wait_p99_s, jct_mean_s, jct_p50_s, jct_p95_s, jct_p99_s, slowdown_jain, idle_while_waiting, gpu_hours, overhead_gpu_hours, preemptions, most_waiting, n_jobs, n_timed_out, n_left_out, n_gpus); post_training_result(step_time_s, tokens_per_s, tokens_per_s_per_gpu, samples_per_s, rollout_s, rollout_tail, rollout_wait_s, update_s, weight_sync_s, switch_s, old_log_probs_s, reference_s, data_s, rollout_busy, trainer_busy, response_tokens_mean, response_tokens_most, staleness_mean, update_memory_bytes, rollout_memory_bytes, fits, gpu_power_mean_w, energy_j_per_step, rollout_gpus, update_gpus, replicas, n_gpus); diffusion_result(latency_s, outputs_per_s, text_s, denoise_s, step_s, decode_s, gemm_s, attention_s, memory_s, exposed_comm_s, wait_s, tflops_per_gpu, weight_bytes, activation_bytes, gpu_power_mean_w, energy_j_per_output, batch, n_gpus); step_result(step_s, samples_per_s, samples_per_s_per_gpu, gemm_s, attention_s, memory_s, optimizer_s, host_memory_s, exposed_comm_s, wait_s, tflops_per_gpu, model_bytes, gpu_power_mean_w, energy_j_per_sample, batch, n_gpus); collectives_result(time_s, algbw_bytes_per_s, busbw_bytes_per_s, size_bytes, mean_busbw_bytes_per_s, gpu_power_mean_w, energy_j_per_call, n_sizes, n_ranks, n_groups, n_gpus); trace_result(time_s, compute_s, modelled_fraction, host_s, exposed_comm_s, wait_s, exposed_comm_fraction, comm_bytes, n_collectives, n_sends, n_nodes, n_gpus); sweep(n_points, n_combinations, objective); sweep_point(rung, status, eligible, objective_1); band(metric, low, high, expected, quality)
-- rows-from: any run but validations
-- metric: name of the result, as in the tables of results, such as training_result, and of sweep
-- value: the value, in the given unit
-- low: lower bound of a measurement of it (error band); empty where nothing measured is like the run
-- high: upper bound
-- unit: the unit; empty for counts and fractions
-- quality: good, weak or none: how well measured rows support the bounds; empty where a result has no band
-- meaning: what the result means
-- expected: what a measurement would most likely show: the middle of the band
WITH training AS (SELECT * FROM training_result WHERE run_id = :run),
serving AS (SELECT * FROM serving_result WHERE run_id = :run),
campaign AS (SELECT * FROM campaign_result WHERE run_id = :run),
cluster AS (SELECT * FROM cluster_result WHERE run_id = :run),
post_training AS (SELECT * FROM post_training_result WHERE run_id = :run),
diffusion AS (SELECT * FROM diffusion_result WHERE run_id = :run),
step AS (SELECT * FROM step_result WHERE run_id = :run),
collectives AS (SELECT * FROM collectives_result WHERE run_id = :run),
traced AS (SELECT * FROM trace_result WHERE run_id = :run),
asked AS (SELECT run_id AS id, n_points, n_combinations, objective FROM sweep WHERE run_id = :run),
last AS (SELECT max(p.rung) AS rung FROM asked JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points),
found AS (
  SELECT
    asked.n_combinations,
    asked.n_points,
    count(p.run_id) AS done,
    count(p.run_id) FILTER (WHERE p.status = 'ok') AS answered,
    count(p.run_id) FILTER (WHERE p.eligible AND p.rung = last.rung) AS eligible,
    iif(
      asked.objective LIKE 'maximize %',
      max(p.objective_1) FILTER (WHERE p.eligible AND p.rung = last.rung),
      min(p.objective_1) FILTER (WHERE p.eligible AND p.rung = last.rung)
    ) AS best,
    substr(asked.objective, 1, instr(asked.objective || '; ', '; ') - 1) AS text
  FROM asked
  CROSS JOIN last
  LEFT JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  GROUP BY asked.id
),
metric (position, source, name, value, meaning) AS (
  SELECT 1, 'training_result', 'iteration_time_s', iteration_time_s, NULL FROM training UNION ALL
  SELECT 2, 'training_result', 'tokens_per_s', tokens_per_s, NULL FROM training UNION ALL
  SELECT 3, 'training_result', 'tokens_per_s_per_gpu', tokens_per_s_per_gpu, NULL FROM training UNION ALL
  SELECT 4, 'training_result', 'model_tflops_per_gpu', model_tflops_per_gpu, NULL FROM training UNION ALL
  SELECT 5, 'training_result', 'hardware_tflops_per_gpu', hardware_tflops_per_gpu, NULL FROM training UNION ALL
  SELECT 6, 'training_result', 'mfu', mfu, NULL FROM training UNION ALL
  SELECT 7, 'training_result', 'hfu', hfu, NULL FROM training UNION ALL
  SELECT 8, 'training_result', 'bubble_fraction', bubble_fraction, NULL FROM training UNION ALL
  SELECT 9, 'training_result', 'exposed_comm_fraction', exposed_comm_fraction, NULL FROM training UNION ALL
  SELECT 10, 'training_result', 'memory_peak_bytes', memory_peak_bytes, NULL FROM training UNION ALL
  SELECT 11, 'training_result', 'fits', fits, NULL FROM training UNION ALL
  SELECT 12, 'training_result', 'n_gpus', n_gpus, NULL FROM training UNION ALL
  SELECT 13, 'training_result', 'tp', tp, NULL FROM training UNION ALL
  SELECT 14, 'training_result', 'pp', pp, NULL FROM training UNION ALL
  SELECT 15, 'training_result', 'dp', dp, NULL FROM training UNION ALL
  SELECT 16, 'training_result', 'cp', cp, NULL FROM training UNION ALL
  SELECT 17, 'training_result', 'micro_batches', micro_batches, NULL FROM training UNION ALL
  SELECT 18, 'training_result', 'layer_forward_s', layer_forward_s, NULL FROM training UNION ALL
  SELECT 19, 'training_result', 'layer_backward_s', layer_backward_s, NULL FROM training UNION ALL
  SELECT 20, 'training_result', 'costs_outside', costs_outside, NULL FROM training UNION ALL
  SELECT 21, 'serving_result', 'ttft_mean_s', ttft_mean_s, NULL FROM serving UNION ALL
  SELECT 22, 'serving_result', 'ttft_p99_s', ttft_p99_s, NULL FROM serving UNION ALL
  SELECT 23, 'serving_result', 'tpot_mean_s', tpot_mean_s, NULL FROM serving UNION ALL
  SELECT 24, 'serving_result', 'tpot_p99_s', tpot_p99_s, NULL FROM serving UNION ALL
  SELECT 25, 'serving_result', 'goodput_rps', goodput_rps, NULL FROM serving UNION ALL
  SELECT 26, 'serving_result', 'requests_per_s', requests_per_s, NULL FROM serving UNION ALL
  SELECT 27, 'serving_result', 'output_tokens_per_s', output_tokens_per_s, NULL FROM serving UNION ALL
  SELECT 28, 'serving_result', 'output_tokens_per_s_per_gpu', output_tokens_per_s_per_gpu, NULL FROM serving UNION ALL
  SELECT 29, 'serving_result', 'running_mean', running_mean, NULL FROM serving UNION ALL
  SELECT 30, 'serving_result', 'gpu_busy', gpu_busy, NULL FROM serving UNION ALL
  SELECT 31, 'serving_result', 'kv_utilization', kv_utilization, NULL FROM serving UNION ALL
  SELECT 32, 'serving_result', 'kv_peak', kv_peak, NULL FROM serving UNION ALL
  SELECT 33, 'serving_result', 'prefix_hit_rate', prefix_hit_rate, NULL FROM serving UNION ALL
  SELECT 34, 'serving_result', 'preemptions', preemptions, NULL FROM serving UNION ALL
  SELECT 35, 'serving_result', 'saturated', saturated, NULL FROM serving UNION ALL
  SELECT 36, 'serving_result', 'n_gpus', n_gpus, NULL FROM serving UNION ALL
  SELECT 37, 'serving_result', 'replicas', replicas, NULL FROM serving UNION ALL
  SELECT 38, 'campaign_result', 'goodput', goodput, NULL FROM campaign UNION ALL
  SELECT 39, 'campaign_result', 'goodput_low', goodput_low, NULL FROM campaign UNION ALL
  SELECT 40, 'campaign_result', 'goodput_high', goodput_high, NULL FROM campaign UNION ALL
  SELECT 41, 'campaign_result', 'tokens_per_day', tokens_per_day, NULL FROM campaign UNION ALL
  SELECT 42, 'campaign_result', 'tokens_per_s', tokens_per_s, NULL FROM campaign UNION ALL
  SELECT 43, 'campaign_result', 'tokens', tokens, NULL FROM campaign UNION ALL
  SELECT 44, 'campaign_result', 'duration_s', duration_s, NULL FROM campaign UNION ALL
  SELECT 45, 'campaign_result', 'effective_s', effective_s, NULL FROM campaign UNION ALL
  SELECT 46, 'campaign_result', 'step_s', step_s, NULL FROM campaign UNION ALL
  SELECT 47, 'campaign_result', 'failures', failures, NULL FROM campaign UNION ALL
  SELECT 48, 'campaign_result', 'mttf_s', mttf_s, NULL FROM campaign UNION ALL
  SELECT 49, 'campaign_result', 'restarts', restarts, NULL FROM campaign UNION ALL
  SELECT 50, 'campaign_result', 'checkpoints', checkpoints, NULL FROM campaign UNION ALL
  SELECT 51, 'campaign_result', 'stall_s', stall_s, NULL FROM campaign UNION ALL
  SELECT 52, 'campaign_result', 'out_p50', out_p50, NULL FROM campaign UNION ALL
  SELECT 53, 'campaign_result', 'out_p99', out_p99, NULL FROM campaign UNION ALL
  SELECT 54, 'campaign_result', 'stopped', stopped, NULL FROM campaign UNION ALL
  SELECT 55, 'campaign_result', 'seeds', seeds, NULL FROM campaign UNION ALL
  SELECT 56, 'campaign_result', 'n_gpus', n_gpus, NULL FROM campaign UNION ALL
  SELECT 57, 'cluster_result', 'utilization', utilization, NULL FROM cluster UNION ALL
  SELECT 58, 'cluster_result', 'useful', useful, NULL FROM cluster UNION ALL
  SELECT 59, 'cluster_result', 'makespan_s', makespan_s, NULL FROM cluster UNION ALL
  SELECT 60, 'cluster_result', 'wait_mean_s', wait_mean_s, NULL FROM cluster UNION ALL
  SELECT 61, 'cluster_result', 'wait_p50_s', wait_p50_s, NULL FROM cluster UNION ALL
  SELECT 62, 'cluster_result', 'wait_p95_s', wait_p95_s, NULL FROM cluster UNION ALL
  SELECT 63, 'cluster_result', 'wait_p99_s', wait_p99_s, NULL FROM cluster UNION ALL
  SELECT 64, 'cluster_result', 'jct_mean_s', jct_mean_s, NULL FROM cluster UNION ALL
  SELECT 65, 'cluster_result', 'jct_p50_s', jct_p50_s, NULL FROM cluster UNION ALL
  SELECT 66, 'cluster_result', 'jct_p95_s', jct_p95_s, NULL FROM cluster UNION ALL
  SELECT 67, 'cluster_result', 'jct_p99_s', jct_p99_s, NULL FROM cluster UNION ALL
  SELECT 68, 'cluster_result', 'slowdown_jain', slowdown_jain, NULL FROM cluster UNION ALL
  SELECT 69, 'cluster_result', 'idle_while_waiting', idle_while_waiting, NULL FROM cluster UNION ALL
  SELECT 70, 'cluster_result', 'gpu_hours', gpu_hours, NULL FROM cluster UNION ALL
  SELECT 71, 'cluster_result', 'overhead_gpu_hours', overhead_gpu_hours, NULL FROM cluster UNION ALL
  SELECT 72, 'cluster_result', 'preemptions', preemptions, NULL FROM cluster UNION ALL
  SELECT 73, 'cluster_result', 'most_waiting', most_waiting, NULL FROM cluster UNION ALL
  SELECT 74, 'cluster_result', 'n_jobs', n_jobs, NULL FROM cluster UNION ALL
  SELECT 75, 'cluster_result', 'n_timed_out', n_timed_out, NULL FROM cluster UNION ALL
  SELECT 76, 'cluster_result', 'n_left_out', n_left_out, NULL FROM cluster UNION ALL
  SELECT 77, 'cluster_result', 'n_gpus', n_gpus, NULL FROM cluster UNION ALL
  SELECT 78, 'post_training_result', 'step_time_s', step_time_s, NULL FROM post_training UNION ALL
  SELECT 79, 'post_training_result', 'tokens_per_s', tokens_per_s, NULL FROM post_training UNION ALL
  SELECT 80, 'post_training_result', 'tokens_per_s_per_gpu', tokens_per_s_per_gpu, NULL FROM post_training UNION ALL
  SELECT 81, 'post_training_result', 'samples_per_s', samples_per_s, NULL FROM post_training UNION ALL
  SELECT 82, 'post_training_result', 'rollout_s', rollout_s, NULL FROM post_training UNION ALL
  SELECT 83, 'post_training_result', 'rollout_tail', rollout_tail, NULL FROM post_training UNION ALL
  SELECT 84, 'post_training_result', 'rollout_wait_s', rollout_wait_s, NULL FROM post_training UNION ALL
  SELECT 85, 'post_training_result', 'update_s', update_s, NULL FROM post_training UNION ALL
  SELECT 86, 'post_training_result', 'weight_sync_s', weight_sync_s, NULL FROM post_training UNION ALL
  SELECT 87, 'post_training_result', 'switch_s', switch_s, NULL FROM post_training UNION ALL
  SELECT 88, 'post_training_result', 'old_log_probs_s', old_log_probs_s, NULL FROM post_training UNION ALL
  SELECT 89, 'post_training_result', 'reference_s', reference_s, NULL FROM post_training UNION ALL
  SELECT 90, 'post_training_result', 'data_s', data_s, NULL FROM post_training UNION ALL
  SELECT 91, 'post_training_result', 'rollout_busy', rollout_busy, NULL FROM post_training UNION ALL
  SELECT 92, 'post_training_result', 'trainer_busy', trainer_busy, NULL FROM post_training UNION ALL
  SELECT 93, 'post_training_result', 'response_tokens_mean', response_tokens_mean, NULL FROM post_training UNION ALL
  SELECT 94, 'post_training_result', 'response_tokens_most', response_tokens_most, NULL FROM post_training UNION ALL
  SELECT 95, 'post_training_result', 'staleness_mean', staleness_mean, NULL FROM post_training UNION ALL
  SELECT 96, 'post_training_result', 'update_memory_bytes', update_memory_bytes, NULL FROM post_training UNION ALL
  SELECT 97, 'post_training_result', 'rollout_memory_bytes', rollout_memory_bytes, NULL FROM post_training UNION ALL
  SELECT 98, 'post_training_result', 'fits', fits, NULL FROM post_training UNION ALL
  SELECT 99, 'post_training_result', 'gpu_power_mean_w', gpu_power_mean_w, NULL FROM post_training UNION ALL
  SELECT 100, 'post_training_result', 'energy_j_per_step', energy_j_per_step, NULL FROM post_training UNION ALL
  SELECT 101, 'post_training_result', 'rollout_gpus', rollout_gpus, NULL FROM post_training UNION ALL
  SELECT 102, 'post_training_result', 'update_gpus', update_gpus, NULL FROM post_training UNION ALL
  SELECT 103, 'post_training_result', 'replicas', replicas, NULL FROM post_training UNION ALL
  SELECT 104, 'post_training_result', 'n_gpus', n_gpus, NULL FROM post_training UNION ALL
  SELECT 105, 'diffusion_result', 'latency_s', latency_s, NULL FROM diffusion UNION ALL
  SELECT 106, 'diffusion_result', 'outputs_per_s', outputs_per_s, NULL FROM diffusion UNION ALL
  SELECT 107, 'diffusion_result', 'text_s', text_s, NULL FROM diffusion UNION ALL
  SELECT 108, 'diffusion_result', 'denoise_s', denoise_s, NULL FROM diffusion UNION ALL
  SELECT 109, 'diffusion_result', 'step_s', step_s, NULL FROM diffusion UNION ALL
  SELECT 110, 'diffusion_result', 'decode_s', decode_s, NULL FROM diffusion UNION ALL
  SELECT 111, 'diffusion_result', 'gemm_s', gemm_s, NULL FROM diffusion UNION ALL
  SELECT 112, 'diffusion_result', 'attention_s', attention_s, NULL FROM diffusion UNION ALL
  SELECT 113, 'diffusion_result', 'memory_s', memory_s, NULL FROM diffusion UNION ALL
  SELECT 114, 'diffusion_result', 'exposed_comm_s', exposed_comm_s, NULL FROM diffusion UNION ALL
  SELECT 115, 'diffusion_result', 'wait_s', wait_s, NULL FROM diffusion UNION ALL
  SELECT 116, 'diffusion_result', 'tflops_per_gpu', tflops_per_gpu, NULL FROM diffusion UNION ALL
  SELECT 117, 'diffusion_result', 'weight_bytes', weight_bytes, NULL FROM diffusion UNION ALL
  SELECT 118, 'diffusion_result', 'activation_bytes', activation_bytes, NULL FROM diffusion UNION ALL
  SELECT 119, 'diffusion_result', 'gpu_power_mean_w', gpu_power_mean_w, NULL FROM diffusion UNION ALL
  SELECT 120, 'diffusion_result', 'energy_j_per_output', energy_j_per_output, NULL FROM diffusion UNION ALL
  SELECT 121, 'diffusion_result', 'batch', batch, NULL FROM diffusion UNION ALL
  SELECT 122, 'diffusion_result', 'n_gpus', n_gpus, NULL FROM diffusion UNION ALL
  SELECT 123, 'step_result', 'step_s', step_s, NULL FROM step UNION ALL
  SELECT 124, 'step_result', 'samples_per_s', samples_per_s, NULL FROM step UNION ALL
  SELECT 125, 'step_result', 'samples_per_s_per_gpu', samples_per_s_per_gpu, NULL FROM step UNION ALL
  SELECT 126, 'step_result', 'gemm_s', gemm_s, NULL FROM step UNION ALL
  SELECT 127, 'step_result', 'attention_s', attention_s, NULL FROM step UNION ALL
  SELECT 128, 'step_result', 'memory_s', memory_s, NULL FROM step UNION ALL
  SELECT 129, 'step_result', 'optimizer_s', optimizer_s, NULL FROM step UNION ALL
  SELECT 130, 'step_result', 'host_memory_s', host_memory_s, NULL FROM step UNION ALL
  SELECT 131, 'step_result', 'exposed_comm_s', exposed_comm_s, NULL FROM step UNION ALL
  SELECT 132, 'step_result', 'wait_s', wait_s, NULL FROM step UNION ALL
  SELECT 133, 'step_result', 'tflops_per_gpu', tflops_per_gpu, NULL FROM step UNION ALL
  SELECT 134, 'step_result', 'model_bytes', model_bytes, NULL FROM step UNION ALL
  SELECT 135, 'step_result', 'gpu_power_mean_w', gpu_power_mean_w, NULL FROM step UNION ALL
  SELECT 136, 'step_result', 'energy_j_per_sample', energy_j_per_sample, NULL FROM step UNION ALL
  SELECT 137, 'step_result', 'batch', batch, NULL FROM step UNION ALL
  SELECT 138, 'step_result', 'n_gpus', n_gpus, NULL FROM step UNION ALL
  SELECT 139, 'collectives_result', 'time_s', time_s, NULL FROM collectives UNION ALL
  SELECT 140, 'collectives_result', 'algbw_bytes_per_s', algbw_bytes_per_s, NULL FROM collectives UNION ALL
  SELECT 141, 'collectives_result', 'busbw_bytes_per_s', busbw_bytes_per_s, NULL FROM collectives UNION ALL
  SELECT 142, 'collectives_result', 'size_bytes', size_bytes, NULL FROM collectives UNION ALL
  SELECT 143, 'collectives_result', 'mean_busbw_bytes_per_s', mean_busbw_bytes_per_s, NULL FROM collectives UNION ALL
  SELECT 144, 'collectives_result', 'gpu_power_mean_w', gpu_power_mean_w, NULL FROM collectives UNION ALL
  SELECT 145, 'collectives_result', 'energy_j_per_call', energy_j_per_call, NULL FROM collectives UNION ALL
  SELECT 146, 'collectives_result', 'n_sizes', n_sizes, NULL FROM collectives UNION ALL
  SELECT 147, 'collectives_result', 'n_ranks', n_ranks, NULL FROM collectives UNION ALL
  SELECT 148, 'collectives_result', 'n_groups', n_groups, NULL FROM collectives UNION ALL
  SELECT 149, 'collectives_result', 'n_gpus', n_gpus, NULL FROM collectives UNION ALL
  SELECT 150, 'trace_result', 'time_s', time_s, NULL FROM traced UNION ALL
  SELECT 151, 'trace_result', 'compute_s', compute_s, NULL FROM traced UNION ALL
  SELECT 152, 'trace_result', 'modelled_fraction', modelled_fraction, NULL FROM traced UNION ALL
  SELECT 153, 'trace_result', 'host_s', host_s, NULL FROM traced UNION ALL
  SELECT 154, 'trace_result', 'exposed_comm_s', exposed_comm_s, NULL FROM traced UNION ALL
  SELECT 155, 'trace_result', 'wait_s', wait_s, NULL FROM traced UNION ALL
  SELECT 156, 'trace_result', 'exposed_comm_fraction', exposed_comm_fraction, NULL FROM traced UNION ALL
  SELECT 157, 'trace_result', 'comm_bytes', comm_bytes, NULL FROM traced UNION ALL
  SELECT 158, 'trace_result', 'n_collectives', n_collectives, NULL FROM traced UNION ALL
  SELECT 159, 'trace_result', 'n_sends', n_sends, NULL FROM traced UNION ALL
  SELECT 160, 'trace_result', 'n_nodes', n_nodes, NULL FROM traced UNION ALL
  SELECT 161, 'trace_result', 'n_gpus', n_gpus, NULL FROM traced UNION ALL
  SELECT 162, 'sweep', 'best', best, text FROM found UNION ALL
  SELECT 163, 'sweep', 'n_combinations', n_combinations, NULL FROM found UNION ALL
  SELECT 164, 'sweep', 'n_points', n_points, NULL FROM found UNION ALL
  SELECT 165, 'sweep', 'done', done, 'Points that are stored.' FROM found UNION ALL
  SELECT 166, 'sweep', 'answered', answered, 'Of them, those that were simulated to the end.' FROM found UNION ALL
  SELECT 167, 'sweep', 'eligible', eligible, 'Of them, those that are compared: of the last rung, and the constraints on results hold.' FROM found
)
SELECT
  m.name AS metric,
  m.value,
  b.low,
  b.high,
  coalesce(d.unit, '') AS unit,
  b.quality,
  coalesce(m.meaning, d.sentence, '') AS meaning,
  b.expected
FROM metric m
LEFT JOIN band b ON b.run_id = :run AND b.metric = m.name
LEFT JOIN metric_def d ON d.table_name = m.source AND d.name = m.name
ORDER BY m.position;

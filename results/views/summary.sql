-- What is the result of the run: step time, serving latencies, or the best point of a sweep?
-- reads: training_result(iteration_time_s, tokens_per_s, tokens_per_s_per_gpu, model_tflops_per_gpu, hardware_tflops_per_gpu, mfu, hfu, memory_peak_bytes, fits, bubble_fraction, exposed_comm_fraction, n_gpus, tp, pp, dp, cp, micro_batches, layer_forward_s, layer_backward_s, costs_outside); serving_result(ttft_mean_s, ttft_p99_s, tpot_mean_s, tpot_p99_s, goodput_rps, requests_per_s, output_tokens_per_s, output_tokens_per_s_per_gpu, running_mean, gpu_busy, kv_utilization, kv_peak, prefix_hit_rate, preemptions, saturated, n_gpus, replicas); sweep(n_points, n_combinations, objective); sweep_point(rung, status, eligible, objective_1); band(metric, low, high, quality)
-- metric: name of the result, as in the tables training_result, serving_result and sweep
-- value: the value, in the given unit
-- low: lower bound of a measurement of it (error band); empty where nothing measured is like the run
-- high: upper bound
-- unit: the unit; empty for counts and fractions
-- quality: good, weak or none: how well measured rows support the bounds; empty where a result has no band
-- meaning: what the result means
WITH training AS (SELECT * FROM training_result WHERE run_id = :run),
serving AS (SELECT * FROM serving_result WHERE run_id = :run),
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
  SELECT 38, 'sweep', 'best', best, text FROM found UNION ALL
  SELECT 39, 'sweep', 'n_combinations', n_combinations, NULL FROM found UNION ALL
  SELECT 40, 'sweep', 'n_points', n_points, NULL FROM found UNION ALL
  SELECT 41, 'sweep', 'done', done, 'Points that are stored.' FROM found UNION ALL
  SELECT 42, 'sweep', 'answered', answered, 'Of them, those that were simulated to the end.' FROM found UNION ALL
  SELECT 43, 'sweep', 'eligible', eligible, 'Of them, those that are compared: of the last rung, and the constraints on results hold.' FROM found
)
SELECT
  m.name AS metric,
  m.value,
  b.low,
  b.high,
  coalesce(d.unit, '') AS unit,
  b.quality,
  coalesce(m.meaning, d.sentence, '') AS meaning
FROM metric m
LEFT JOIN band b ON b.run_id = :run AND b.metric = m.name
LEFT JOIN metric_def d ON d.table_name = m.source AND d.name = m.name
ORDER BY m.position;

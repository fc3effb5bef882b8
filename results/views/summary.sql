-- How long does a step take, how well does it use the machine, and does it fit?
-- reads: training_result(iteration_time_s, tokens_per_s, tokens_per_s_per_gpu, model_tflops_per_gpu, hardware_tflops_per_gpu, mfu, hfu, memory_peak_bytes, fits, bubble_fraction, exposed_comm_fraction, n_gpus, tp, pp, dp, cp, micro_batches, layer_forward_s, layer_backward_s, costs_outside)
-- metric: the result's name, as `run --json` and the training_result table call it
-- value: its value in the unit beside it
-- unit: its unit; empty for counts and fractions
-- meaning: what it says
WITH result AS (SELECT * FROM training_result WHERE run_id = :run),
metric (position, name, value) AS (
  SELECT 1, 'iteration_time_s', iteration_time_s FROM result UNION ALL
  SELECT 2, 'tokens_per_s', tokens_per_s FROM result UNION ALL
  SELECT 3, 'tokens_per_s_per_gpu', tokens_per_s_per_gpu FROM result UNION ALL
  SELECT 4, 'model_tflops_per_gpu', model_tflops_per_gpu FROM result UNION ALL
  SELECT 5, 'hardware_tflops_per_gpu', hardware_tflops_per_gpu FROM result UNION ALL
  SELECT 6, 'mfu', mfu FROM result UNION ALL
  SELECT 7, 'hfu', hfu FROM result UNION ALL
  SELECT 8, 'bubble_fraction', bubble_fraction FROM result UNION ALL
  SELECT 9, 'exposed_comm_fraction', exposed_comm_fraction FROM result UNION ALL
  SELECT 10, 'memory_peak_bytes', memory_peak_bytes FROM result UNION ALL
  SELECT 11, 'fits', fits FROM result UNION ALL
  SELECT 12, 'n_gpus', n_gpus FROM result UNION ALL
  SELECT 13, 'tp', tp FROM result UNION ALL
  SELECT 14, 'pp', pp FROM result UNION ALL
  SELECT 15, 'dp', dp FROM result UNION ALL
  SELECT 16, 'cp', cp FROM result UNION ALL
  SELECT 17, 'micro_batches', micro_batches FROM result UNION ALL
  SELECT 18, 'layer_forward_s', layer_forward_s FROM result UNION ALL
  SELECT 19, 'layer_backward_s', layer_backward_s FROM result UNION ALL
  SELECT 20, 'costs_outside', costs_outside FROM result
)
SELECT m.name AS metric, m.value, coalesce(d.unit, '') AS unit, coalesce(d.sentence, '') AS meaning
FROM metric m
LEFT JOIN metric_def d ON d.table_name = 'training_result' AND d.name = m.name
ORDER BY m.position;

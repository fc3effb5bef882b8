-- Which layouts did a plan consider, what does each serve, and why are the others not among the best?
-- reads: plan_layout(layout, status, bound_by, reason, words, cluster, gpus_per_cell, cells, fleet_rate_rps, rate_rps, below_rps, fails_rps, ttft_p99_s, tpot_p99_s, output_tokens_per_s_per_gpu, power_w, cost_per_million_output_tokens); plan_sure(layout, sure_rate_rps)
-- rows-from: plans of serving
-- about: plan
-- layout: the layout's number
-- status: measured, pruned (worse than the best), late (a request alone misses an objective), refused or failed
-- words: the layout
-- cluster: its machine
-- gpus: GPUs that answer the question; for layouts that are not measured, the GPUs of one replica or cell
-- rate_rps: highest rate of all of them within the objectives, requests per second
-- sure_rate_rps: the rate that a measurement reaches, too, with 90 % confidence; of the best layouts
-- bound_by: the objective that a higher rate would miss
-- ttft_p99_s: time to the first token at that rate, 99th percentile, seconds
-- tpot_p99_s: time per further token at that rate, 99th percentile, seconds
-- tokens_per_s_per_gpu: output tokens per second per GPU at that rate
-- watts_per_gpu: mean power of a GPU at that rate
-- cost: of a million output tokens, in the currency of the prices
-- reason: why it is not measured, or the rate per replica or cell at which a pruned one misses the objectives
SELECT
  p.layout,
  p.status,
  p.words,
  p.cluster,
  iif(p.cells > 0 AND p.status = 'measured', p.cells, 1) * p.gpus_per_cell AS gpus,
  iif(p.status = 'measured', p.fleet_rate_rps, NULL) AS rate_rps,
  p.cells * s.sure_rate_rps AS sure_rate_rps,
  iif(p.status IN ('measured', 'pruned'), p.bound_by, NULL) AS bound_by,
  iif(p.rate_rps > 0, p.ttft_p99_s, NULL) AS ttft_p99_s,
  iif(p.rate_rps > 0, p.tpot_p99_s, NULL) AS tpot_p99_s,
  iif(p.rate_rps > 0, p.output_tokens_per_s_per_gpu, NULL) AS tokens_per_s_per_gpu,
  iif(p.rate_rps > 0, p.power_w / p.gpus_per_cell, NULL) AS watts_per_gpu,
  iif(p.rate_rps > 0, p.cost_per_million_output_tokens, NULL) AS cost,
  coalesce(p.reason, iif(p.below_rps > 0, printf('misses the objectives at %.4g requests/s', p.below_rps), NULL)) AS reason
FROM plan_layout p
LEFT JOIN plan_sure s ON s.run_id = p.run_id AND s.layout = p.layout
WHERE p.run_id = :run
ORDER BY p.status <> 'measured', p.status <> 'pruned', -p.fleet_rate_rps / gpus, p.layout

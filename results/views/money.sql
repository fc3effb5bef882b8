-- What does each run cost, and what does it cost to make it faster?
-- reads: training_result(iteration_time_s, n_gpus, tokens_per_s, hardware_cost_per_gpu_hour, energy_cost_per_gpu_hour, cost_per_gpu_hour, cost_per_day, cost_per_million_tokens, cost_per_step, run_days, cost_per_run, carbon_g_per_million_tokens); serving_result(n_gpus, total_tokens_per_s, hardware_cost_per_gpu_hour, energy_cost_per_gpu_hour, cost_per_gpu_hour, cost_per_day, cost_per_million_tokens, cost_per_million_input_tokens, cost_per_million_output_tokens, carbon_g_per_million_tokens); bill(item, count, price)
-- rows-from: runs of training and serving whose scenario has prices
-- run: number of the run
-- scenario: name of the scenario
-- n_gpus: GPUs of the job
-- step_s: time of an optimizer step
-- tokens_per_s: tokens trained, or of prompts and outputs together
-- machine_gpu: price of the whole machine for each of its GPUs; empty where it is rented
-- network_gpu: price of switches, cables and optics among it, for each GPU
-- hardware_gpu_hour: one GPU for one hour, without energy
-- energy_gpu_hour: energy of one GPU for one hour
-- cost_gpu_hour: sum of the two, or of the one that has a price; empty where one is not known
-- cost_day: all GPUs of the job for a day
-- cost_million_tokens: per million tokens, trained or of prompts and outputs together
-- cost_million_input: all of the cost per million prompt tokens
-- cost_million_output: all of the cost per million output tokens
-- cost_step: one optimizer step
-- run_days: days that the whole training run takes
-- cost_run: the whole training run
-- carbon_g_million_tokens: grams of CO2 per million tokens
WITH priced AS (
  SELECT
    run_id,
    sum(price) / sum(iif(item = 'gpu', count, 0)) AS machine,
    sum(iif(item IN ('scale-up-switch', 'switch', 'cable', 'optic'), price, NULL)) / sum(iif(item = 'gpu', count, 0)) AS network
  FROM bill
  GROUP BY run_id
)
SELECT
  run.id AS run,
  run.scenario,
  coalesce(t.n_gpus, s.n_gpus) AS n_gpus,
  t.iteration_time_s AS step_s,
  coalesce(t.tokens_per_s, s.total_tokens_per_s) AS tokens_per_s,
  priced.machine AS machine_gpu,
  priced.network AS network_gpu,
  coalesce(t.hardware_cost_per_gpu_hour, s.hardware_cost_per_gpu_hour) AS hardware_gpu_hour,
  coalesce(t.energy_cost_per_gpu_hour, s.energy_cost_per_gpu_hour) AS energy_gpu_hour,
  coalesce(t.cost_per_gpu_hour, s.cost_per_gpu_hour) AS cost_gpu_hour,
  coalesce(t.cost_per_day, s.cost_per_day) AS cost_day,
  coalesce(t.cost_per_million_tokens, s.cost_per_million_tokens) AS cost_million_tokens,
  s.cost_per_million_input_tokens AS cost_million_input,
  s.cost_per_million_output_tokens AS cost_million_output,
  t.cost_per_step AS cost_step,
  t.run_days,
  t.cost_per_run AS cost_run,
  coalesce(t.carbon_g_per_million_tokens, s.carbon_g_per_million_tokens) AS carbon_g_million_tokens
FROM run
LEFT JOIN training_result t ON t.run_id = run.id
LEFT JOIN serving_result s ON s.run_id = run.id
LEFT JOIN priced ON priced.run_id = run.id
WHERE t.run_id IS NOT NULL OR s.run_id IS NOT NULL
ORDER BY run.id;

-- What does each run cost, and what does it cost to make it faster?
-- reads: training_result(iteration_time_s, n_gpus, tokens_per_s, hardware_cost_per_gpu_hour, energy_cost_per_gpu_hour, cost_per_gpu_hour, cost_per_day, cost_per_million_tokens, carbon_g_per_million_tokens, cost_per_step, run_days, cost_per_run); serving_result(n_gpus, total_tokens_per_s, hardware_cost_per_gpu_hour, energy_cost_per_gpu_hour, cost_per_gpu_hour, cost_per_day, cost_per_million_tokens, carbon_g_per_million_tokens, cost_per_million_input_tokens, cost_per_million_output_tokens); post_training_result(step_time_s, n_gpus, tokens_per_s, hardware_cost_per_gpu_hour, energy_cost_per_gpu_hour, cost_per_gpu_hour, cost_per_day, cost_per_million_tokens, carbon_g_per_million_tokens, cost_per_million_response_tokens, cost_per_step, run_days, cost_per_run); campaign_result(step_s, n_gpus, tokens_per_s, hardware_cost_per_gpu_hour, energy_cost_per_gpu_hour, cost_per_gpu_hour, cost_per_day, cost_per_million_tokens, carbon_g_per_million_tokens, duration_s, cost); collectives_result(n_gpus, hardware_cost_per_gpu_hour, energy_cost_per_gpu_hour, cost_per_gpu_hour, cost_per_day, cost_per_million_tokens, carbon_g_per_million_tokens); bill(item, count, price)
-- rows-from: runs of training, serving, post-training, campaigns and collectives
-- run: number of the run
-- scenario: name of the scenario
-- n_gpus: GPUs of the job
-- step_s: time of a step of training or post-training
-- tokens_per_s: tokens trained (of a campaign, kept), or of prompts and outputs together
-- machine_gpu: price of the whole machine for each of its GPUs; empty where it is rented
-- network_gpu: price of switches, cables and optics among it, for each GPU
-- hardware_gpu_hour: one GPU for one hour, without energy
-- energy_gpu_hour: energy of one GPU for one hour
-- cost_gpu_hour: sum of the two, or of the one that has a price; empty where one is not known
-- cost_day: all GPUs of the job for a day
-- cost_million_tokens: per million tokens, trained or of prompts and outputs together
-- cost_million_input: all of the cost per million prompt tokens
-- cost_million_output: all of the cost per million output tokens, or tokens of responses
-- cost_step: one step
-- run_days: days that the whole run takes, or the campaign
-- cost_run: all of it
-- carbon_g_million_tokens: grams of CO2 per million tokens
WITH priced AS (
  SELECT
    run_id,
    sum(price) / sum(iif(item = 'gpu', count, 0)) AS machine,
    sum(iif(item IN ('scale-up-switch', 'switch', 'cable', 'optic'), price, NULL)) / sum(iif(item = 'gpu', count, 0)) AS network
  FROM bill
  GROUP BY run_id
),
answer AS (
  SELECT
    run_id,
    n_gpus,
    iteration_time_s AS step_s,
    tokens_per_s AS tokens_per_s,
    hardware_cost_per_gpu_hour,
    energy_cost_per_gpu_hour,
    cost_per_gpu_hour,
    cost_per_day,
    cost_per_million_tokens,
    NULL AS cost_million_input,
    NULL AS cost_million_output,
    cost_per_step AS cost_step,
    run_days AS run_days,
    cost_per_run AS cost_run,
    carbon_g_per_million_tokens
  FROM training_result
  UNION ALL
  SELECT
    run_id,
    n_gpus,
    NULL AS step_s,
    total_tokens_per_s AS tokens_per_s,
    hardware_cost_per_gpu_hour,
    energy_cost_per_gpu_hour,
    cost_per_gpu_hour,
    cost_per_day,
    cost_per_million_tokens,
    cost_per_million_input_tokens AS cost_million_input,
    cost_per_million_output_tokens AS cost_million_output,
    NULL AS cost_step,
    NULL AS run_days,
    NULL AS cost_run,
    carbon_g_per_million_tokens
  FROM serving_result
  UNION ALL
  SELECT
    run_id,
    n_gpus,
    step_time_s AS step_s,
    tokens_per_s AS tokens_per_s,
    hardware_cost_per_gpu_hour,
    energy_cost_per_gpu_hour,
    cost_per_gpu_hour,
    cost_per_day,
    cost_per_million_tokens,
    NULL AS cost_million_input,
    cost_per_million_response_tokens AS cost_million_output,
    cost_per_step AS cost_step,
    run_days AS run_days,
    cost_per_run AS cost_run,
    carbon_g_per_million_tokens
  FROM post_training_result
  UNION ALL
  SELECT
    run_id,
    n_gpus,
    step_s AS step_s,
    tokens_per_s AS tokens_per_s,
    hardware_cost_per_gpu_hour,
    energy_cost_per_gpu_hour,
    cost_per_gpu_hour,
    cost_per_day,
    cost_per_million_tokens,
    NULL AS cost_million_input,
    NULL AS cost_million_output,
    NULL AS cost_step,
    duration_s / 86400 AS run_days,
    cost AS cost_run,
    carbon_g_per_million_tokens
  FROM campaign_result
  UNION ALL
  SELECT
    run_id,
    n_gpus,
    NULL AS step_s,
    NULL AS tokens_per_s,
    hardware_cost_per_gpu_hour,
    energy_cost_per_gpu_hour,
    cost_per_gpu_hour,
    cost_per_day,
    cost_per_million_tokens,
    NULL AS cost_million_input,
    NULL AS cost_million_output,
    NULL AS cost_step,
    NULL AS run_days,
    NULL AS cost_run,
    carbon_g_per_million_tokens
  FROM collectives_result
)
SELECT
  run.id AS run,
  run.scenario,
  a.n_gpus,
  a.step_s,
  a.tokens_per_s,
  priced.machine AS machine_gpu,
  priced.network AS network_gpu,
  a.hardware_cost_per_gpu_hour AS hardware_gpu_hour,
  a.energy_cost_per_gpu_hour AS energy_gpu_hour,
  a.cost_per_gpu_hour AS cost_gpu_hour,
  a.cost_per_day AS cost_day,
  a.cost_per_million_tokens AS cost_million_tokens,
  a.cost_million_input,
  a.cost_million_output,
  a.cost_step,
  a.run_days,
  a.cost_run,
  a.carbon_g_per_million_tokens AS carbon_g_million_tokens
FROM answer a
JOIN run ON run.id = a.run_id
LEFT JOIN priced ON priced.run_id = run.id
ORDER BY run.id;

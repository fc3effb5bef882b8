-- How does throughput grow with the number of GPUs?
-- reads: sweep(n_points, objective); sweep_band(point_run, objective, low, high, expected); band(metric, low, high, expected); sweep_point(sweep, rung, eligible); training_result(n_gpus, tokens_per_s, fits)
-- rows-from: training runs
-- series: the scenario's name; or ideal: the throughput per GPU of its smallest run, times the GPUs
-- n_gpus: GPUs
-- tokens_per_s: most tokens per second of any run that fits into memory
-- of_ideal_percent: tokens_per_s as a percentage of the ideal
-- low: lower bound of a measurement of tokens_per_s; empty where nothing measured is like the run, or a sweep did not ask
-- high: upper bound
-- expected: what a measurement would most likely show: the middle of the band
WITH
-- include training-runs
best AS (
  SELECT run.scenario, t.n_gpus, max(t.tokens_per_s) AS tokens_per_s, t.run_id
  FROM training_result t
  JOIN run ON run.id = t.run_id
  WHERE t.fits AND run.id <= (SELECT run_id FROM until) AND t.run_id NOT IN left_out
  GROUP BY run.scenario, t.n_gpus
),
base AS (
  SELECT
    *, first_value(tokens_per_s / n_gpus) OVER (PARTITION BY scenario ORDER BY n_gpus) AS each_per_s
  FROM best
)
SELECT series, n_gpus, tokens_per_s, of_ideal_percent, low, high, expected
FROM (
  SELECT 0 AS is_ideal, scenario AS series, n_gpus, tokens_per_s, 100.0 * tokens_per_s / (each_per_s * n_gpus) AS of_ideal_percent, low, high, expected
  FROM base
  LEFT JOIN bounds ON bounds.run_id = base.run_id
  UNION ALL
  SELECT 1, 'ideal ' || scenario, n_gpus, each_per_s * n_gpus, 100.0, NULL, NULL, NULL FROM base
)
ORDER BY is_ideal, series, n_gpus;

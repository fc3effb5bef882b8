-- Which runs train the most tokens per second for their number of GPUs?
-- reads: sweep(n_points, objective); sweep_band(point_run, objective, low, high, expected); band(metric, low, high, expected); sweep_point(sweep, rung, eligible); training_result(n_gpus, tokens_per_s, tp, pp, dp, cp, fits, memory_peak_bytes, iteration_time_s)
-- rows-from: training runs
-- series: front where no other run reaches as many tokens per second on as few GPUs, else other (of points that lie close together one is shown)
-- n_gpus: GPUs
-- tokens_per_s: tokens per second
-- memory_peak_gib: peak memory of any GPU, GiB
-- run: the run's number
-- label: how the model is split over GPUs
-- low: lower bound of a measurement of tokens_per_s; empty where nothing measured is like the run, or a sweep did not ask
-- high: upper bound
-- expected: what a measurement would most likely show: the middle of the band
WITH
-- include training-runs
candidate AS MATERIALIZED (
  SELECT
    t.run_id,
    t.n_gpus,
    t.tokens_per_s,
    max(t.tokens_per_s) OVER (ORDER BY t.n_gpus, t.tokens_per_s DESC, t.run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM training_result t
  CROSS JOIN until
  WHERE t.fits AND t.run_id <= until.run_id AND t.run_id NOT IN left_out
),
frame AS (SELECT min(tokens_per_s) AS low, max(tokens_per_s) - min(tokens_per_s) AS span FROM candidate),
shown AS (
  SELECT 'front' AS series, run_id FROM candidate WHERE before IS NULL OR tokens_per_s > before UNION ALL
  SELECT 'other', min(run_id)
  FROM candidate
  CROSS JOIN frame
  WHERE tokens_per_s <= before
  GROUP BY n_gpus, cast(coalesce(200 * (tokens_per_s - low) / nullif(span, 0), 0) AS INTEGER)
)
SELECT
  series,
  n_gpus,
  tokens_per_s,
  memory_peak_bytes / 1073741824.0 AS memory_peak_gib,
  t.run_id AS run,
  'tp' || tp || ' pp' || pp || ' dp' || dp || iif(cp > 1, ' cp' || cp, '') AS label,
  bounds.low,
  bounds.high,
  bounds.expected
FROM shown
JOIN training_result t ON t.run_id = shown.run_id
LEFT JOIN bounds ON bounds.run_id = t.run_id AND series = 'front'
ORDER BY series, n_gpus, tokens_per_s DESC, run;

-- Which runs give the most tokens a second for their GPUs?
-- reads: training_result(n_gpus, tokens_per_s, tp, pp, dp, cp, fits, memory_peak_bytes, iteration_time_s)
-- series: front where no other run has as many tokens a second on as few GPUs, else other
-- n_gpus: GPUs
-- tokens_per_s: tokens a second
-- memory_peak_gib: the most that a GPU holds, GiB
-- run: the run's number
-- label: how it is split
WITH candidate AS (
  SELECT
    t.*,
    max(t.tokens_per_s) OVER (ORDER BY t.n_gpus, t.tokens_per_s DESC, t.run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM training_result t
  WHERE t.fits AND t.run_id <= :run
)
SELECT
  iif(before IS NULL OR tokens_per_s > before, 'front', 'other') AS series,
  n_gpus,
  tokens_per_s,
  memory_peak_bytes / 1073741824.0 AS memory_peak_gib,
  run_id AS run,
  'tp' || tp || ' pp' || pp || ' dp' || dp || iif(cp > 1, ' cp' || cp, '') AS label
FROM candidate
ORDER BY series, n_gpus, tokens_per_s DESC, run_id;

-- How well was each class of requests served?
-- reads: serving_class(class, completed, share_good, goodput_rps, ttft_mean_s, ttft_p99_s, tpot_mean_s, tpot_p99_s, e2e_mean_s)
-- rows-from: serving runs
-- class: name of the class
-- completed: requests counted
-- good_percent: percentage of the requests that met their objectives
-- goodput_rps: requests per second that met their objectives
-- ttft_mean_ms: time to the first token, mean, milliseconds
-- ttft_p99_ms: the same, 99th percentile
-- tpot_mean_ms: time per output token, mean, milliseconds
-- tpot_p99_ms: the same, 99th percentile
-- e2e_mean_s: time to the last token, mean, seconds
SELECT
  class,
  completed,
  100 * share_good AS good_percent,
  goodput_rps,
  1000 * ttft_mean_s AS ttft_mean_ms,
  1000 * ttft_p99_s AS ttft_p99_ms,
  1000 * tpot_mean_s AS tpot_mean_ms,
  1000 * tpot_p99_s AS tpot_p99_ms,
  e2e_mean_s
FROM serving_class
WHERE run_id = :run
ORDER BY class;

-- How long do requests take?
-- reads: serving_result(ttft_mean_s, ttft_p50_s, ttft_p90_s, ttft_p95_s, ttft_p99_s, tpot_mean_s, tpot_p50_s, tpot_p90_s, tpot_p95_s, tpot_p99_s, itl_mean_s, itl_p50_s, itl_p90_s, itl_p95_s, itl_p99_s, e2e_mean_s, e2e_p50_s, e2e_p90_s, e2e_p95_s, e2e_p99_s, queue_mean_s, queue_p50_s, queue_p90_s, queue_p95_s, queue_p99_s); band(metric, low, high, quality)
-- rows-from: serving runs
-- latency: ttft (to the first token), tpot (per output token after it), itl (between tokens), e2e, or queue (until a step first computes the request)
-- mean_ms: mean, milliseconds
-- p50_ms: median
-- p90_ms: 90th percentile
-- p95_ms: 95th percentile
-- p99_ms: 99th percentile
-- mean_low_ms: lower bound of a measurement of the mean (error band); empty where nothing measured is like the run
-- mean_high_ms: upper bound
-- p99_low_ms: lower bound of the 99th percentile
-- p99_high_ms: upper bound
-- quality: good, weak or none: how well measured rows support the band of the mean
WITH result AS (SELECT * FROM serving_result WHERE run_id = :run),
latency (position, name, mean_s, p50_s, p90_s, p95_s, p99_s) AS (
  SELECT 1, 'ttft', ttft_mean_s, ttft_p50_s, ttft_p90_s, ttft_p95_s, ttft_p99_s FROM result UNION ALL
  SELECT 2, 'tpot', tpot_mean_s, tpot_p50_s, tpot_p90_s, tpot_p95_s, tpot_p99_s FROM result UNION ALL
  SELECT 3, 'itl', itl_mean_s, itl_p50_s, itl_p90_s, itl_p95_s, itl_p99_s FROM result UNION ALL
  SELECT 4, 'e2e', e2e_mean_s, e2e_p50_s, e2e_p90_s, e2e_p95_s, e2e_p99_s FROM result UNION ALL
  SELECT 5, 'queue', queue_mean_s, queue_p50_s, queue_p90_s, queue_p95_s, queue_p99_s FROM result
)
SELECT
  l.name AS latency,
  1000 * l.mean_s AS mean_ms,
  1000 * l.p50_s AS p50_ms,
  1000 * l.p90_s AS p90_ms,
  1000 * l.p95_s AS p95_ms,
  1000 * l.p99_s AS p99_ms,
  1000 * mean.low AS mean_low_ms,
  1000 * mean.high AS mean_high_ms,
  1000 * tail.low AS p99_low_ms,
  1000 * tail.high AS p99_high_ms,
  mean.quality
FROM latency l
LEFT JOIN band mean ON mean.run_id = :run AND mean.metric = l.name || '_mean_s'
LEFT JOIN band tail ON tail.run_id = :run AND tail.metric = l.name || '_p99_s'
ORDER BY l.position;

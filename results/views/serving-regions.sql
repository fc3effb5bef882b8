-- What did the clients of each region see, and how many did another region serve?
-- reads: serving_region(region, replicas, completed, away, rejected, failed, served, share_good, ttft_mean_s, ttft_p99_s, e2e_mean_s, network_mean_s, output_tokens_per_s, gpu_busy)
-- rows-from: serving runs in several regions
-- region: name of the region
-- replicas: replicas in it
-- completed: requests of its clients that are counted
-- away_percent: percentage of the completed requests that another region served
-- unserved: requests of its clients that were rejected or given up
-- served: requests that its replicas served, of any region
-- good_percent: percentage of its clients' requests that met their objectives
-- ttft_mean_ms: time to the first token at its clients, mean, milliseconds
-- ttft_p99_ms: the same, 99th percentile
-- e2e_mean_s: time to the last token at its clients, mean, seconds
-- network_mean_ms: time on the network in both, mean, milliseconds
-- output_tokens_per_s: output tokens per second of its replicas
-- busy_percent: percentage of the time for which its replicas computed
SELECT
  region,
  replicas,
  completed,
  100.0 * away / completed AS away_percent,
  rejected + failed AS unserved,
  served,
  100 * share_good AS good_percent,
  1000 * ttft_mean_s AS ttft_mean_ms,
  1000 * ttft_p99_s AS ttft_p99_ms,
  e2e_mean_s,
  1000 * network_mean_s AS network_mean_ms,
  output_tokens_per_s,
  100 * gpu_busy AS busy_percent
FROM serving_region
WHERE run_id = :run
ORDER BY region;

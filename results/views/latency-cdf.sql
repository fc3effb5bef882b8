-- What fraction of the requests is served within a time?
-- reads: serving_request(queue_s, ttft_s, tpot_s, e2e_s)
-- rows-from: serving runs
-- series: ttft (to the first token), tpot (per output token after it), e2e, or queue (until a step first computes the request)
-- seconds: the time
-- percent: requests served within it, of the stored requests
WITH fact (position, series, seconds) AS (
  SELECT 1, 'queue', queue_s FROM serving_request WHERE run_id = :run UNION ALL
  SELECT 2, 'ttft', ttft_s FROM serving_request WHERE run_id = :run UNION ALL
  SELECT 3, 'tpot', tpot_s FROM serving_request WHERE run_id = :run AND tpot_s > 0 UNION ALL
  SELECT 4, 'e2e', e2e_s FROM serving_request WHERE run_id = :run
),
ranked AS (
  SELECT
    position,
    series,
    seconds,
    100.0 * row_number() OVER (PARTITION BY position ORDER BY seconds) / count(*) OVER (PARTITION BY position) AS percent
  FROM fact
)
SELECT series, seconds, percent
FROM ranked
ORDER BY position, percent;

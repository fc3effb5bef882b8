-- How far is each request of a measured trace from its measurement?
-- reads: serving_request(ttft_s, tpot_s, e2e_s, measured_ttft_s, measured_tpot_s, measured_e2e_s)
-- rows-from: serving runs whose trace has measured times
-- metric: ttft, tpot or e2e
-- requests: measured requests
-- mean_percent: error of the mean over all requests, percent
-- least_percent: smallest error of a request, percent
-- p10_percent: 10th percentile of the errors (nearest rank), percent
-- p50_percent: median
-- p90_percent: 90th percentile
-- most_percent: largest error of a request
WITH error AS (
  SELECT 'ttft' AS metric, ttft_s AS simulated, measured_ttft_s AS measured FROM serving_request WHERE run_id = :run
  UNION ALL
  SELECT 'tpot', tpot_s, measured_tpot_s FROM serving_request WHERE run_id = :run
  UNION ALL
  SELECT 'e2e', e2e_s, measured_e2e_s FROM serving_request WHERE run_id = :run
), ranked AS (
  SELECT
    metric, simulated, measured, 100 * (simulated / measured - 1) AS percent,
    row_number() OVER (PARTITION BY metric ORDER BY simulated / measured) - 1 AS rank,
    count(*) OVER (PARTITION BY metric) AS n
  FROM error
  WHERE measured > 0
)
SELECT
  metric,
  count(*) AS requests,
  100 * (sum(simulated) / sum(measured) - 1) AS mean_percent,
  min(percent) AS least_percent,
  max(CASE WHEN rank <= 0.1 * (n - 1) THEN percent END) AS p10_percent,
  max(CASE WHEN rank <= 0.5 * (n - 1) THEN percent END) AS p50_percent,
  max(CASE WHEN rank <= 0.9 * (n - 1) THEN percent END) AS p90_percent,
  max(percent) AS most_percent
FROM ranked
GROUP BY metric
ORDER BY metric;

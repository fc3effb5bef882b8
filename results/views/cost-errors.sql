-- How far are the costs of kernels from measurements that the profile had not seen?
-- reads: cost_error(set_name, profile, kernels, region, n, mape, bias, median, p90, worst)
-- about: cost-validation
-- set_name: the validation set
-- profile: the profile that was asked
-- kernels: operator and number formats
-- region: what bounds the shapes; outside: beyond what the rest of the table reaches; all: any
-- shapes: how many were compared; of a comparison that was made several times the last counts
-- mape_percent: mean absolute error, percent of the measurement
-- bias_percent: mean error; above 0 the model says more than was measured
-- median_percent: median of the absolute errors
-- p90_percent: 90th percentile of the absolute errors (nearest rank)
-- worst_percent: the largest absolute error
WITH compared AS (
  SELECT *, row_number() OVER (PARTITION BY set_name, profile, kernels, region ORDER BY run_id DESC) AS age
  FROM cost_error
  WHERE run_id <= :run
)
SELECT
  set_name,
  profile,
  kernels,
  region,
  n AS shapes,
  100.0 * mape AS mape_percent,
  100.0 * bias AS bias_percent,
  100.0 * median AS median_percent,
  100.0 * p90 AS p90_percent,
  100.0 * worst AS worst_percent
FROM compared
WHERE age = 1
ORDER BY set_name, profile, kernels, region <> 'all', region;

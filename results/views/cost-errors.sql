-- How far are predicted kernel costs from measurements that the profile does not contain?
-- reads: cost_error(set_name, profile, kernels, region, n, mape, bias, median, p90, worst)
-- about: cost-validation
-- rows-from: orrery validate of kernel costs
-- set_name: the validation set
-- profile: the profile that predicted the costs
-- kernels: the operator and its number formats
-- region: what bounds the shapes; outside: beyond the range of the rest of the table; all: every region
-- shapes: shapes compared; the newest comparison counts
-- mape_percent: mean absolute error, percent of the measurement
-- bias_percent: mean error; above 0 the model predicts more than was measured
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

-- How far is the simulation from the measurements, by validation set?
-- reads: validation_row(set_name, row, label, metric, error)
-- about: validation, cost-validation
-- rows-from: validations
-- set_name: the validation set
-- metric: what was measured
-- rows: rows compared; the newest comparison of a row counts
-- mape_percent: mean absolute error, percent of the measurement
-- bias_percent: mean error; above 0 the simulation predicts more than was measured
-- median_percent: median of the absolute errors
-- p90_percent: 90th percentile of the absolute errors (nearest rank)
-- worst_percent: the largest absolute error
-- worst: the row with the largest error
WITH compared AS (
  SELECT *, row_number() OVER (PARTITION BY set_name, row, metric ORDER BY run_id DESC) AS age
  FROM validation_row
  WHERE run_id <= :run AND error IS NOT NULL
),
ranked AS (
  SELECT
    set_name, metric, row, label, error, abs(error) AS size,
    row_number() OVER (PARTITION BY set_name, metric ORDER BY abs(error), row) AS place,
    count(*) OVER (PARTITION BY set_name, metric) AS n
  FROM compared
  WHERE age = 1
)
SELECT
  set_name,
  metric,
  count(*) AS rows,
  100.0 * avg(size) AS mape_percent,
  100.0 * avg(error) AS bias_percent,
  100.0 * avg(iif(place IN ((n + 1) / 2, n / 2 + 1), size, NULL)) AS median_percent,
  100.0 * max(iif(place = (9 * n + 9) / 10, size, NULL)) AS p90_percent,
  100.0 * max(size) AS worst_percent,
  max(iif(place = n, coalesce(label, 'row ' || row), NULL)) AS worst
FROM ranked
GROUP BY set_name, metric
ORDER BY set_name, metric;

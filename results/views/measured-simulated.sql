-- How do simulated values compare with measured ones?
-- reads: validation_row(set_name, row, label, metric, measured, simulated, error)
-- about: validation, cost-validation
-- rows-from: validations
-- series: the validation set and the metric
-- measured: the measurement
-- simulated: the simulated value
-- error_percent: simulated over measured, less one
-- label: name of the row
WITH compared AS (
  SELECT *, row_number() OVER (PARTITION BY set_name, row, metric ORDER BY run_id DESC) AS age
  FROM validation_row
  WHERE run_id <= :run AND error IS NOT NULL
)
SELECT set_name || ' ' || metric AS series, measured, simulated, 100.0 * error AS error_percent, label
FROM compared
WHERE age = 1
ORDER BY series, row;

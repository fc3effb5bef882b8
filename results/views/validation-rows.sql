-- Which rows of the validation sets are furthest from their measurements, and what makes up their simulated time?
-- reads: validation_row(set_name, row, label, metric, measured, simulated, error, explanation, source, note)
-- about: validation, cost-validation
-- rows-from: validations
-- set_name: the validation set
-- row: the row's line in its file
-- label: name of the row
-- metric: what was measured
-- measured: the measurement
-- simulated: the simulated value
-- error_percent: simulated over measured, less one
-- explanation: the largest parts of the simulated time
-- source: source of the measurement
-- note: remark on the measurement
-- run: the run compared with; the newest of several
WITH compared AS (
  SELECT *, row_number() OVER (PARTITION BY set_name, row, metric ORDER BY run_id DESC) AS age
  FROM validation_row
  WHERE run_id <= :run
)
SELECT
  set_name,
  row,
  label,
  metric,
  measured,
  simulated,
  100.0 * error AS error_percent,
  explanation,
  source,
  note,
  run_id AS run
FROM compared
WHERE age = 1
ORDER BY set_name, abs(error) DESC NULLS LAST, row, metric;

-- How sure is the answer: within which bounds would a measurement lie, and how far was Orrery off on the measured rows behind them?
-- reads: band(metric, value, low, high, expected, level, rows, bias, quality, reason); band_source(metric, set_name, row, label, measured_metric, measured, simulated, error, weight)
-- takes: metric (which result: tokens_per_s, say, or all; when not given, the first of all results that the same measured rows speak for)
-- takes: top (how many measured rows per result, at most 20; 5 when not given)
-- rows-from: runs of training, serving and collectives that resemble measured rows
-- metric: name of the result
-- value: the result, in its own unit
-- low: lower bound of its error band; empty where nothing measured is like the run
-- high: upper bound
-- quality: good; weak: the nearest measured rows differ in something that matters; none: nothing measured is like the run
-- measured: the measurement of a row that speaks for the result; the heaviest row is first
-- simulated: what Orrery computes for that row
-- error_percent: simulated over measured, less one
-- weight_percent: weight of the row among all rows of the band
-- measured_metric: what was measured
-- set_name: validation set of the row
-- row: line of the set's table
-- label: name of the row
-- reason: why the band is weak or missing
-- level: fraction of measurements that lie within such bounds
-- rows: measured rows that the band is made from
-- bias_percent: their mean error; the result is not corrected by it
-- expected: what a measurement would most likely show: the middle of the band
WITH result AS MATERIALIZED (SELECT *, row_number() OVER () AS position FROM band WHERE run_id = :run),
source AS MATERIALIZED (
  SELECT *, row_number() OVER (PARTITION BY metric ORDER BY weight DESC, set_name, row) AS place FROM band_source WHERE run_id = :run
),
evidence AS (
  SELECT metric, group_concat(set_name || ' ' || row || ' ' || measured_metric || ' ' || weight, ';') AS list
  FROM (SELECT * FROM source ORDER BY metric, place)
  GROUP BY metric
),
ranked AS (
  SELECT r.*, row_number() OVER (PARTITION BY coalesce(e.list, r.reason) ORDER BY r.position) AS nth
  FROM result r
  LEFT JOIN evidence e ON e.metric = r.metric
)
SELECT
  r.metric,
  r.value,
  r.low,
  r.high,
  r.quality,
  s.measured,
  s.simulated,
  100.0 * s.error AS error_percent,
  100.0 * s.weight AS weight_percent,
  s.measured_metric,
  s.set_name,
  s.row,
  s.label,
  r.reason,
  r.level,
  r.rows,
  100.0 * r.bias AS bias_percent,
  r.expected
FROM ranked r
LEFT JOIN source s ON s.metric = r.metric AND s.place <= coalesce(:top, 5)
WHERE :metric IN (r.metric, 'all') OR (:metric IS NULL AND r.nth = 1)
ORDER BY r.position, s.place;

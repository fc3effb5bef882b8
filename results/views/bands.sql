-- Which measured rows is the error band of a result made from, and how far was Orrery off for each?
-- reads: band(metric, value, low, high, level, rows, bias, quality, reason); band_source(metric, set_name, row, label, measured_metric, measured, simulated, error, weight)
-- takes: metric (which result: tokens_per_s, say, or all; the run's first when not given: iteration_time_s, ttft_mean_s or time_s)
-- metric: name of the result
-- value: the result
-- low: lower bound of its error band; empty where nothing measured is like the run
-- high: upper bound
-- level_percent: percentage of measurements that lie within such bounds
-- rows: measured rows that the band is made from; the 20 that weigh most are listed
-- bias_percent: their mean error; the result is not corrected by it
-- quality: good; weak: the nearest measured rows differ in something that matters; none: nothing measured is like the run
-- reason: why the band is weak or missing
-- set_name: validation set of the measured row
-- row: line of the set's table
-- label: name of the measured row
-- measured_metric: what was measured
-- measured: the measurement
-- simulated: what Orrery computes for that row
-- error_percent: simulated over measured, less one
-- weight_percent: weight of the row in the band
WITH leading (position, name) AS (VALUES (1, 'iteration_time_s'), (2, 'ttft_mean_s'), (3, 'time_s')),
asked AS (
  SELECT coalesce(
    :metric,
    (SELECT l.name FROM leading l JOIN band b ON b.run_id = :run AND b.metric = l.name ORDER BY l.position LIMIT 1)
  ) AS metric
)
SELECT
  b.metric,
  b.value,
  b.low,
  b.high,
  100.0 * b.level AS level_percent,
  b.rows,
  100.0 * b.bias AS bias_percent,
  b.quality,
  b.reason,
  s.set_name,
  s.row,
  s.label,
  s.measured_metric,
  s.measured,
  s.simulated,
  100.0 * s.error AS error_percent,
  100.0 * s.weight AS weight_percent
FROM asked
JOIN band b ON b.run_id = :run AND asked.metric IN (b.metric, 'all')
LEFT JOIN band_source s ON s.run_id = b.run_id AND s.metric = b.metric
ORDER BY b.metric, s.weight DESC, s.set_name, s.row;

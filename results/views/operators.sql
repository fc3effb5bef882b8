-- Which operators take the time of each phase, how fast do they run, and how are their costs known?
-- reads: operator_cost(phase, name, kind, count, seconds_each, seconds_total, how, flops, bytes)
-- rows-from: runs of training
-- phase: forward, backward, ...
-- name: the operator
-- kind: type of kernel
-- count: calls per step, on a rank that has the phase
-- each_us: time of one call, microseconds
-- total_ms: time of all calls in a step, milliseconds
-- percent: total_ms as a percentage of the phase
-- tflop_per_s: rate of computation while the operator runs, TFLOP/s
-- gbytes_per_s: rate of memory traffic while the operator runs, GB/s
-- how: measured, interpolated, carried over from a device (its rows), modelled, or outside the measured range
SELECT
  phase,
  name,
  kind,
  count,
  1e6 * seconds_each AS each_us,
  1e3 * seconds_total AS total_ms,
  100.0 * seconds_total / nullif(sum(seconds_total) OVER (PARTITION BY phase), 0) AS percent,
  flops / nullif(seconds_each, 0) / 1e12 AS tflop_per_s,
  bytes / nullif(seconds_each, 0) / 1e9 AS gbytes_per_s,
  how
FROM operator_cost
WHERE run_id = :run
ORDER BY seconds_total DESC, phase, name;

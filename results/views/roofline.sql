-- How close do the run's kernels come to the limits of the GPU?
-- reads: operator_cost(phase, name, kind, count, seconds_each, seconds_total, flops, bytes)
-- rows-from: runs of training
-- series: the operator (other: beyond the seven that take the most time), or the roof: the lesser of peak FLOP/s and memory bandwidth times intensity
-- intensity: FLOPs per byte
-- tflop_per_s: the rate that the operator reaches or the roof allows, TFLOP/s
-- share_percent: percentage of the time of all kernels of the step
-- name: phase and operator
WITH fact AS (
  SELECT
    max(iif(path = 'cluster.device.memory-bandwidth', number, NULL)) AS bandwidth,
    max(iif(path = 'cluster.device.' || (SELECT value FROM param WHERE run_id = :run AND path = 'workload.precision'), number, NULL)) AS peak
  FROM param
  WHERE run_id = :run
),
kernel AS MATERIALIZED (
  SELECT
    name AS operator,
    phase || ' ' || name AS name,
    flops / bytes AS intensity,
    flops / seconds_each / 1e12 AS tflop_per_s,
    100.0 * seconds_total / sum(seconds_total) OVER () AS share_percent
  FROM operator_cost
  WHERE run_id = :run AND flops > 0 AND bytes > 0 AND seconds_each > 0
),
operator AS (
  SELECT operator, row_number() OVER (ORDER BY sum(share_percent) DESC, operator) AS place FROM kernel GROUP BY operator
),
roof AS (
  SELECT min(intensity) / 4 AS intensity FROM kernel UNION ALL
  SELECT peak / bandwidth FROM fact UNION ALL
  SELECT max(max(intensity), peak / bandwidth) * 4 FROM kernel CROSS JOIN fact
)
SELECT series, intensity, tflop_per_s, share_percent, name
FROM (
  SELECT
    0 AS position,
    'roof' AS series,
    intensity,
    min(peak, bandwidth * intensity) / 1e12 AS tflop_per_s,
    NULL AS share_percent,
    NULL AS name
  FROM roof
  CROSS JOIN fact
  WHERE intensity IS NOT NULL AND EXISTS (SELECT 1 FROM kernel)
  UNION ALL
  SELECT min(place, 8), iif(place < 8, operator, 'other'), intensity, tflop_per_s, share_percent, name
  FROM kernel
  JOIN operator USING (operator)
)
ORDER BY position, series, intensity, name;

-- How close do the run's kernels come to what the GPU can do?
-- reads: operator_cost(phase, name, kind, count, seconds_each, seconds_total, flops, bytes)
-- series: the kind of kernel, or the roof: the lesser of peak FLOPs and memory bandwidth times intensity
-- intensity: FLOPs a byte
-- tflop_per_s: what it reaches, or what the roof allows
-- share_percent: of the time of all kernels of the step
-- name: phase and operator
WITH RECURSIVE fact AS (
  SELECT
    max(iif(path = 'cluster.device.memory-bandwidth', number, NULL)) AS bandwidth,
    max(iif(path = 'cluster.device.' || (SELECT value FROM param WHERE run_id = :run AND path = 'workload.precision'), number, NULL)) AS peak
  FROM param
  WHERE run_id = :run
),
octave (intensity) AS (SELECT 0.0625 UNION ALL SELECT 2 * intensity FROM octave WHERE intensity < 16384),
kernel AS (
  SELECT
    kind,
    flops / bytes AS intensity,
    flops / seconds_each / 1e12 AS tflop_per_s,
    100.0 * seconds_total / sum(seconds_total) OVER () AS share_percent,
    phase || ' ' || name AS name
  FROM operator_cost
  WHERE run_id = :run AND flops > 0 AND bytes > 0 AND seconds_each > 0
)
SELECT series, intensity, tflop_per_s, share_percent, name
FROM (
SELECT 0 AS position, 'roof' AS series, intensity, min(peak, bandwidth * intensity) / 1e12 AS tflop_per_s, NULL AS share_percent, NULL AS name
FROM octave
CROSS JOIN fact
WHERE EXISTS (SELECT 1 FROM kernel)
UNION ALL
SELECT 1, kind, intensity, tflop_per_s, share_percent, name FROM kernel
)
ORDER BY position, series, intensity;

-- Which operators' activations fill a GPU of a pipeline stage at its peak, and which are recomputed instead?
-- reads: memory(stage, activations_bytes, total_bytes); activation(stage, chunk, unit, operator, units, kept_bytes, host_bytes, replayed_bytes, micro_batches, peak_bytes)
-- takes: stage (the stage that holds the most when not given)
-- rows-from: training runs
-- stage: the pipeline stage
-- unit: embedding, layer, mtp (multi-token prediction) or head
-- operator: the operator whose backward reads them; layer-input: the input of a recomputed layer; NAME-result: the result of NAME, where that is kept
-- units: how many units of this kind the stage has
-- kept_mib: kept from forward to backward for one micro-batch, by all units, MiB
-- replayed_mib: not kept but recomputed before the backward, MiB
-- host_mib: kept in host memory instead, MiB
-- passes: micro-batches in flight at the peak; each chunk of the stage counts its own
-- peak_gib: kept for all micro-batches in flight, GiB
-- percent: peak_gib as a percentage of the stage's activations
WITH fullest AS (
  SELECT coalesce(:stage, (SELECT stage FROM memory WHERE run_id = :run ORDER BY total_bytes DESC, stage LIMIT 1)) AS stage
)
SELECT
  a.stage,
  a.unit,
  a.operator,
  sum(a.units) AS units,
  sum(a.kept_bytes) / 1048576.0 AS kept_mib,
  sum(a.replayed_bytes) / 1048576.0 AS replayed_mib,
  sum(a.host_bytes) / 1048576.0 AS host_mib,
  sum(a.micro_batches) AS passes,
  sum(a.peak_bytes) / 1073741824.0 AS peak_gib,
  100.0 * sum(a.peak_bytes) / nullif(max(m.activations_bytes), 0) AS percent
FROM activation a
JOIN fullest f ON a.stage = f.stage
JOIN memory m ON m.run_id = a.run_id AND m.stage = a.stage
WHERE a.run_id = :run
GROUP BY a.stage, a.unit, a.operator
ORDER BY peak_gib DESC, replayed_mib DESC, a.unit, a.operator;

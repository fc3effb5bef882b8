-- Which operators' activations fill a GPU of a pipeline stage at its peak, and what is recomputed instead?
-- reads: memory(stage, activations_bytes, total_bytes); activation(stage, chunk, unit, operator, units, kept_bytes, host_bytes, replayed_bytes, micro_batches, peak_bytes)
-- takes: stage (the stage that holds most when not given)
-- stage: the pipeline stage
-- unit: embedding, layer, mtp (multi-token prediction) or head
-- operator: whose backward reads it; layer-input of layers that are recomputed, NAME-result where that result is kept
-- units: how many of the stage have it
-- kept_mib: kept by all of them from forward to backward, of one micro-batch, MiB
-- replayed_mib: not kept, but recomputed before the backward, MiB
-- host_mib: kept in the host's memory instead, MiB
-- passes: micro-batches under way at the peak; one in each chunk of the stage counts for itself
-- peak_gib: kept of all of these, GiB
-- percent: the same as a share of the stage's activations
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

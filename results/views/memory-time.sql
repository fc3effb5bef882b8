-- What does a GPU of each pipeline stage hold over time?
-- reads: memory_time(stage, what, chunk, micro_batch, begin_s, end_s, fixed_bytes, activations_bytes, working_bytes, after_bytes, total_bytes)
-- rows-from: training runs with spans
-- series: the stage
-- at_s: when a forward or backward pass begins or ends, seconds
-- gib: memory that tensors and libraries fill at that time, GiB
-- held_gib: memory that nvidia-smi shows, GiB: the allocator returns nothing
-- activations_gib: activations kept for backward passes, a part of gib, GiB
-- what: the pass that begins or has ended
-- micro_batch: micro-batch of the pass; empty: none
WITH edge AS (
  SELECT stage, begin_s AS at_s, 0 AS ended, what, chunk, micro_batch, activations_bytes,
    fixed_bytes + activations_bytes + working_bytes AS bytes, total_bytes
  FROM memory_time
  WHERE run_id = :run
  UNION ALL
  SELECT stage, end_s, 1, what, chunk, micro_batch, after_bytes, fixed_bytes + after_bytes, total_bytes
  FROM memory_time
  WHERE run_id = :run
)
SELECT
  'stage ' || stage AS series,
  at_s,
  bytes / 1073741824.0 AS gib,
  total_bytes / 1073741824.0 AS held_gib,
  activations_bytes / 1073741824.0 AS activations_gib,
  what || iif(ended, ' ended', '') AS what,
  nullif(micro_batch, -1) AS micro_batch
FROM edge
ORDER BY stage, at_s, ended DESC;

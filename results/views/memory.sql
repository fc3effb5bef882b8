-- What fills the memory of a GPU at its peak, by pipeline stage?
-- reads: memory(stage, weights_bytes, gradients_bytes, optimizer_bytes, activations_bytes, working_bytes, buffers_bytes, fragmentation_bytes, flat_copies_bytes, workspace_bytes, communicators_bytes, context_bytes, host_bytes, total_bytes, capacity_bytes); sweep_point(memory_bytes)
-- rows-from: training runs, and points of sweeps over training whose total is known
-- stage: the pipeline stage; empty for a point of a sweep
-- weights_gib: the weights, GiB
-- gradients_gib: their gradients, GiB
-- optimizer_gib: the optimizer's state and master weights, GiB
-- activations_gib: activations at the peak of the schedule, GiB
-- working_gib: what a backward recomputes, gradients of activations, and boundary tensors, GiB
-- gaps_gib: memory that the allocator reserves but no tensor fills, GiB
-- copies_gib: copies of gradients, in buckets and at the update, GiB
-- libraries_gib: the CUDA context, NCCL's buffers and cuBLAS's workspace, GiB
-- total_gib: the sum of the above, GiB
-- capacity_gib: memory of the GPU, GiB
-- headroom_gib: memory left; below 0: memory missing, GiB
-- host_gib: state offloaded to host memory, GiB
-- used_percent: total as a percentage of the capacity; above 100 the job does not fit
SELECT
  stage,
  weights_bytes / 1073741824.0 AS weights_gib,
  gradients_bytes / 1073741824.0 AS gradients_gib,
  optimizer_bytes / 1073741824.0 AS optimizer_gib,
  activations_bytes / 1073741824.0 AS activations_gib,
  (working_bytes + buffers_bytes) / 1073741824.0 AS working_gib,
  fragmentation_bytes / 1073741824.0 AS gaps_gib,
  flat_copies_bytes / 1073741824.0 AS copies_gib,
  (workspace_bytes + communicators_bytes + context_bytes) / 1073741824.0 AS libraries_gib,
  total_bytes / 1073741824.0 AS total_gib,
  capacity_bytes / 1073741824.0 AS capacity_gib,
  (capacity_bytes - total_bytes) / 1073741824.0 AS headroom_gib,
  host_bytes / 1073741824.0 AS host_gib,
  100.0 * total_bytes / nullif(capacity_bytes, 0) AS used_percent
FROM memory
WHERE run_id = :run
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, memory_bytes / 1073741824.0, NULL, NULL, NULL, NULL
FROM sweep_point
WHERE run_id = :run AND memory_bytes IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory WHERE run_id = :run)
ORDER BY total_gib DESC, stage;

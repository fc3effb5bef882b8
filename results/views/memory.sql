-- What fills the memory of a GPU at its peak, by pipeline stage?
-- reads: memory(stage, weights_bytes, gradients_bytes, optimizer_bytes, activations_bytes, working_bytes, buffers_bytes, fragmentation_bytes, flat_copies_bytes, workspace_bytes, communicators_bytes, context_bytes, host_bytes, total_bytes, capacity_bytes)
-- stage: the pipeline stage
-- weights_gib: the weights, GiB
-- gradients_gib: their gradients, GiB
-- optimizer_gib: the optimizer's state and master weights, GiB
-- activations_gib: activations at the schedule's peak, GiB
-- working_gib: beside them: what a backward replays, gradients of activations, boundary tensors, GiB
-- gaps_gib: what the allocator holds for these and none fills, GiB
-- copies_gib: copies of gradients in buckets and at the update, GiB
-- libraries_gib: the CUDA context, NCCL's buffers and cuBLAS' workspace, GiB
-- total_gib: all of it, GiB
-- capacity_gib: what the GPU has, GiB
-- headroom_gib: what is left; below 0, by how much it misses, GiB
-- host_gib: what is offloaded to the host's memory instead, GiB
-- used_percent: the total as a share of the capacity; over 100 does not fit
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
ORDER BY total_bytes DESC, stage;

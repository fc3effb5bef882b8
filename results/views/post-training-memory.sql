-- What fills a GPU's memory in each phase of post-training?
-- reads: post_training_memory(pool, phase, role, state_bytes, working_bytes, process_bytes, total_bytes, capacity_bytes, fits)
-- rows-from: post-training runs
-- pool: rollouts or trainer
-- phase: the phase
-- role: who is at work: engine, actor, reference, reward or critic
-- state_gib: weights, gradients and optimizer of all models on the GPU; of an engine weights and cache, GiB
-- working_gib: activations and buffers, GiB
-- process_gib: CUDA context, buffers of NCCL and cuBLAS, GiB
-- total_gib: the sum, GiB
-- capacity_gib: memory of the GPU, GiB
-- used_percent: the sum as a percentage of the capacity; above 100 the phase does not fit
SELECT
  pool,
  phase,
  role,
  state_bytes / 1073741824.0 AS state_gib,
  working_bytes / 1073741824.0 AS working_gib,
  process_bytes / 1073741824.0 AS process_gib,
  total_bytes / 1073741824.0 AS total_gib,
  capacity_bytes / 1073741824.0 AS capacity_gib,
  100.0 * total_bytes / nullif(capacity_bytes, 0) AS used_percent
FROM post_training_memory
WHERE run_id = :run
ORDER BY pool, total_bytes DESC;

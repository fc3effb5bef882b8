-- How long do jobs of each size wait on a cluster of jobs?
-- reads: cluster_size(grouping, name, n_jobs, gpu_hours, jct_mean_s, jct_p95_s, wait_mean_s, wait_p50_s, wait_p95_s, wait_p99_s)
-- rows-from: clusters of jobs
-- grouping: what the row is for: gpus (size of the gang) or queue
-- name: the number of GPUs, or the queue
-- jobs: its jobs
-- gpu_hours: GPU-hours that they held
-- jct_mean_h: completion time, mean, hours
-- jct_p95_h: 95th percentile
-- wait_mean_h: wait, mean, hours: in the queue, and for checkpoints, restarts and work done again
-- wait_p50_h: median
-- wait_p95_h: 95th percentile
-- wait_p99_h: 99th percentile
SELECT
  grouping,
  name,
  n_jobs AS jobs,
  gpu_hours,
  jct_mean_s / 3600 AS jct_mean_h,
  jct_p95_s / 3600 AS jct_p95_h,
  wait_mean_s / 3600 AS wait_mean_h,
  wait_p50_s / 3600 AS wait_p50_h,
  wait_p95_s / 3600 AS wait_p95_h,
  wait_p99_s / 3600 AS wait_p99_h
FROM cluster_size
WHERE run_id = :run
ORDER BY grouping, CAST(name AS INTEGER), name;

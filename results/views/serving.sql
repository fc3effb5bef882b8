-- How did each replica spend its time and use its cache?
-- reads: serving_replica(replica, requests, steps, running_mean, most_running, gpu_busy, host_fraction, kv_utilization, kv_peak, preemptions, prefix_hit_rate, evicted_blocks)
-- rows-from: serving runs
-- replica: the replica
-- requests: requests that the replica served
-- steps: steps of the replica
-- batch: running requests, mean over the time of the steps
-- most: most requests running at once
-- busy_percent: percentage of the run in which the GPUs computed
-- host_percent: percentage of the run in which the GPUs waited for the host
-- kv_percent: percentage of the key-value cache in use, mean over the time of the steps
-- kv_peak_percent: the largest percentage of the key-value cache in use
-- preemptions: requests that lost their cache
-- hits_percent: percentage of prompt tokens found in the prefix cache
-- evicted: blocks evicted from the prefix cache
SELECT
  replica,
  requests,
  steps,
  running_mean AS batch,
  most_running AS most,
  100 * gpu_busy AS busy_percent,
  100 * host_fraction AS host_percent,
  100 * kv_utilization AS kv_percent,
  100 * kv_peak AS kv_peak_percent,
  preemptions,
  100 * prefix_hit_rate AS hits_percent,
  evicted_blocks AS evicted
FROM serving_replica
WHERE run_id = :run
ORDER BY replica;

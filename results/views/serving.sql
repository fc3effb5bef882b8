-- Where did each replica's time go, and what did its cache do?
-- reads: serving_replica(replica, requests, steps, running_mean, most_running, gpu_busy, host_fraction, kv_utilization, kv_peak, preemptions, prefix_hit_rate, evicted_blocks)
-- replica: the replica
-- requests: requests that it served
-- steps: steps
-- batch: requests that ran, mean over its steps' time
-- most: most requests that ran at once
-- busy_percent: share of the run that its GPUs computed, per cent
-- host_percent: share of the run that they waited for the host, per cent
-- kv_percent: share of its key-value cache held, mean over its steps' time, per cent
-- kv_peak_percent: the same at most, per cent
-- preemptions: requests that lost their cache
-- hits_percent: share of prompt tokens that the prefix cache had, per cent
-- evicted: blocks of the prefix cache whose room was needed
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

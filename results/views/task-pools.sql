-- How busy are the pools that tasks queue for?
-- reads: serving_task_pool(pool, kind, servers, gpus, jobs, busy, wait_mean_s, service_mean_s, waiting_most, bytes_per_job, flops_per_job)
-- rows-from: serving runs with tasks
-- pool: the pool
-- kind: what it consists of
-- servers: workers or replicas; 0: no limit
-- gpus: GPUs
-- jobs: jobs done
-- busy_percent: percentage of its servers that were busy
-- wait_s: time that a job waited for a server, mean, seconds
-- service_s: time of servers per job, mean, seconds
-- waiting_most: most jobs waiting at once
-- mb_per_job: megabytes that a job of an index touches
-- mflop_per_job: its millions of FLOPs
SELECT
  pool,
  kind,
  servers,
  gpus,
  jobs,
  100 * busy AS busy_percent,
  wait_mean_s AS wait_s,
  service_mean_s AS service_s,
  waiting_most,
  bytes_per_job / 1e6 AS mb_per_job,
  flops_per_job / 1e6 AS mflop_per_job
FROM serving_task_pool
WHERE run_id = :run
ORDER BY busy DESC, pool;

-- When did each job of a cluster of jobs start and end?
-- reads: cluster_job(job, user, queue, gpus, submit_s, start_s, end_s, wait_s, run_s, overhead_s, promised_s, preemptions, failures, failed_s, placement_slowdown, rho, nodes)
-- rows-from: clusters of jobs
-- job: the job's id in the trace
-- user: its user in the trace
-- queue: its queue in the trace
-- gpus: GPUs of its gang
-- submit_s: submission, seconds on the trace's clock
-- start_s: first start
-- end_s: end of its run
-- wait_s: completion time less run time
-- run_s: run time
-- overhead_s: run time on top: restarts and work done again
-- promised_s: the start that backfill promised; empty: none
-- preemptions: times that it was stopped for another job
-- failures: times that a failure stopped it
-- lost_s: of overhead_s, what failures cost it
-- placement_slowdown: run time at its places over the given one
-- rho: finish-time fairness
-- nodes: nodes of its last start
SELECT
  job,
  user,
  queue,
  gpus,
  submit_s,
  start_s,
  end_s,
  wait_s,
  run_s,
  overhead_s,
  promised_s,
  preemptions,
  failures,
  failed_s AS lost_s,
  placement_slowdown,
  rho,
  nodes
FROM cluster_job
WHERE run_id = :run
ORDER BY submit_s, CAST(job AS INTEGER), job;

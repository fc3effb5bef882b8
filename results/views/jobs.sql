-- How much do jobs that share a machine slow each other down?
-- reads: job(job, first_run, n_gpus, gpus, start_s, end_s, together_s, alone_s, slowdown)
-- rows-from: runs of jobs that share a machine
-- run: the run of the job
-- job: name of the job
-- kind: kind of workload
-- n_gpus: GPUs of the job
-- start_s: when the job started
-- end_s: when the job ended
-- alone_s: how long the job takes on the same GPUs with no other job on the machine
-- together_s: how long the job took
-- slowdown: together_s over alone_s
-- gpus: the GPUs, in the order of the job's ranks
WITH asked AS (SELECT iif(first_run = 0, run_id, first_run) AS first FROM job WHERE run_id = :run)
SELECT
  j.run_id AS run,
  j.job,
  r.kind,
  j.n_gpus,
  j.start_s,
  j.end_s,
  j.alone_s,
  j.together_s,
  j.slowdown,
  j.gpus
FROM asked
JOIN job j ON j.run_id = asked.first OR j.first_run = asked.first
JOIN run r ON r.id = j.run_id
ORDER BY j.run_id;

-- What did jobs that share a machine cost each other?
-- reads: job(job, first_run, n_gpus, gpus, start_s, end_s, together_s, alone_s, slowdown)
-- run: the job's own run
-- job: its name
-- kind: the kind of workload
-- n_gpus: GPUs it had
-- start_s: when it started
-- end_s: when it ended
-- alone_s: how long it takes on the same GPUs with nobody else on the machine
-- together_s: how long it took
-- slowdown: the one over the other
-- gpus: which GPUs, in the order of its ranks
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

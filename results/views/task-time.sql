-- What do tasks spend their time on?
-- reads: serving_task_step(task, step, kind, seconds, wait_s, service_s)
-- rows-from: serving runs with tasks
-- step: name of the step
-- kind: what it does
-- per_task: times that a task does it, mean
-- task_s: seconds of a task in it, mean; branches at once count each
-- step_s: seconds that it takes, mean
-- wait_s: of that, waiting for a worker, a replica or an engine's first step, mean
-- service_s: of that, being served, mean
WITH n AS (SELECT count(DISTINCT task) AS tasks FROM serving_task_step WHERE run_id = :run)
SELECT
  step,
  kind,
  1.0 * count(*) / tasks AS per_task,
  sum(seconds) / tasks AS task_s,
  avg(seconds) AS step_s,
  avg(wait_s) AS wait_s,
  avg(service_s) AS service_s
FROM serving_task_step, n
WHERE run_id = :run
GROUP BY step, kind
ORDER BY task_s DESC, step;

-- How did load, batches and cache occupancy change over time?
-- reads: serving_step(begin_s, step_s, tokens, prefill_tokens, decodes, running, waiting, kv_utilization)
-- rows-from: serving runs, unless metrics.step-rows is 0
-- series: one series, the mean of all replicas
-- from_s: begin of the interval, one fiftieth of the run, seconds
-- steps: recorded steps in the interval (a sample where there are many)
-- step_ms: mean length of a step, milliseconds
-- tokens: mean tokens per step
-- prefill_tokens: mean prompt tokens per step
-- decodes: mean number of decoding sequences
-- running: mean number of requests running on a replica
-- waiting: mean number of requests waiting at a replica
-- kv_percent: mean percentage of the cache in use
SELECT
  'all replicas' AS series,
  min(begin_s) AS from_s,
  count(*) AS steps,
  1000 * avg(step_s) AS step_ms,
  avg(tokens) AS tokens,
  avg(prefill_tokens) AS prefill_tokens,
  avg(decodes) AS decodes,
  avg(running) AS running,
  avg(waiting) AS waiting,
  100 * avg(kv_utilization) AS kv_percent
FROM serving_step
WHERE run_id = :run
GROUP BY CAST(50 * begin_s / (SELECT max(begin_s) + 1e-9 FROM serving_step WHERE run_id = :run) AS INTEGER)
ORDER BY from_s;

-- How did load, batches and cache go over time?
-- reads: serving_step(begin_s, step_s, tokens, prefill_tokens, decodes, running, waiting, kv_utilization)
-- series: one for all replicas
-- from_s: begin of the fiftieth of the run, seconds
-- steps: rows of steps in it (a sample where there are many)
-- step_ms: mean length of a step, milliseconds
-- tokens: mean tokens of a step
-- prefill_tokens: of them, of prompts
-- decodes: mean sequences that decode
-- running: mean requests that run on a replica
-- waiting: mean requests that wait there
-- kv_percent: mean share of the cache held, per cent
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

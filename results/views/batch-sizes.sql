-- How many requests run in a step, and for how long?
-- reads: serving_step(step_s, tokens, running)
-- rows-from: serving runs, unless metrics.step-rows is 0
-- from_running: fewest requests in the bin
-- to_running: most requests in the bin
-- steps: recorded steps in the bin (a sample where there are many)
-- percent: percentage of the time of all steps
-- step_ms: mean length of a step, milliseconds
-- tokens: mean tokens per step
WITH width AS (SELECT 1 + max(running) / 20 AS n FROM serving_step WHERE run_id = :run),
class AS (SELECT s.running / width.n * width.n AS least, s.* FROM serving_step s CROSS JOIN width WHERE s.run_id = :run)
SELECT
  least AS from_running,
  least + width.n - 1 AS to_running,
  count(*) AS steps,
  100.0 * sum(step_s) / sum(sum(step_s)) OVER () AS percent,
  1000 * avg(step_s) AS step_ms,
  avg(tokens) AS tokens
FROM class
CROSS JOIN width
GROUP BY least
ORDER BY least;

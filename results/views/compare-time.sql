-- Where did the time change between two runs, by kind of time?
-- reads: time_kind(lane, category, seconds); lane(lane, multiplicity); serving_result(queue_mean_s, ttft_mean_s, e2e_mean_s)
-- takes: other (the run to compare with; the previous run of the same kind when not given)
-- rows-from: two training or serving runs
-- category: the kind of time; for serving: queue (until a step first computes the request), prefill (from then to the first token) and decode (the rest)
-- other_s: training: seconds of the iteration in the other run, mean over all ranks; serving: seconds of a request, mean over all requests
-- this_s: the same in this run
-- change_s: seconds by which this run takes longer; 0 where the difference is below 1e-9 of the whole, the precision of the sums
-- share_percent: change_s as a percentage of the change of the whole; empty where the whole did not change
WITH pair AS (
  SELECT
    :run AS this,
    coalesce(:other, (SELECT max(o.id) FROM run o JOIN run t ON t.id = :run WHERE o.id < t.id AND o.kind = t.kind)) AS other
),
ranks AS (
  SELECT l.run_id, sum(l.multiplicity) AS n
  FROM pair
  JOIN lane l ON l.run_id IN (pair.this, pair.other)
  GROUP BY l.run_id
),
mean AS (
  SELECT k.run_id, k.category, sum(k.seconds * l.multiplicity) / ranks.n AS seconds
  FROM ranks
  JOIN time_kind k ON k.run_id = ranks.run_id
  JOIN lane l ON l.run_id = k.run_id AND l.lane = k.lane
  GROUP BY k.run_id, k.category
  UNION ALL
  SELECT s.run_id, part.category, CASE part.k WHEN 1 THEN queue_mean_s WHEN 2 THEN ttft_mean_s - queue_mean_s ELSE e2e_mean_s - ttft_mean_s END
  FROM pair
  JOIN serving_result s ON s.run_id IN (pair.this, pair.other)
  CROSS JOIN (SELECT 1 AS k, 'queue' AS category UNION ALL SELECT 2, 'prefill' UNION ALL SELECT 3, 'decode') AS part
),
side AS (
  SELECT
    m.category,
    sum(iif(m.run_id = pair.other, m.seconds, 0.0)) AS other_s,
    sum(iif(m.run_id = pair.this, m.seconds, 0.0)) AS this_s
  FROM mean m
  CROSS JOIN pair
  WHERE pair.other IS NOT NULL
  GROUP BY m.category
),
whole AS (SELECT sum(other_s) AS other_s, sum(this_s) AS this_s, 1e-9 * max(sum(other_s), sum(this_s)) AS least_s FROM side),
changed AS (
  SELECT
    side.category,
    side.other_s,
    side.this_s,
    iif(abs(side.this_s - side.other_s) <= whole.least_s, 0.0, side.this_s - side.other_s) AS change_s,
    iif(abs(whole.this_s - whole.other_s) <= whole.least_s, NULL, whole.this_s - whole.other_s) AS whole_s
  FROM side
  CROSS JOIN whole
)
SELECT category, other_s, this_s, change_s, 100.0 * change_s / whole_s + 0.0 AS share_percent
FROM changed
WHERE other_s <> 0 OR this_s <> 0
ORDER BY abs(change_s) DESC, category;

-- What is on the critical path: which spans, one after another, make the step as long as it is?
-- reads: span(lane, stream, name, category, started_s, end_s)
-- category: the kind of time; "gap" where no span was running on the path (latency, launch, a wait that left no span)
-- name: the operation
-- spans: how many of its spans lie on the path
-- lanes: on how many rank classes
-- seconds: how long they take together; all rows add up to the end of the last span
-- percent: the same as a share of the whole
--
-- The walk goes back from the span that ends last. What a span had to wait for is what ended last before it started: of
-- several that ended at that moment the one on its own lane, else the first. Recorded spans do not say what enabled
-- what, so where unrelated spans end at the same moment the walk may follow the wrong one of them; its length is the
-- same. Spans of a nanosecond or less are left out, and moments that are a nanosecond apart are one.
WITH RECURSIVE
timed AS MATERIALIZED (
  SELECT row_number() OVER () AS id, lane, name, category, started_s, end_s
  FROM span
  WHERE run_id = :run AND end_s - started_s > 1e-9
),
moment AS (
  SELECT id, started_s + 1e-9 AS at_s, 1 AS is_start FROM timed UNION ALL
  SELECT id, end_s, 0 FROM timed
),
enabled AS (
  SELECT * FROM (
    SELECT id, is_start, max(iif(is_start, NULL, at_s)) OVER (ORDER BY at_s, is_start ROWS UNBOUNDED PRECEDING) AS at_s
    FROM moment
  ) WHERE is_start
),
end_on_lane AS MATERIALIZED (SELECT lane, end_s, max(id) AS id FROM timed GROUP BY lane, end_s),
end_anywhere AS MATERIALIZED (SELECT end_s, min(id) AS id FROM timed GROUP BY end_s),
step_back AS MATERIALIZED (
  SELECT timed.id, coalesce(own.id, other.id) AS before_id, max(timed.started_s - coalesce(enabled.at_s, 0), 0) AS gap_s
  FROM timed
  JOIN enabled USING (id)
  LEFT JOIN end_on_lane own ON own.lane = timed.lane AND own.end_s = enabled.at_s
  LEFT JOIN end_anywhere other ON other.end_s = enabled.at_s
),
path (id) AS (
  SELECT * FROM (SELECT id FROM timed ORDER BY end_s DESC, id LIMIT 1)
  UNION ALL
  SELECT step_back.before_id FROM path JOIN step_back USING (id) WHERE step_back.before_id IS NOT NULL
),
piece AS (
  SELECT category, name, lane, end_s - started_s AS seconds FROM path JOIN timed USING (id) UNION ALL
  SELECT 'gap', 'no span', lane, gap_s FROM path JOIN step_back USING (id) JOIN timed USING (id) WHERE gap_s > 1e-9
)
SELECT
  category,
  name,
  count(*) AS spans,
  count(DISTINCT lane) AS lanes,
  sum(seconds) AS seconds,
  100.0 * sum(seconds) / (SELECT max(end_s) FROM timed) AS percent
FROM piece
GROUP BY category, name
ORDER BY seconds DESC, category, name;

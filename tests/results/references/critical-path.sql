-- Which spans form the critical path, the sequence that determines the length of the step?
-- reads: span(lane, stream, name, category, started_s, end_s)
-- category: the kind of time; "gap" where no span on the path was running (latency, launch, or a wait without a span)
-- name: the operation
-- spans: number of its spans on the path
-- lanes: number of rank classes that these spans belong to
-- seconds: time of these spans; all rows add up to the end of the last span
-- percent: seconds as a percentage of the whole
--
-- The walk starts at the span that ends last and goes backwards. From each span it goes to the span that ended last
-- before this one started; where several ended at that moment, to the one on the same lane, else to the first. Recorded
-- spans do not hold their dependencies, so where unrelated spans end at the same moment the walk can follow the wrong
-- one; the length of the path is the same. Spans of a nanosecond or less are skipped, and moments within a nanosecond
-- count as equal.
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

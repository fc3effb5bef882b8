-- Which spans form the critical path, the sequence that determines the length of the step?
-- reads: span(rowid, lane, stream, name, category, started_s, end_s)
-- rows-from: runs with spans: training and collectives, not run --spans none
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
-- count as equal. Each step of the walk looks at the spans that end in one part of the run, of 16 spans on average, and
-- where none of them will do, goes to the part before.
WITH RECURSIVE
whole AS MATERIALIZED (
  SELECT max(end_s) AS end_s, count(*) / 16 + 1 AS parts FROM span WHERE run_id = :run AND end_s - started_s > 1e-9
),
timed AS MATERIALIZED (
  SELECT span.rowid AS id, lane, span.end_s, cast(parts * span.end_s / whole.end_s AS INTEGER) AS part
  FROM whole
  CROSS JOIN span
  WHERE run_id BETWEEN :run AND :run AND span.end_s - started_s > 1e-9
),
walk (id, lane, at_s, part) AS (
  SELECT NULL, NULL, end_s, parts FROM whole
  UNION ALL
  SELECT
    s.rowid,
    coalesce(s.lane, walk.lane),
    coalesce(s.started_s + 1e-9, at_s),
    coalesce(cast(parts * (s.started_s + 1e-9) / whole.end_s AS INTEGER), part - 1)
  FROM walk
  CROSS JOIN whole
  LEFT JOIN span s ON s.rowid = (
    SELECT id
    FROM (SELECT id, end_s, lane = walk.lane AS is_own FROM timed WHERE part = walk.part AND end_s <= at_s)
    ORDER BY end_s DESC, is_own DESC, iif(is_own, -id, id)
    LIMIT 1
  )
  WHERE walk.part >= 0
),
path AS MATERIALIZED (
  SELECT category, name, s.lane, started_s, end_s, max(started_s - lead(end_s, 1, 0) OVER (ORDER BY end_s DESC), 0) AS gap_s
  FROM walk
  CROSS JOIN span s ON s.rowid = walk.id
),
piece AS (
  SELECT category, name, lane, end_s - started_s AS seconds FROM path UNION ALL
  SELECT 'gap', 'no span', lane, gap_s FROM path WHERE gap_s > 1e-9
)
SELECT
  category,
  name,
  count(*) AS spans,
  count(DISTINCT lane) AS lanes,
  sum(seconds) AS seconds,
  100.0 * sum(seconds) / (SELECT end_s FROM whole) AS percent
FROM piece
GROUP BY category, name
ORDER BY seconds DESC, category, name;

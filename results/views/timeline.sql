-- What does each lane do when? A Gantt chart with the resolution of a screen.
-- reads: span(lane, stream, name, category, begin_s, started_s, end_s); lane(lane, name)
-- takes: lanes (how many lanes; 32 when not given)
-- takes: from (where the chart begins, seconds; 0 when not given)
-- takes: to (where the chart ends; the end of the run when not given)
-- takes: parts (how many columns the chart is drawn in; 2000 when not given)
-- rows-from: runs with spans
-- series: forward, backward, a phase of post-training, or the kind of communication
-- row: row of the lane, from 0 at the top
-- lane: the lane's name
-- begin_s: when the work begins
-- end_s: when the work ends; equal work within one column of the chart is merged
-- is_work: 1 for work, 0 for communication
-- n_lanes: how many lanes the run has; the chart shows the first `lanes` lanes
--
-- run_id BETWEEN :run AND :run is run_id = :run, but SQLite then expects many rows, and looks lanes up in an index instead
-- of comparing each span with each lane.
WITH whole AS (
  SELECT coalesce(:from, 0.0) AS from_s, coalesce(:to, (SELECT max(end_s) FROM span WHERE run_id = :run)) AS to_s
),
shown AS MATERIALIZED (
  SELECT lane, name, row_number() OVER (ORDER BY lane) - 1 AS row
  FROM lane
  WHERE run_id BETWEEN :run AND :run
  ORDER BY lane
  LIMIT coalesce(:lanes, 32)
),
piece AS (
  SELECT
    shown.row,
    shown.name AS lane,
    CASE
      WHEN s.category = 'compute' AND s.stream = 'phase' THEN s.name
      WHEN s.category = 'compute' AND substr(s.name, 1, 7) = 'forward' THEN 'forward'
      WHEN s.category = 'compute' AND substr(s.name, 1, 8) = 'backward' THEN 'backward'
      WHEN s.category = 'compute' THEN 'other compute'
      ELSE s.category
    END AS series,
    s.category = 'compute' AS is_work,
    max(s.started_s, whole.from_s) AS begin_s,
    min(s.end_s, whole.to_s) AS end_s,
    cast(coalesce(:parts, 2000) * (max(s.started_s, whole.from_s) - whole.from_s) / (whole.to_s - whole.from_s) AS INTEGER) AS part
  FROM whole
  CROSS JOIN span s
  CROSS JOIN shown ON shown.lane = s.lane
  WHERE s.run_id BETWEEN :run AND :run AND s.lane <= (SELECT max(lane) FROM shown) AND s.category <> 'step'
    AND s.end_s > max(s.started_s, whole.from_s) AND s.started_s < whole.to_s AND (s.stream IN ('compute', 'phase') OR s.category <> 'compute')
)
SELECT
  p.series,
  p.row,
  p.lane,
  min(p.begin_s) AS begin_s,
  max(p.end_s) AS end_s,
  p.is_work,
  (SELECT count(*) FROM lane WHERE run_id = :run) AS n_lanes
FROM piece p
GROUP BY p.is_work, p.series, p.row, p.part
ORDER BY p.is_work, p.series, p.row, p.part;

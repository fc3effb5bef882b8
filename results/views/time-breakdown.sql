-- How does the iteration divide into kinds of time, run by run?
-- reads: sweep(n_points, objective); sweep_point(sweep, rung, eligible, objective_1); time_kind(lane, category, seconds); lane(lane, multiplicity)
-- rows-from: training runs
-- series: the kind of time; the kinds that take the most over all runs come first
-- place: position of the run; the newest dozen runs up to this one, or the best dozen points of a sweep
-- label: the run's number and scenario, or a point's settings
-- from_s: where the kind begins in the run's bar, seconds
-- to_s: where the kind ends, seconds
WITH asked AS (
  SELECT run_id AS id, n_points, iif(objective LIKE 'maximize %', -1, 1) AS sign
  FROM sweep
  WHERE :run BETWEEN run_id AND run_id + n_points
),
rung AS (SELECT max(rung) AS last FROM asked JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points),
best AS (
  SELECT run_id, row_number() OVER (ORDER BY score, run_id) AS place
  FROM (
    SELECT p.run_id, asked.sign * p.objective_1 AS score
    FROM asked
    JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
    WHERE p.eligible AND p.objective_1 IS NOT NULL AND p.rung = (SELECT last FROM rung)
    ORDER BY score, p.run_id
    LIMIT 12
  )
),
newest AS (
  SELECT id, scenario
  FROM run
  WHERE NOT EXISTS (SELECT 1 FROM asked) AND id <= :run
    AND EXISTS (SELECT 1 FROM time_kind k WHERE k.run_id = run.id)
    AND NOT EXISTS (SELECT 1 FROM sweep_point p WHERE p.run_id = run.id)
  ORDER BY id DESC
  LIMIT 12
),
shown AS MATERIALIZED (
  SELECT id, row_number() OVER (ORDER BY id) AS place, id || ': ' || scenario AS label FROM newest UNION ALL
  SELECT
    run_id,
    place,
    run_id || ': ' || (
      SELECT group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || ' ' || value, ', ')
      FROM param
      WHERE param.run_id = best.run_id
    )
  FROM best
),
ranks AS (SELECT run_id, sum(multiplicity) AS n FROM lane WHERE run_id IN (SELECT id FROM shown) GROUP BY run_id),
mean AS (
  SELECT k.run_id, k.category, sum(k.seconds * l.multiplicity) / ranks.n AS seconds
  FROM ranks
  JOIN time_kind k ON k.run_id = ranks.run_id
  JOIN lane l ON l.run_id = k.run_id AND l.lane = k.lane
  GROUP BY k.run_id, k.category
),
ranked AS (SELECT category, row_number() OVER (ORDER BY sum(seconds) DESC, category) AS position FROM mean GROUP BY category HAVING sum(seconds) > 0)
SELECT
  m.category AS series,
  s.place,
  s.label,
  sum(m.seconds) OVER bar - m.seconds AS from_s,
  sum(m.seconds) OVER bar AS to_s
FROM mean m
JOIN ranked r USING (category)
JOIN shown s ON s.id = m.run_id
WINDOW bar AS (PARTITION BY m.run_id ORDER BY r.position)
ORDER BY r.position, s.place;

-- How does the iteration divide into kinds of time, run beside run?
-- reads: time_kind(lane, category, seconds); lane(lane, multiplicity)
-- series: the kind of time; those that take most over all runs come first
-- place: the run's place among those shown: the newest dozen up to this one
-- label: the run's number and its scenario
-- from_s: where the kind begins in the run's bar, seconds
-- to_s: where it ends
WITH shown AS (
  SELECT id, row_number() OVER (ORDER BY id) AS place, id || ': ' || scenario AS label
  FROM (
    SELECT id, scenario FROM run WHERE id <= :run AND id IN (SELECT run_id FROM time_kind) ORDER BY id DESC LIMIT 12
  )
),
ranks AS (SELECT run_id, sum(multiplicity) AS n FROM lane WHERE run_id IN (SELECT id FROM shown) GROUP BY run_id),
mean AS (
  SELECT k.run_id, k.category, sum(k.seconds * l.multiplicity) / ranks.n AS seconds
  FROM ranks
  JOIN time_kind k ON k.run_id = ranks.run_id
  JOIN lane l ON l.run_id = k.run_id AND l.lane = k.lane
  GROUP BY k.run_id, k.category
),
ranked AS (SELECT category, row_number() OVER (ORDER BY sum(seconds) DESC, category) AS position FROM mean GROUP BY category)
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

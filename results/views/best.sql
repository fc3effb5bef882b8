-- Which configurations of the sweep are best?
-- reads: sweep(n_points, objective); sweep_point(rung, eligible, objective_1, objective_2, objective_3, objective_4); sweep_band(point_run, objective, low, high, quality, best_run, told_apart, sure)
-- takes: objective (which of several objectives, from 1; the first when not given)
-- takes: top (how many points; 10 when not given)
-- rows-from: sweeps
-- place: rank by the objective; 1 is the best
-- run: the point's run, as --run takes it
-- value: value of the objective
-- of_best_percent: value as a percentage of the best value
-- low: lower bound of a measurement of the value; empty where the sweep did not ask, or nothing measured is like the point
-- high: upper bound
-- quality: good, weak or none: how well measured rows support the band
-- told_apart: 1 where measurements could tell the point from the best one, 0 where not; empty where not known, or for another objective than the first
-- sure_percent: how sure it is that the best point is better
-- others: values of the other objectives, in order; empty where the sweep has one objective
-- settings: values of the axes
WITH RECURSIVE asked AS (
  SELECT run_id AS id, n_points, objective FROM sweep WHERE run_id <= :run ORDER BY run_id DESC LIMIT 1
),
objective (k, text, rest) AS (
  SELECT 0, NULL, objective || '; ' FROM asked UNION ALL
  SELECT k + 1, substr(rest, 1, instr(rest, '; ') - 1), substr(rest, instr(rest, '; ') + 2) FROM objective WHERE rest <> ''
),
wanted AS (SELECT k, iif(text LIKE 'maximize %', -1, 1) AS sign FROM objective WHERE k = coalesce(:objective, 1)),
last AS MATERIALIZED (
  SELECT max(rung) AS rung FROM asked JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
),
score AS (
  SELECT p.run_id, p.objective_1, p.objective_2, p.objective_3, p.objective_4, k, sign,
    CASE k WHEN 1 THEN p.objective_1 WHEN 2 THEN p.objective_2 WHEN 3 THEN p.objective_3 ELSE p.objective_4 END AS value
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  JOIN last ON last.rung = +p.rung
  CROSS JOIN wanted
  WHERE p.eligible
),
best AS MATERIALIZED (
  SELECT * FROM score WHERE value IS NOT NULL ORDER BY sign * value, run_id LIMIT coalesce(:top, 10)
)
SELECT
  row_number() OVER (ORDER BY sign * best.value, best.run_id) AS place,
  best.run_id AS run,
  best.value,
  100.0 * best.value / nullif(first_value(best.value) OVER (ORDER BY sign * best.value, best.run_id), 0) AS of_best_percent,
  b.low,
  b.high,
  b.quality,
  iif(b.best_run = first_value(best.run_id) OVER (ORDER BY sign * best.value, best.run_id), b.told_apart, NULL) AS told_apart,
  iif(b.best_run = first_value(best.run_id) OVER (ORDER BY sign * best.value, best.run_id), 100.0 * b.sure, NULL) AS sure_percent,
  nullif(
    ltrim(
      iif(k = 1 OR objective_1 IS NULL, '', printf('; %.6g', objective_1)) ||
      iif(k = 2 OR objective_2 IS NULL, '', printf('; %.6g', objective_2)) ||
      iif(k = 3 OR objective_3 IS NULL, '', printf('; %.6g', objective_3)) ||
      iif(k = 4 OR objective_4 IS NULL, '', printf('; %.6g', objective_4)),
      '; '
    ),
    ''
  ) AS others,
  (
    SELECT group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || ' ' || value, ', ')
    FROM param
    WHERE param.run_id = best.run_id
  ) AS settings
FROM best
LEFT JOIN sweep_band b ON b.run_id = (SELECT id FROM asked) AND b.point_run = best.run_id AND b.objective = best.k
ORDER BY place;

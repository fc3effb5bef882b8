-- What effect does each value of each axis have on the sweep's objective?
-- reads: sweep(n_points, objective); sweep_point(rung, eligible, objective_1, objective_2, objective_3, objective_4)
-- takes: objective (which of several objectives, from 1; the first when not given)
-- rows-from: sweeps
-- axis: dotted path of the axis
-- setting: value on the axis
-- points: points with this value, answered or not
-- answered: points with this value that have the objective and satisfy the constraints
-- mean: mean of the objective over the answered points
-- effect_percent: mean difference from points that differ in this axis alone, percent
-- best: the best value of the objective
-- best_run: the run with the best value
-- of_best_percent: best as a percentage of the sweep's best
--
-- Means over points mislead where constraints remove some combinations of axes: effect_percent compares only points that
-- differ in this axis alone, and skips a point without such a counterpart. The values of each axis are numbered; the
-- numbers of a point are the digits of one integer, its code. Points with equal codes, less the axis' own digit, differ
-- in that axis alone. `id` names a digit of an axis, and `others` the code without it; each holds the axis' number, below
-- 64, too.
WITH RECURSIVE asked AS (
  SELECT run_id AS id, n_points, objective FROM sweep WHERE run_id <= :run ORDER BY run_id DESC LIMIT 1
),
objective (k, text, rest) AS (
  SELECT 0, NULL, objective || '; ' FROM asked UNION ALL
  SELECT k + 1, substr(rest, 1, instr(rest, '; ') - 1), substr(rest, instr(rest, '; ') + 2) FROM objective WHERE rest <> ''
),
wanted AS MATERIALIZED (
  SELECT k, iif(text LIKE 'maximize %', -1, 1) AS sign FROM objective WHERE k = coalesce(:objective, 1)
),
last AS MATERIALIZED (
  SELECT max(rung) AS rung
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
),
level AS MATERIALIZED (
  SELECT path, value, row_number() OVER (PARTITION BY path ORDER BY min(number), value) - 1 AS step
  FROM (
    SELECT DISTINCT path, value, number
    FROM asked
    JOIN param ON param.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  )
  GROUP BY path, value
),
axis AS MATERIALIZED (
  SELECT path, count(*) AS n, row_number() OVER (ORDER BY path) AS k FROM level GROUP BY path
),
stride (k, stride) AS (
  SELECT 1, 1 UNION ALL
  SELECT stride.k + 1, stride * n FROM stride JOIN axis ON axis.k = stride.k
),
setting AS MATERIALIZED (
  SELECT level.path, level.value, axis.k, axis.n, stride.stride, stride.stride * level.step AS part
  FROM level
  JOIN axis ON axis.path = level.path
  JOIN stride ON stride.k = axis.k
),
point AS MATERIALIZED (
  SELECT
    p.run_id,
    (SELECT sum(s.part) FROM param CROSS JOIN setting s ON s.path = param.path AND s.value = param.value WHERE param.run_id = p.run_id) AS code,
    iif(
      p.eligible,
      CASE k WHEN 1 THEN p.objective_1 WHEN 2 THEN p.objective_2 WHEN 3 THEN p.objective_3 ELSE p.objective_4 END,
      NULL
    ) AS value
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  JOIN last ON last.rung = +p.rung
  CROSS JOIN wanted
),
digit AS MATERIALIZED (SELECT DISTINCT k, n, stride FROM setting),
piece AS (
  SELECT run_id, value, stride * (code / stride % n) * 64 + k AS id, (code - stride * (code / stride % n)) * 64 + k AS others
  FROM digit
  CROSS JOIN point
),
alike AS (
  SELECT id, run_id, value, avg(value) OVER like_it AS mean, count(value) OVER like_it AS n
  FROM piece
  WINDOW like_it AS (PARTITION BY others)
),
summed AS MATERIALIZED ( -- with a single min(), SQLite takes run_id from the row with the minimum
  SELECT
    id,
    count(*) AS points,
    count(value) AS answered,
    avg(value) AS mean,
    100.0 * avg(iif(n > 1, value / nullif(mean, 0) - 1, NULL)) AS effect_percent,
    min(wanted.sign * value) AS least,
    iif(value IS NULL, NULL, run_id) AS best_run
  FROM alike
  CROSS JOIN (SELECT sign FROM wanted) AS wanted
  GROUP BY id
)
SELECT
  setting.path AS axis,
  setting.value AS setting,
  points,
  answered,
  mean,
  effect_percent,
  wanted.sign * least AS best,
  best_run,
  100.0 * least / nullif(min(least) OVER (), 0) AS of_best_percent
FROM summed
JOIN setting ON setting.part * 64 + setting.k = summed.id
CROSS JOIN wanted
ORDER BY axis, setting.part;

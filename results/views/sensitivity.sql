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
-- numbers of a point are the digits of one integer, its code (results/store_effects.c).
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
  SELECT
    level.path,
    level.value,
    stride.stride * level.step AS part,
    row_number() OVER (ORDER BY axis.k, level.step) - 1 AS place
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
size AS MATERIALIZED (SELECT group_concat(n) AS list FROM (SELECT n FROM axis ORDER BY k)),
effects AS MATERIALIZED (
  SELECT orr_effects(code, point.value, run_id, sign, list) AS list
  FROM point
  CROSS JOIN wanted
  CROSS JOIN size
),
summed AS (
  SELECT
    each.key AS place,
    json_extract(each.value, '$[0]') AS points,
    json_extract(each.value, '$[1]') AS answered,
    orr_real(json_extract(each.value, '$[2]')) AS mean,
    100.0 * orr_real(json_extract(each.value, '$[3]')) AS effect_percent,
    orr_real(json_extract(each.value, '$[4]')) AS least,
    json_extract(each.value, '$[5]') AS best_run
  FROM effects
  CROSS JOIN json_each(effects.list) each
  WHERE json_extract(each.value, '$[0]') > 0
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
JOIN setting ON setting.place = summed.place
CROSS JOIN wanted
ORDER BY axis, setting.part;

-- Where does the time of the sweep's best points go, by kind?
-- reads: sweep(n_points, objective); sweep_point(rung, eligible, objective_1); time_kind(lane, category, seconds, fraction)
-- takes: top (how many points; 10 when not given)
-- rows-from: sweeps over training
-- place: rank by the first objective; 1 is the best
-- run: the point's run
-- settings: values of the axes
-- category: the kind of time
-- seconds: seconds of the iteration, mean over all GPUs
-- percent: seconds as a percentage of the iteration
-- mean_percent: percentage of the iteration, mean over the points shown
WITH asked AS (
  SELECT run_id AS id, n_points, iif(objective LIKE 'maximize %', -1, 1) AS sign
  FROM sweep
  WHERE run_id <= :run
  ORDER BY run_id DESC
  LIMIT 1
),
last AS MATERIALIZED (
  SELECT max(rung) AS rung
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
),
best AS MATERIALIZED (
  SELECT p.run_id, row_number() OVER (ORDER BY asked.sign * p.objective_1, p.run_id) AS place
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  JOIN last ON last.rung = p.rung
  WHERE p.eligible AND p.objective_1 IS NOT NULL
  ORDER BY place
  LIMIT coalesce(:top, 10)
)
SELECT
  best.place,
  best.run_id AS run,
  (
    SELECT group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || ' ' || value, ', ')
    FROM param
    WHERE param.run_id = best.run_id
  ) AS settings,
  k.category,
  k.seconds,
  100.0 * k.fraction AS percent,
  100.0 * sum(k.fraction) OVER (PARTITION BY k.category) / (SELECT count(*) FROM best) AS mean_percent
FROM best
JOIN time_kind k ON k.run_id = best.run_id
ORDER BY best.place, mean_percent DESC, k.category;

-- Which points does the sweep have, with which settings, and how did each end?
-- reads: sweep(n_points); sweep_point(point, rung, status, reason, eligible, objective_1, objective_2, objective_3, objective_4, least_s, memory_bytes); sweep_band(point_run, objective, low, high, told_apart)
-- rows-from: sweeps
-- point: number of the point in the sweep, from 0
-- run: run of the point
-- rung: rung of the sampler
-- status: ok, unfit, refused, failed, crashed, timeout or pruned
-- eligible: 1 where the status is ok and the constraints on results hold
-- objective_1: value of the first objective
-- objective_2: value of the second objective
-- objective_3: value of the third objective
-- objective_4: value of the fourth objective
-- low: lower bound of a measurement of the first objective; only for the points that the sweep's report shows
-- high: upper bound
-- told_apart: 1 where measurements could tell the point from the best one, 0 where not; empty where not known
-- settings: values of the axes
-- reason: why the status is not ok
-- least_s: of a pruned point: seconds that a step takes at least
-- memory_bytes: memory that the fullest GPU needs, also of points that do not fit
WITH asked AS (SELECT run_id AS id, n_points FROM sweep WHERE run_id <= :run ORDER BY run_id DESC LIMIT 1),
axis AS MATERIALIZED (
  SELECT path, replace(path, rtrim(path, replace(path, '.', '')), '') AS name
  FROM (SELECT DISTINCT path FROM asked JOIN param ON param.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points)
)
SELECT
  p.point,
  p.run_id AS run,
  p.rung,
  p.status,
  p.eligible,
  p.objective_1,
  p.objective_2,
  p.objective_3,
  p.objective_4,
  b.low,
  b.high,
  b.told_apart,
  (
    SELECT group_concat(axis.name || ' ' || value, ', ')
    FROM param
    CROSS JOIN axis ON axis.path = param.path
    WHERE param.run_id = p.run_id
  ) AS settings,
  p.reason,
  p.least_s,
  p.memory_bytes
FROM asked
JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
LEFT JOIN sweep_band b ON b.run_id = asked.id AND b.point_run = p.run_id AND b.objective = 1
ORDER BY p.run_id;

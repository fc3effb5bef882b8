-- Which points does the sweep have, with which settings, and how did each end?
-- reads: sweep(n_points); sweep_point(point, rung, status, reason, eligible, objective_1, objective_2, objective_3, objective_4)
-- point: number of the point in the sweep, from 0
-- run: run of the point
-- rung: rung of the sampler
-- status: ok, unfit, refused, failed, crashed or timeout
-- eligible: 1 where the status is ok and the constraints on results hold
-- objective_1: value of the first objective
-- objective_2: value of the second objective
-- objective_3: value of the third objective
-- objective_4: value of the fourth objective
-- settings: values of the axes
-- reason: why the status is not ok
WITH asked AS (SELECT run_id AS id, n_points FROM sweep WHERE run_id <= :run ORDER BY run_id DESC LIMIT 1)
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
  (
    SELECT group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || ' ' || value, ', ')
    FROM param
    WHERE param.run_id = p.run_id
  ) AS settings,
  p.reason
FROM asked
JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
ORDER BY p.run_id;

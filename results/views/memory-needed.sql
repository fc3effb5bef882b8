-- How much memory would each run or point of a sweep need, whether or not it fits?
-- reads: sweep(n_points); sweep_point(point, status, memory_bytes); training_result(memory_peak_bytes, fits); memory(total_bytes, capacity_bytes)
-- rows-from: training runs, and sweeps over training
-- run: the run
-- point: number of the point in the sweep; empty for other runs
-- needed_gib: memory that the fullest GPU needs, GiB
-- capacity_gib: memory of that GPU, GiB; empty for points of sweeps
-- fits: 1 where it fits, 0 where it does not
-- settings: values of the axes, or the scenario's name
--
-- Points in the order of their need, so that the last that fits stands next to the first that does not. A run of
-- another kind than a sweep is the only row.
WITH asked AS (SELECT run_id AS id, n_points FROM sweep WHERE run_id = :run)
SELECT
  p.run_id AS run,
  p.point,
  p.memory_bytes / 1073741824.0 AS needed_gib,
  NULL AS capacity_gib,
  p.status <> 'unfit' AS fits,
  (
    SELECT group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || ' ' || value, ', ')
    FROM param
    WHERE param.run_id = p.run_id
  ) AS settings
FROM asked
JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
WHERE p.memory_bytes IS NOT NULL
UNION ALL
SELECT
  t.run_id,
  NULL,
  t.memory_peak_bytes / 1073741824.0,
  (SELECT max(capacity_bytes) FROM memory WHERE memory.run_id = t.run_id) / 1073741824.0,
  t.fits,
  run.scenario
FROM training_result t
JOIN run ON run.id = t.run_id
WHERE t.run_id = :run
ORDER BY needed_gib, run;

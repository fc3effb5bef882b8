-- Why do points of the sweep have no answer, and which point comes nearest to one?
-- reads: sweep(n_points); sweep_point(status, reason, eligible, memory_bytes, least_s)
-- rows-from: sweeps with points that were refused, do not fit, failed, were pruned or violate a constraint
-- status: unfit (memory), pruned (by its bound), refused, failed, crashed, timeout, or ineligible (a constraint on results)
-- reason: what was found; of ineligible points the constraint that they violate
-- points: points with this status and reason
-- percent: percentage of all completed points
-- nearest_run: the point that needs least memory (unfit), has the smallest bound (pruned), or comes first
-- nearest_memory_gib: memory that the fullest GPU of that point needs, GiB
-- nearest_settings: values of that point's axes
WITH asked AS (SELECT run_id AS id, n_points FROM sweep WHERE run_id <= :run ORDER BY run_id DESC LIMIT 1),
point AS MATERIALIZED (
  SELECT
    p.run_id,
    iif(p.status = 'ok', 'ineligible', p.status) AS status,
    p.reason,
    p.memory_bytes,
    CASE p.status WHEN 'unfit' THEN p.memory_bytes WHEN 'pruned' THEN p.least_s ELSE p.run_id END AS distance,
    p.status = 'ok' AND p.eligible AS is_fine
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
),
found AS ( -- with a single min(), SQLite takes the other columns from the row with the minimum
  SELECT status, reason, count(*) AS points, min(distance), run_id, memory_bytes
  FROM point
  WHERE NOT is_fine
  GROUP BY status, reason
)
SELECT
  status,
  reason,
  points,
  100.0 * points / (SELECT count(*) FROM point) AS percent,
  run_id AS nearest_run,
  memory_bytes / 1073741824.0 AS nearest_memory_gib,
  (
    SELECT group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || ' ' || value, ', ')
    FROM param
    WHERE param.run_id = found.run_id
  ) AS nearest_settings
FROM found
ORDER BY points DESC, status, reason;

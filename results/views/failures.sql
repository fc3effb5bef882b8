-- Why do combinations and points of the sweep have no answer?
-- reads: sweep(n_points, n_combinations); sweep_excluded(reason, combinations); sweep_point(status, reason, eligible)
-- rows-from: sweeps with points that have no answer
-- outcome: excluded (not a point), unfit (memory), pruned (by its bound), refused, failed, crashed, timeout, or ineligible
-- reason: the constraint or the finding, with # in place of numbers
-- n: combinations or points with this outcome and reason
-- percent: percentage of all combinations (excluded), or of all completed points
-- example_run: the run of one of these points
--
-- A constraint or the workload's checks excluded a combination before anything ran. The memory estimate made a point
-- unfit. An ineligible point was simulated, but violates a constraint on results.
WITH asked AS (
  SELECT run_id AS id, n_points, n_combinations FROM sweep WHERE run_id <= :run ORDER BY run_id DESC LIMIT 1
),
point AS MATERIALIZED (
  SELECT p.run_id, iif(p.status = 'ok', 'ineligible', p.status) AS outcome, p.status = 'ok' AND p.eligible AS is_fine, p.reason
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
)
SELECT outcome, reason, n, percent, example_run
FROM (
  SELECT
    'excluded' AS outcome,
    x.reason,
    x.combinations AS n,
    100.0 * x.combinations / asked.n_combinations AS percent,
    NULL AS example_run
  FROM asked
  JOIN sweep_excluded x ON x.run_id = asked.id
  UNION ALL
  SELECT outcome, reason, count(*), 100.0 * count(*) / (SELECT count(*) FROM point), min(run_id)
  FROM point
  WHERE NOT is_fine
  GROUP BY outcome, reason
)
ORDER BY outcome <> 'excluded', n DESC, outcome, reason;

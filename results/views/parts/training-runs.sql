-- until: the last run that counts, of a sweep its last point. left_out: points that are not compared. bounds: error bands
-- of tokens per second, of runs, and of points where it is what the sweep maximizes.
until AS (SELECT coalesce((SELECT run_id + n_points FROM sweep WHERE run_id = :run), :run) AS run_id),
rung AS (SELECT sweep, max(rung) AS last FROM sweep_point GROUP BY sweep),
left_out AS (
  SELECT p.run_id FROM sweep_point p JOIN rung ON rung.sweep = p.sweep WHERE NOT p.eligible OR p.rung < rung.last
),
bounds AS (
  SELECT run_id, low, high, expected FROM band WHERE metric = 'tokens_per_s' UNION ALL
  SELECT b.point_run, b.low, b.high, b.expected
  FROM sweep_band b
  JOIN sweep s ON s.run_id = b.run_id
  WHERE b.objective = 1 AND s.objective || '; ' LIKE 'maximize tokens_per_s; %'
),

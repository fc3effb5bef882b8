-- Which sweeps are in this database, how far are they, and what is the best result so far?
-- reads: sweep(n_points, n_combinations, sampler, objective); sweep_point(rung, status, eligible, objective_1)
-- rows-from: sweeps
-- sweep: the sweep's run
-- scenario: the scenario's name
-- sampler: what chose the points
-- n_combinations: combinations of the axes' values
-- n_points: number of points
-- done: points that are stored
-- percent: done as a percentage of all points
-- answered: points simulated to the end
-- unfit: points that do not fit into memory
-- pruned: points that were not simulated, because a bound rules them out
-- unanswered: points that were refused, failed, crashed or timed out
-- points_per_s: points stored per second, from the first to the last; empty within the first second
-- left_s: estimated time for the remaining points at that rate
-- objective: the first objective
-- best: the best value so far
-- best_run: the run with the best value
SELECT
  s.run_id AS sweep,
  run.scenario,
  s.sampler,
  s.n_combinations,
  s.n_points,
  count(p.run_id) AS done,
  100.0 * count(p.run_id) / nullif(s.n_points, 0) AS percent,
  sum(coalesce(p.status = 'ok', 0)) AS answered,
  sum(coalesce(p.status = 'unfit', 0)) AS unfit,
  sum(coalesce(p.status = 'pruned', 0)) AS pruned,
  sum(coalesce(p.status NOT IN ('ok', 'unfit', 'pruned'), 0)) AS unanswered,
  pace.rate AS points_per_s,
  (s.n_points - count(p.run_id)) / pace.rate AS left_s,
  first.text AS objective,
  best.value AS best,
  best.run_id AS best_run
FROM sweep s
JOIN run ON run.id = s.run_id
JOIN (SELECT run_id, substr(objective, 1, instr(objective || '; ', '; ') - 1) AS text FROM sweep) AS first ON first.run_id = s.run_id
LEFT JOIN sweep_point p ON p.run_id BETWEEN s.run_id + 1 AND s.run_id + s.n_points
LEFT JOIN (
  SELECT
    s.run_id AS sweep,
    1.0 * count(*) / nullif(strftime('%s', max(r.started_at)) - strftime('%s', min(r.started_at)), 0) AS rate
  FROM sweep s
  JOIN run r ON r.id BETWEEN s.run_id + 1 AND s.run_id + s.n_points
  GROUP BY s.run_id
) AS pace ON pace.sweep = s.run_id
LEFT JOIN (
  SELECT sweep, run_id, value
  FROM (
    SELECT
      s.run_id AS sweep,
      p.run_id,
      p.objective_1 AS value,
      row_number() OVER (
        PARTITION BY s.run_id
        ORDER BY p.rung DESC, iif(s.objective LIKE 'maximize %', -1, 1) * p.objective_1, p.run_id
      ) AS place
    FROM sweep s
    JOIN sweep_point p ON p.run_id BETWEEN s.run_id + 1 AND s.run_id + s.n_points
    WHERE p.eligible AND p.objective_1 IS NOT NULL
  )
  WHERE place = 1
) AS best ON best.sweep = s.run_id
GROUP BY s.run_id
ORDER BY s.run_id DESC;

-- How are the times of kernels, collectives and engine steps known?
-- reads: operator_cost(phase, kind, name, seconds_total, how); collective(predicted_s, count, how); cost_trust(how, seconds)
-- rows-from: runs of training, serving and collectives
-- what: kernels of the step, collectives (each alone on the fabric), or steps of serving engines
-- how: measured, interpolated between measured points, carried over from a device (its rows), modelled, or outside the measured range
-- entries: operators or collectives known in this way; empty for steps
-- seconds: time of all these entries
-- percent: seconds as a percentage of the same kind of entry
WITH known (what, how, entries, seconds) AS (
  SELECT 'kernels', how, count(*), sum(seconds_total) FROM operator_cost WHERE run_id = :run GROUP BY how UNION ALL
  SELECT 'collectives', how, count(*), sum(predicted_s * count) FROM collective WHERE run_id = :run GROUP BY how UNION ALL
  SELECT 'steps', how, NULL, seconds FROM cost_trust WHERE run_id = :run
)
SELECT what, how, entries, seconds, 100.0 * seconds / nullif(sum(seconds) OVER (PARTITION BY what), 0) AS percent
FROM known
ORDER BY what DESC, seconds DESC, how;

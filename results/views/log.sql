-- Which runs are here, newest first, and what did each answer?
-- reads: sweep(n_points); sweep_point(status); run_label(label); training_result(iteration_time_s, mfu, n_gpus, fits); serving_result(output_tokens_per_s, ttft_mean_s, tpot_mean_s); collectives_result(time_s, busbw_bytes_per_s); campaign_result(goodput); cluster_result(jct_mean_s, utilization); post_training_result(step_time_s, tokens_per_s_per_gpu); diffusion_result(latency_s, outputs_per_s); step_result(step_s, samples_per_s); trace_result(time_s)
-- takes: most (the most runs; 20 when not given)
-- takes: points (1: include the points of sweeps)
-- rows-from: any run
-- run: the run's number, as --run takes it
-- label: what its user calls it, or what differs from other runs of the same scenario: at most four inputs
-- scenario: the scenario's name
-- kind: the kind of workload
-- answer: the results that stand for the others
-- age: how long ago it began
-- started_at: when it began (UTC)
WITH shown AS (
  SELECT id, scenario, kind, started_at
  FROM run
  WHERE :points OR id NOT IN (SELECT run_id FROM sweep_point)
  ORDER BY id DESC
  LIMIT coalesce(:most, 20)
),
-- Inputs that are not the same in all runs of a scenario's name.
siblings AS (SELECT scenario, count(*) AS n FROM shown GROUP BY scenario HAVING n > 1),
varied AS (
  SELECT s.scenario, p.path
  FROM shown s
  JOIN siblings b ON b.scenario = s.scenario
  JOIN param p ON p.run_id = s.id
  GROUP BY s.scenario, p.path
  HAVING count(DISTINCT p.value) > 1 OR count(*) < max(b.n)
),
ranked AS (
  SELECT
    s.id,
    p.path,
    p.value,
    row_number() OVER (PARTITION BY s.id ORDER BY length(p.path), p.path) AS place
  FROM shown s
  JOIN varied v ON v.scenario = s.scenario
  JOIN param p ON p.run_id = s.id AND p.path = v.path
),
differs AS (
  SELECT id, group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || '=' || value, ', ') AS label
  FROM (SELECT * FROM ranked WHERE place <= 4 ORDER BY id, place)
  GROUP BY id
)
SELECT
  s.id AS run,
  coalesce(l.label, d.label, '') AS label,
  s.scenario,
  s.kind,
  CASE
    WHEN w.run_id IS NOT NULL THEN printf('%d points', w.n_points)
    WHEN g.run_id IS NOT NULL THEN printf('goodput %.1f %%', 100 * g.goodput)
    WHEN t.run_id IS NOT NULL AND NOT t.fits THEN printf('%.4g s per step on %d GPUs: does not fit', t.iteration_time_s, t.n_gpus)
    WHEN t.run_id IS NOT NULL THEN printf('%.4g s per step on %d GPUs, MFU %.1f %%', t.iteration_time_s, t.n_gpus, 100 * t.mfu)
    WHEN v.run_id IS NOT NULL THEN printf('%.4g tokens/s, TTFT %.3g s, TPOT %.3g ms', v.output_tokens_per_s, v.ttft_mean_s, 1000 * v.tpot_mean_s)
    WHEN j.run_id IS NOT NULL THEN printf('completion %.4g h, %.1f %% of GPUs held', j.jct_mean_s / 3600, 100 * j.utilization)
    WHEN c.run_id IS NOT NULL THEN printf('%.4g ms, busbw %.4g GB/s', 1000 * c.time_s, c.busbw_bytes_per_s / 1e9)
    WHEN r.run_id IS NOT NULL THEN printf('%.4g s per step, %.4g tokens/s per GPU', r.step_time_s, r.tokens_per_s_per_gpu)
    WHEN p.run_id IS NOT NULL THEN printf('%.4g s, %.4g outputs/s', p.latency_s, p.outputs_per_s)
    WHEN e.run_id IS NOT NULL THEN printf('%.4g s per step, %.4g samples/s', e.step_s, e.samples_per_s)
    WHEN x.run_id IS NOT NULL THEN printf('%.4g s', x.time_s)
    ELSE ''
  END AS answer,
  CASE
    WHEN julianday('now') - julianday(s.started_at) < 2.0 / 1440 THEN printf('%d s', round(86400 * (julianday('now') - julianday(s.started_at))))
    WHEN julianday('now') - julianday(s.started_at) < 2.0 / 24 THEN printf('%d min', round(1440 * (julianday('now') - julianday(s.started_at))))
    WHEN julianday('now') - julianday(s.started_at) < 2 THEN printf('%d h', round(24 * (julianday('now') - julianday(s.started_at))))
    ELSE printf('%d d', round(julianday('now') - julianday(s.started_at)))
  END AS age,
  s.started_at
FROM shown s
LEFT JOIN run_label l ON l.run_id = s.id
LEFT JOIN differs d ON d.id = s.id
LEFT JOIN sweep w ON w.run_id = s.id
LEFT JOIN campaign_result g ON g.run_id = s.id
LEFT JOIN training_result t ON t.run_id = s.id
LEFT JOIN serving_result v ON v.run_id = s.id
LEFT JOIN cluster_result j ON j.run_id = s.id
LEFT JOIN collectives_result c ON c.run_id = s.id
LEFT JOIN post_training_result r ON r.run_id = s.id
LEFT JOIN diffusion_result p ON p.run_id = s.id
LEFT JOIN step_result e ON e.run_id = s.id
LEFT JOIN trace_result x ON x.run_id = s.id
ORDER BY s.id DESC;

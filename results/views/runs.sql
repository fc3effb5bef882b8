-- Which runs are in this database?
-- reads: sweep(n_points); sweep_point(status); training_result(n_gpus, tp, pp, dp, cp, iteration_time_s, tokens_per_s, mfu, fits)
-- takes: points (1: the points of sweeps too)
-- run: the run's number, what :run stands for
-- started_at: when it was begun (UTC)
-- scenario: the scenario's name
-- kind: the kind of workload
-- n_gpus: GPUs
-- tp: tensor-parallel size
-- pp: pipeline-parallel size
-- dp: data-parallel size
-- cp: context-parallel size
-- iteration_time_s: seconds a training step
-- tokens_per_s: tokens a second
-- mfu: model FLOPs utilization, 0 to 1
-- fits: 1 where it fits into memory
-- points: of a sweep, its points: the runs that follow
-- wall_time_s: how long the simulation took
SELECT
  run.id AS run,
  run.started_at,
  run.scenario,
  run.kind,
  t.n_gpus,
  t.tp,
  t.pp,
  t.dp,
  t.cp,
  t.iteration_time_s,
  t.tokens_per_s,
  t.mfu,
  t.fits,
  (SELECT n_points FROM sweep WHERE sweep.run_id = run.id) AS points,
  run.wall_time_s
FROM run
LEFT JOIN training_result t ON t.run_id = run.id
WHERE :points OR run.id NOT IN (SELECT run_id FROM sweep_point)
ORDER BY run.id DESC;

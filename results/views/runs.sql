-- Which runs are in this database?
-- reads: sweep(n_points); sweep_point(status); training_result(n_gpus, tp, pp, dp, cp, iteration_time_s, tokens_per_s, mfu, fits)
-- takes: points (1: include the points of sweeps)
-- rows-from: any run
-- run: the run's number, as --run takes it
-- started_at: when the run began (UTC)
-- scenario: the scenario's name
-- kind: the kind of workload
-- n_gpus: GPUs
-- tp: tensor-parallel size
-- pp: pipeline-parallel size
-- dp: data-parallel size
-- cp: context-parallel size
-- iteration_time_s: seconds per training step
-- tokens_per_s: tokens per second
-- mfu: model FLOPs utilization, 0 to 1
-- fits: 1 where the job fits into memory
-- points: of a sweep, the number of its points, whose runs follow it
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

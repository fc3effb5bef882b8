-- Which runs are in this database?
-- reads: training_result(n_gpus, tp, pp, dp, cp, iteration_time_s, tokens_per_s, mfu, fits)
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
  run.wall_time_s
FROM run
LEFT JOIN training_result t ON t.run_id = run.id
ORDER BY run.id DESC;

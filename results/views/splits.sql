-- How many GPUs should roll out?
-- reads: post_training_result(rollout_gpus, update_gpus, tokens_per_s_per_gpu, step_time_s, trainer_busy, rollout_busy, rollout_sequences, staleness_mean, fits)
-- reads: param(path, value)
-- reads: sweep(n_points)
-- rows-from: sweeps of post-training
-- series: what else a sweep changes, such as the mode; the scenario's name where nothing else is changed
-- rollout_gpus: GPUs that roll out
-- tokens_per_s_per_gpu: tokens that were trained on per second and GPU of both pools
-- step_s: time of a step
-- trainer_busy_percent: part of the time in which the trainer computes
-- engines_busy_percent: part of the time in which an engine has a sequence
-- sequences: sequences of a busy engine
-- staleness: versions between a response's begin and its update, mean
WITH
other AS (
  SELECT run_id, group_concat(value, ', ') AS settings
  FROM (SELECT * FROM param WHERE path NOT IN ('workload.pools.rollout-gpus', 'question') ORDER BY run_id, path)
  GROUP BY run_id
),
split AS (
  SELECT
    coalesce(other.settings, run.scenario) AS series, r.*,
    row_number() OVER (
      PARTITION BY coalesce(other.settings, run.scenario), r.rollout_gpus
      ORDER BY r.tokens_per_s_per_gpu DESC, r.run_id
    ) AS place
  FROM post_training_result AS r
  JOIN run ON run.id = r.run_id
  LEFT JOIN other ON other.run_id = r.run_id
  WHERE r.fits AND r.run_id <= coalesce((SELECT run_id + n_points FROM sweep WHERE run_id = :run), :run)
)
SELECT
  series,
  rollout_gpus,
  tokens_per_s_per_gpu,
  step_time_s AS step_s,
  100 * trainer_busy AS trainer_busy_percent,
  100 * rollout_busy AS engines_busy_percent,
  rollout_sequences AS sequences,
  staleness_mean AS staleness
FROM split
WHERE place = 1
ORDER BY series, rollout_gpus;

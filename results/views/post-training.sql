-- Where does the time of each step of post-training go?
-- reads: post_training_step(step, begin_s, end_s, rollout_s, tail_s, samples, tokens, response_tokens_mean, response_tokens_most, staleness_mean, staleness_most)
-- reads: post_training_phase(step, pool, phase, begin_s, end_s)
-- rows-from: post-training runs
-- step: the step, from 0; the first fills the pipeline
-- step_s: its time, from new weights to new weights
-- rollout_wait_s: the trainer waits for rollouts
-- tail_s: of the rollouts, after nine tenths of the responses had ended; empty: rollouts never stop
-- switch_s: GPUs change their role
-- passes_s: log-probabilities, reference, rewards and values
-- update_s: updates of actor and critic
-- sync_s: new weights move to the engines
-- driver_s: the process in the middle
-- tokens_per_s: tokens of prompts and responses over the whole step
-- response_mean: length of a response
-- response_most: the longest
-- staleness: versions between a response's begin and its update, mean
SELECT
  step,
  end_s - begin_s AS step_s,
  (SELECT coalesce(sum(end_s - begin_s), 0) FROM post_training_phase AS p
    WHERE p.run_id = s.run_id AND p.pool = 'trainer' AND p.step = s.step AND p.phase = 'rollout-wait') AS rollout_wait_s,
  tail_s,
  (SELECT coalesce(sum(end_s - begin_s), 0) FROM post_training_phase AS p
    WHERE p.run_id = s.run_id AND p.pool = 'trainer' AND p.step = s.step AND p.phase = 'switch') AS switch_s,
  (SELECT coalesce(sum(end_s - begin_s), 0) FROM post_training_phase AS p
    WHERE p.run_id = s.run_id AND p.pool = 'trainer' AND p.step = s.step
      AND p.phase IN ('old-log-probs', 'reference', 'rewards', 'values')) AS passes_s,
  (SELECT coalesce(sum(end_s - begin_s), 0) FROM post_training_phase AS p
    WHERE p.run_id = s.run_id AND p.pool = 'trainer' AND p.step = s.step
      AND p.phase IN ('update', 'critic-update')) AS update_s,
  (SELECT coalesce(sum(end_s - begin_s), 0) FROM post_training_phase AS p
    WHERE p.run_id = s.run_id AND p.pool = 'trainer' AND p.step = s.step AND p.phase = 'weight-sync') AS sync_s,
  (SELECT coalesce(sum(end_s - begin_s), 0) FROM post_training_phase AS p
    WHERE p.run_id = s.run_id AND p.pool = 'trainer' AND p.step = s.step AND p.phase = 'data') AS driver_s,
  tokens / (end_s - begin_s) AS tokens_per_s,
  response_tokens_mean AS response_mean,
  response_tokens_most AS response_most,
  staleness_mean AS staleness
FROM post_training_step AS s
WHERE run_id = :run
ORDER BY step;

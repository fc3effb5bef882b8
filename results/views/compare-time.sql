-- Where did the time change between two runs, by kind of time?
-- reads: time_kind(lane, category, seconds); lane(lane, multiplicity); serving_result(queue_mean_s, ttft_mean_s, e2e_mean_s); cluster_result(n_gpus); cluster_hours(what, gpu_hours); post_training_result(rollout_wait_s, switch_s, data_s, old_log_probs_s, reference_s, rewards_s, values_s, critic_update_s, update_s, weight_sync_s)
-- takes: other (the run to compare with; the previous run of the same kind when not given)
-- rows-from: two runs of training, serving, post-training or clusters of jobs
-- category: the kind of time; for serving: queue (until a step first computes the request), prefill (from then to the first token) and decode (the rest); for post-training: the trainer's phases; for clusters of jobs: where GPU-hours went
-- other_s: training: seconds of the iteration in the other run, mean over all ranks; serving: seconds of a request, mean over all requests; post-training: seconds of a step, mean over steps; clusters of jobs: seconds of a GPU from the first submission to the last end, mean over all GPUs
-- this_s: the same in this run
-- change_s: seconds by which this run takes longer; 0 where the difference is below 1e-6 of the whole
-- share_percent: change_s as a percentage of the change of the whole; empty where the whole did not change
WITH pair AS (
  SELECT
    :run AS this,
    coalesce(:other, (SELECT max(o.id) FROM run o JOIN run t ON t.id = :run WHERE o.id < t.id AND o.kind = t.kind)) AS other
),
ranks AS (
  SELECT l.run_id, sum(l.multiplicity) AS n
  FROM pair
  JOIN lane l ON l.run_id IN (pair.this, pair.other)
  GROUP BY l.run_id
),
mean AS (
  SELECT k.run_id, k.category, sum(k.seconds * l.multiplicity) / ranks.n AS seconds
  FROM ranks
  JOIN time_kind k ON k.run_id = ranks.run_id
  JOIN lane l ON l.run_id = k.run_id AND l.lane = k.lane
  GROUP BY k.run_id, k.category
  UNION ALL
  SELECT s.run_id, part.category, CASE part.k WHEN 1 THEN queue_mean_s WHEN 2 THEN ttft_mean_s - queue_mean_s ELSE e2e_mean_s - ttft_mean_s END
  FROM pair
  JOIN serving_result s ON s.run_id IN (pair.this, pair.other)
  CROSS JOIN (SELECT 1 AS k, 'queue' AS category UNION ALL SELECT 2, 'prefill' UNION ALL SELECT 3, 'decode') AS part
  UNION ALL
  SELECT p.run_id, 'rollout-wait', p.rollout_wait_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'switch', p.switch_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'data', p.data_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'old-log-probs', p.old_log_probs_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'reference', p.reference_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'rewards', p.rewards_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'values', p.values_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'critic-update', p.critic_update_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'update', p.update_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT p.run_id, 'weight-sync', p.weight_sync_s FROM pair JOIN post_training_result p ON p.run_id IN (pair.this, pair.other)
  UNION ALL
  SELECT h.run_id, h.what, 3600.0 * h.gpu_hours / c.n_gpus
  FROM pair
  JOIN cluster_result c ON c.run_id IN (pair.this, pair.other)
  JOIN cluster_hours h ON h.run_id = c.run_id
),
side AS (
  SELECT
    m.category,
    sum(iif(m.run_id = pair.other, m.seconds, 0.0)) AS other_s,
    sum(iif(m.run_id = pair.this, m.seconds, 0.0)) AS this_s
  FROM mean m
  CROSS JOIN pair
  WHERE pair.other IS NOT NULL
  GROUP BY m.category
),
whole AS (SELECT sum(other_s) AS other_s, sum(this_s) AS this_s, 1e-6 * max(sum(other_s), sum(this_s)) AS least_s FROM side),
changed AS (
  SELECT
    side.category,
    side.other_s,
    side.this_s,
    iif(abs(side.this_s - side.other_s) <= whole.least_s, 0.0, side.this_s - side.other_s) AS change_s,
    iif(abs(whole.this_s - whole.other_s) <= whole.least_s, NULL, whole.this_s - whole.other_s) AS whole_s
  FROM side
  CROSS JOIN whole
)
SELECT category, other_s, this_s, change_s, 100.0 * change_s / whole_s + 0.0 AS share_percent
FROM changed
WHERE max(other_s, this_s) > (SELECT least_s FROM whole)
ORDER BY abs(change_s) DESC, category;

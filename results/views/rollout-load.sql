-- How do batches thin out, and how long do engines stand still?
-- reads: post_training_load(at_s, engines_busy, running, waiting, at_tools, groups_ready)
-- reads: post_training_result(replicas)
-- rows-from: post-training runs
-- series: one series, all engines
-- at_s: when, seconds
-- busy_percent: percentage of the engines that run
-- running: responses that engines write
-- waiting: responses that wait for a place
-- at_tools: responses that wait for a tool
-- groups_ready: groups that are scored and not trained on
SELECT
  'all engines' AS series,
  l.at_s,
  100.0 * l.engines_busy / r.replicas AS busy_percent,
  l.running,
  l.waiting,
  l.at_tools,
  l.groups_ready
FROM post_training_load AS l
JOIN post_training_result AS r ON r.run_id = l.run_id
WHERE l.run_id = :run
ORDER BY l.at_s;

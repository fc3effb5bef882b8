-- How old were the weights that wrote the responses which were trained on?
-- reads: post_training_staleness(versions, samples)
-- rows-from: post-training runs
-- versions: versions of the weights between a response's begin and its update; 15 also counts more
-- samples: responses
-- percent: of all responses
SELECT
  versions,
  samples,
  100.0 * samples / (SELECT sum(samples) FROM post_training_staleness WHERE run_id = :run) AS percent
FROM post_training_staleness
WHERE run_id = :run
ORDER BY versions;

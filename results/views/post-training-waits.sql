-- Who waits for whom in post-training?
-- reads: post_training_pool(pool, state, seconds, fraction, gpu_seconds)
-- rows-from: post-training runs
-- pool: trainer or rollouts
-- state: busy, or what the pool waits for; tail: other engines still run
-- seconds: time per step, mean; of the rollouts over all engines
-- percent: of a step
-- gpu_seconds: the same, over all GPUs of the pool
SELECT pool, state, seconds, 100 * fraction AS percent, gpu_seconds
FROM post_training_pool
WHERE run_id = :run
ORDER BY pool, gpu_seconds DESC;

-- How many joules does each phase and role of post-training take?
-- reads: post_training_energy(pool, phase, role, seconds, joules, compute_j, memory_j, network_j, idle_j)
-- rows-from: post-training runs on devices with a power model
-- pool: rollouts or trainer
-- phase: what the pool does; engines on the trainer's GPUs count as rollouts
-- role: who is at work: engine, actor, reference, reward or critic; empty: nobody
-- seconds: time per step, mean over all steps
-- kj: energy of the pool's GPUs per step, kJ
-- percent: of a step's energy
-- idle_percent: the part of static power in it
SELECT
  pool,
  phase,
  role,
  seconds,
  joules / 1e3 AS kj,
  100 * joules / sum(joules) OVER () AS percent,
  100 * idle_j / nullif(joules, 0) AS idle_percent
FROM post_training_energy
WHERE run_id = :run
ORDER BY joules DESC;

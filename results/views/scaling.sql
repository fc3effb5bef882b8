-- How do tokens a second grow with GPUs?
-- reads: training_result(n_gpus, tokens_per_s, fits)
-- series: the scenario's name, or ideal: as the smallest of its runs, times the GPUs
-- n_gpus: GPUs
-- tokens_per_s: the most tokens a second of any run that fits into memory
-- of_ideal_percent: the same as a share of the smallest run's tokens a second and GPU
WITH best AS (
  SELECT run.scenario, t.n_gpus, max(t.tokens_per_s) AS tokens_per_s
  FROM training_result t
  JOIN run ON run.id = t.run_id
  WHERE t.fits AND run.id <= :run
  GROUP BY run.scenario, t.n_gpus
),
base AS (
  SELECT
    *, first_value(tokens_per_s / n_gpus) OVER (PARTITION BY scenario ORDER BY n_gpus) AS each_per_s
  FROM best
)
SELECT scenario AS series, n_gpus, tokens_per_s, 100.0 * tokens_per_s / (each_per_s * n_gpus) AS of_ideal_percent
FROM base
UNION ALL
SELECT 'ideal ' || scenario, n_gpus, each_per_s * n_gpus, 100.0 FROM base
ORDER BY series, n_gpus;

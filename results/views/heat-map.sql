-- How does the result change over two axes?
-- reads: sweep(n_points, objective); sweep_point(sweep, rung, eligible, objective_1); training_result(tokens_per_s_per_gpu, fits)
-- takes: x (a dotted path of the scenario, or its last words: tp; when not given, tensor-parallel size or an axis of the sweep)
-- takes: y (another; when not given, pipeline-parallel size or another axis of the sweep)
-- rows-from: sweeps, and training runs
-- series: the two axes
-- x: position of the value on the first axis, from 1
-- y: position of the value on the second axis, from 1
-- value: the best result of the runs with both values that fit into memory; empty where none fits
-- x_value: value on the first axis
-- y_value: value on the second axis
-- x_name: name of the first axis
-- y_name: name of the second axis
-- value_name: what the result is: tokens per second per GPU, or the sweep's first objective
-- runs: number of runs with both values
WITH asked AS MATERIALIZED (
  SELECT run_id AS id, n_points, objective FROM sweep WHERE :run BETWEEN run_id AND run_id + n_points
),
rung AS (
  SELECT run_id AS sweep, (SELECT max(rung) FROM sweep_point p WHERE p.run_id BETWEEN s.run_id + 1 AND s.run_id + s.n_points) AS last
  FROM sweep s
),
named AS MATERIALIZED (
  SELECT
    coalesce((SELECT path FROM param WHERE :x IS NOT NULL AND (path = :x OR path LIKE '%.' || :x) ORDER BY path <> :x, length(path), path LIMIT 1), :x) AS x,
    coalesce((SELECT path FROM param WHERE :y IS NOT NULL AND (path = :y OR path LIKE '%.' || :y) ORDER BY path <> :y, length(path), path LIMIT 1), :y) AS y
),
swept AS MATERIALIZED (
  SELECT
    path,
    row_number() OVER (
      ORDER BY path <> 'workload.parallel.tp', path <> 'workload.parallel.pp', count(value) DESC, path
    ) AS place
  FROM (
    SELECT DISTINCT path, value
    FROM asked
    JOIN param ON param.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  )
  CROSS JOIN named
  WHERE path <> coalesce(named.x, '') AND path <> coalesce(named.y, '')
  GROUP BY path
  HAVING count(value) > 1
),
axis AS MATERIALIZED (
  SELECT
    coalesce(named.x, (SELECT path FROM swept WHERE place = 1), 'workload.parallel.tp') AS x,
    coalesce(named.y, (SELECT path FROM swept WHERE place = iif(:x IS NULL, 2, 1)), 'workload.parallel.pp') AS y
  FROM named
),
answer (run_id, value, is_fine) AS (
  SELECT p.run_id, p.objective_1, p.eligible
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  JOIN rung ON rung.sweep = asked.id AND rung.last = +p.rung
  UNION ALL
  SELECT t.run_id, t.tokens_per_s_per_gpu, t.fits AND coalesce(p.eligible AND p.rung = rung.last, 1)
  FROM training_result t
  LEFT JOIN sweep_point p ON p.run_id = t.run_id
  LEFT JOIN rung ON rung.sweep = p.sweep
  WHERE t.run_id <= :run AND NOT EXISTS (SELECT 1 FROM asked)
),
shown AS MATERIALIZED (
  SELECT coalesce(substr(objective, 1, instr(objective || '; ', '; ') - 1), 'maximize tokens_per_s_per_gpu') AS text
  FROM (SELECT max(objective) AS objective FROM asked)
),
cell AS (
  SELECT
    px.value AS x_value,
    py.value AS y_value,
    px.number AS x_number,
    py.number AS y_number,
    iif(shown.text LIKE 'minimize %', min(iif(a.is_fine, a.value, NULL)), max(iif(a.is_fine, a.value, NULL))) AS value,
    count(*) AS runs
  FROM answer a
  CROSS JOIN axis
  CROSS JOIN shown
  CROSS JOIN param px ON px.run_id = a.run_id AND px.path = axis.x
  CROSS JOIN param py ON py.run_id = a.run_id AND py.path = axis.y
  GROUP BY px.value, py.value
)
SELECT
  axis.y || ' over ' || axis.x AS series,
  dense_rank() OVER (ORDER BY x_number, x_value) AS x,
  dense_rank() OVER (ORDER BY y_number, y_value) AS y,
  value,
  x_value,
  y_value,
  axis.x AS x_name,
  axis.y AS y_name,
  shown.text AS value_name,
  runs
FROM cell
CROSS JOIN axis
CROSS JOIN shown
ORDER BY x, y;

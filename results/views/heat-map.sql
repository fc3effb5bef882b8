-- How does the rate change over two axes?
-- reads: training_result(tokens_per_s_per_gpu, fits)
-- takes: x (a dotted path of the scenario; workload.parallel.tp when not given)
-- takes: y (another; workload.parallel.pp when not given)
-- series: the two paths
-- x: the first axis
-- y: the second
-- tokens_per_s_per_gpu: the most of any run that has both and fits into memory; none where none fits
-- runs: how many runs have both
WITH axis AS (SELECT coalesce(:x, 'workload.parallel.tp') AS x, coalesce(:y, 'workload.parallel.pp') AS y)
SELECT
  axis.y || ' over ' || axis.x AS series,
  px.number AS x,
  py.number AS y,
  max(iif(t.fits, t.tokens_per_s_per_gpu, NULL)) AS tokens_per_s_per_gpu,
  count(*) AS runs
FROM axis
JOIN param px ON px.path = axis.x AND px.number IS NOT NULL
JOIN param py ON py.run_id = px.run_id AND py.path = axis.y AND py.number IS NOT NULL
JOIN training_result t ON t.run_id = px.run_id
WHERE t.run_id <= :run
GROUP BY px.number, py.number
ORDER BY px.number, py.number;

-- What do the job's GPUs draw over time?
-- reads: power(begin_s, end_s, watts, compute_w, memory_w, network_w, idle_w)
-- rows-from: training runs with spans, serving runs, and post-training
-- series: what draws it, from below: static power, links, memory, and all together
-- at_s: when an interval begins, seconds
-- kw: power up to and including the series, all GPUs of the job, kW
WITH part AS (
  SELECT 1 AS at, 'static' AS series, begin_s, idle_w AS w FROM power WHERE run_id = :run
  UNION ALL
  SELECT 2, 'and links', begin_s, idle_w + network_w FROM power WHERE run_id = :run
  UNION ALL
  SELECT 3, 'and memory', begin_s, idle_w + network_w + memory_w FROM power WHERE run_id = :run
  UNION ALL
  SELECT 4, 'and multiprocessors', begin_s, watts FROM power WHERE run_id = :run
)
SELECT series, begin_s AS at_s, w / 1000.0 AS kw
FROM part
ORDER BY at DESC, begin_s;

-- How full is a cluster of jobs over time, and how fragmented?
-- reads: cluster_time(begin_s, end_s, held, asked, free, largest_gang, out)
-- rows-from: clusters of jobs
-- series: held by gangs; asked for by waiting jobs; largest gang that would start; in repair
-- day: middle of the interval, on the trace's clock
-- gpus: mean over the interval
SELECT series, day, gpus
FROM (
  SELECT 0 AS place, 'held by gangs' AS series, (begin_s + end_s) / 2 / 86400 AS day, held AS gpus FROM cluster_time WHERE run_id = :run
  UNION ALL
  SELECT 1, 'asked for by waiting jobs', (begin_s + end_s) / 2 / 86400, asked FROM cluster_time WHERE run_id = :run
  UNION ALL
  SELECT 2, 'largest gang that would start', (begin_s + end_s) / 2 / 86400, largest_gang FROM cluster_time WHERE run_id = :run
  UNION ALL
  SELECT 3, 'in repair', (begin_s + end_s) / 2 / 86400, out FROM cluster_time WHERE run_id = :run
)
ORDER BY place, day;

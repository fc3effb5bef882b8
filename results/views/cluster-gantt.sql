-- Which gang sits on which nodes, and when?
-- reads: cluster_span(job, gpus, begin_s, end_s, first_node, last_node, node_gpus)
-- rows-from: clusters of jobs
-- series: size of the gang
-- first_node: the first of neighbouring nodes
-- last_node: the last
-- begin_day: when it began there, on the trace's clock
-- end_day: when it left
-- job: the job
SELECT
  CASE
    WHEN gpus = 1 THEN '1 GPU'
    WHEN gpus < 8 THEN '2 to 7'
    WHEN gpus < 16 THEN '8 to 15'
    WHEN gpus < 32 THEN '16 to 31'
    WHEN gpus < 64 THEN '32 to 63'
    ELSE '64 and more'
  END AS series,
  first_node,
  last_node,
  begin_s / 86400 AS begin_day,
  end_s / 86400 AS end_day,
  job
FROM cluster_span
WHERE run_id = :run AND end_s > begin_s
ORDER BY min(gpus, 64) >= 64, min(gpus, 64) >= 32, min(gpus, 64) >= 16, min(gpus, 64) >= 8, gpus > 1, begin_s, first_node;

-- Which queues held the GPUs of a cluster of jobs, over time?
-- reads: cluster_share(grouping, name, begin_s, end_s, gpus)
-- takes: by (queue or user; queue when not given)
-- rows-from: clusters of jobs
-- series: the queue or the user; others: beyond the 15 that held most
-- day: middle of the interval, on the trace's clock
-- gpus: that its gangs held, mean over the interval
SELECT name AS series, (begin_s + end_s) / 2 / 86400 AS day, gpus
FROM cluster_share
WHERE run_id = :run AND grouping = coalesce(:by, 'queue')
ORDER BY name, begin_s;

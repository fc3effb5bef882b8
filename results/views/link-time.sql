-- How busy are the busiest links over time?
-- reads: link_time(link, begin_s, end_s, bytes, utilization)
-- rows-from: runs with spans and traffic: run --trace, or not --spans none
-- series: the link
-- at_s: the middle of the interval, seconds
-- busy_percent: percentage of the interval in which the link's bandwidth was in use
-- gbytes: data carried in the interval, GB
SELECT link AS series, (begin_s + end_s) / 2 AS at_s, 100.0 * utilization AS busy_percent, bytes / 1e9 AS gbytes
FROM link_time
WHERE run_id = :run
ORDER BY sum(bytes) OVER (PARTITION BY link) DESC, link, begin_s;

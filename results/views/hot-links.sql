-- Which links are the busiest for their bandwidth?
-- reads: link_use(link, kind, stands_for, bandwidth_bytes_per_s, bytes, utilization)
-- rows-from: runs that replay traffic: training, collectives
-- link: the link; one row stands for equal links that are always loaded alike
-- kind: type of the link
-- stands_for: number of equal links that the row stands for
-- gbytes_per_s: bandwidth, GB/s
-- gbytes: data carried, GB
-- busy_percent: percentage of the iteration in which the bandwidth was in use
SELECT
  link,
  kind,
  stands_for,
  bandwidth_bytes_per_s / 1e9 AS gbytes_per_s,
  bytes / 1e9 AS gbytes,
  100.0 * utilization AS busy_percent
FROM link_use
WHERE run_id = :run
ORDER BY utilization DESC, bytes DESC, link
LIMIT 20;

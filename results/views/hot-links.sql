-- Which links carry the most for what they can?
-- reads: link_use(link, kind, stands_for, bandwidth_bytes_per_s, bytes, utilization)
-- link: the link; equal links that are always loaded alike are one
-- kind: what sort of link it is
-- stands_for: how many equal links this one stands for
-- gbytes_per_s: its bandwidth, GB/s
-- gbytes: what it carried, GB
-- busy_percent: share of the iteration that its bandwidth was in use
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

-- Where does the time of the iteration go, by kind of time?
-- reads: time_kind(lane, category, seconds, fraction); lane(lane, multiplicity)
-- rows-from: training runs
-- category: the kind of time
-- mean_s: seconds of the iteration, mean over all ranks
-- percent: mean_s as a percentage of the iteration
-- min_s: seconds on the rank with the least
-- max_s: seconds on the rank with the most
WITH rank_class AS (SELECT lane, multiplicity FROM lane WHERE run_id = :run),
total AS (SELECT count(*) AS n_classes, sum(multiplicity) AS n_ranks FROM rank_class)
SELECT
  k.category,
  sum(k.seconds * c.multiplicity) / total.n_ranks AS mean_s,
  100.0 * sum(k.fraction * c.multiplicity) / total.n_ranks AS percent,
  CASE WHEN count(DISTINCT k.lane) < total.n_classes THEN 0.0 ELSE min(k.seconds) END AS min_s,
  max(k.seconds) AS max_s
FROM time_kind k
JOIN rank_class c USING (lane)
CROSS JOIN total
WHERE k.run_id = :run
GROUP BY k.category
ORDER BY mean_s DESC, k.category;

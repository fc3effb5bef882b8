-- Which ranks do the others wait for?
-- reads: lane(lane, name, multiplicity, stage, replica, compute_s, comm_s, wait_s, other_s, end_s)
-- rows-from: training runs
-- rank_class: the class of equivalent ranks
-- ranks: number of ranks in the class
-- stage: its pipeline stage
-- replica: its data-parallel replica
-- busy_s: time computing and communicating
-- compute_s: time computing
-- comm_s: time communicating
-- wait_s: time waiting for other ranks; the others wait for the ranks that wait least
-- wait_percent: wait_s as a percentage of the rank's time
-- behind_s: how much later the rank ends than the first rank to end
SELECT
  name AS rank_class,
  multiplicity AS ranks,
  stage,
  replica,
  compute_s + comm_s AS busy_s,
  compute_s,
  comm_s,
  wait_s,
  100.0 * wait_s / nullif(end_s, 0) AS wait_percent,
  end_s - min(end_s) OVER () AS behind_s
FROM lane
WHERE run_id = :run
ORDER BY wait_s, busy_s DESC, lane
LIMIT 20;

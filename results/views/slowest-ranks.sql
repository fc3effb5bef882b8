-- Which ranks do the others wait for?
-- reads: lane(lane, name, multiplicity, stage, replica, compute_s, comm_s, wait_s, other_s, end_s)
-- rank_class: the class of equivalent ranks
-- ranks: how many ranks are in it
-- stage: its pipeline stage
-- replica: its data-parallel replica
-- busy_s: computing and communicating
-- compute_s: computing
-- comm_s: communicating
-- wait_s: waiting for others; those who wait least are waited for
-- wait_percent: the same as a share of its time
-- behind_s: how much later it ends than the first to end
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

-- How does its place slow a gang of a cluster of jobs?
-- reads: cluster_place(model, gpus, level, leaves, most_in_leaf, starts, slow, slow_half, slow_quarter, uplink, watts)
-- rows-from: clusters of jobs
-- model: the trace's model
-- gpus: of the gang
-- level: the smallest part of the machine that holds it
-- leaves: leaves that it is in, rounded up to a power of two
-- most_in_leaf: its GPUs in the leaf that has most of them
-- starts: gangs that began there
-- slow: seconds that a second of work takes, alone
-- slow_half: with half of the bandwidth between switches
-- slow_quarter: with a quarter
-- uplink: fraction of the busiest link between switches that it uses, alone
-- watts: of its GPUs; empty: not known
SELECT model, gpus, level, leaves, most_in_leaf, starts, slow, slow_half, slow_quarter, uplink, watts
FROM cluster_place
WHERE run_id = :run
ORDER BY model, gpus, leaves, most_in_leaf, level;

-- Where did the GPU-hours of a cluster of jobs go?
-- reads: cluster_hours(what, gpu_hours, fraction)
-- rows-from: clusters of jobs
-- what: useful work, slowed by places, checkpoints, preempted and failed (restarts, work done again), timed-out (work of jobs that a time limit stopped), repair, fragments (free while jobs wait), idle
-- gpu_hours: GPU-hours; below 0 where places are faster than the trace's
-- percent: of all, from the first submission to the last end
SELECT what, gpu_hours, 100 * fraction AS percent
FROM cluster_hours
WHERE run_id = :run
ORDER BY instr('useful slowed checkpoints preempted failed timed-out repair fragments idle', what);

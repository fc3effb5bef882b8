-- What would nccl-tests print?
-- reads: nccl_test(size_bytes, count, type, redop, root, time_s, algbw_bytes_per_s, busbw_bytes_per_s, algorithm, protocol, how, alone_s, low_s, high_s)
-- rows-from: runs of collectives
-- size: size in bytes, as nccl-tests counts it
-- count: elements; of one rank's shard where each rank holds a shard
-- type: number format
-- redop: reduction, or none
-- root: root rank; -1: the collective has no root
-- time_us: time of one call, out of place, microseconds
-- low_us: lower bound of a measurement of the time (error band), microseconds; empty where nothing measured is like the run
-- high_us: upper bound, microseconds
-- algbw_gbytes_per_s: size over time, GB/s
-- busbw_gbytes_per_s: bus bandwidth, GB/s
-- algorithm: the algorithm
-- protocol: NCCL's protocol; auto: unknown
-- how: how the time alone on the fabric is known
-- slowdown: time over the time alone on the fabric; 1 without contention
SELECT
  size_bytes AS size,
  count,
  type,
  redop,
  root,
  1e6 * time_s AS time_us,
  1e6 * low_s AS low_us,
  1e6 * high_s AS high_us,
  algbw_bytes_per_s / 1e9 AS algbw_gbytes_per_s,
  busbw_bytes_per_s / 1e9 AS busbw_gbytes_per_s,
  algorithm,
  protocol,
  how,
  time_s / nullif(alone_s, 0) AS slowdown
FROM nccl_test
WHERE run_id = :run
ORDER BY size_bytes;

-- Which collectives does the run have, how long do they take, and how much does contention slow them?
-- reads: collective(name, op, algorithm, n_ranks, bytes, count, latency_s, predicted_s, mean_s, busbw_bytes_per_s, how)
-- rows-from: runs with communication: training, collectives
-- name: what the collective is for
-- op: all-reduce, all-gather, ...
-- algorithm: the algorithm chosen
-- n_ranks: number of ranks that take part
-- mib: size of one call as NCCL counts it, MiB; a row for each size
-- count: calls of this size per step on one rank of the first stage that makes them
-- latency_us: the part of a call's time that does not grow with its size, microseconds
-- predicted_ms: predicted time of one call alone on the fabric, milliseconds
-- mean_ms: mean time of one call in the replay, milliseconds; empty where the call was not replayed on its own
-- slowdown: mean over predicted; 1 without contention
-- total_ms: time of all calls, milliseconds; includes time hidden behind computation
-- busbw_gbytes_per_s: bus bandwidth as nccl-tests defines it, GB/s
-- how: how the cost is known
SELECT
  name,
  op,
  algorithm,
  n_ranks,
  bytes / 1048576.0 AS mib,
  count,
  1e6 * latency_s AS latency_us,
  1e3 * predicted_s AS predicted_ms,
  1e3 * mean_s AS mean_ms,
  mean_s / nullif(predicted_s, 0) AS slowdown,
  1e3 * mean_s * count AS total_ms,
  busbw_bytes_per_s / 1e9 AS busbw_gbytes_per_s,
  how
FROM collective
WHERE run_id = :run
ORDER BY mean_s * count DESC, predicted_s * count DESC, name;

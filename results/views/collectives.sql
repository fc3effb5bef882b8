-- Which collectives are there, how long do they take, and how much does crowding slow them?
-- reads: collective(name, op, algorithm, n_ranks, bytes, count, latency_s, predicted_s, mean_s, busbw_bytes_per_s, how)
-- name: what it is for
-- op: all-reduce, all-gather, ...
-- algorithm: the algorithm that was chosen
-- n_ranks: how many ranks take part
-- mib: the size of one as NCCL counts it, MiB
-- count: how often a rank runs it in a step
-- latency_us: the part of one that does not grow with its size, microseconds
-- predicted_ms: how long one takes alone on the fabric, milliseconds
-- mean_ms: how long one took on average in the replay, milliseconds; empty where it was not replayed on its own
-- slowdown: mean over predicted; 1 where nothing crowds it
-- total_ms: all of them, milliseconds; what computation hides is in it
-- busbw_gbytes_per_s: bus bandwidth as nccl-tests define it, GB/s
-- how: how its cost is known
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

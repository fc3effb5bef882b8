-- How much time do checkpoints and data loading take?
-- reads: storage_use(name, count, bytes, alone_s, mean_s, wall_s, bytes_per_s); time_kind(lane, category, seconds)
-- rows-from: runs with checkpoints or data loading
-- name: what was read from or written to the file system
-- count: number of transfers in the run
-- gigabytes: size of one transfer over all GPUs, 1e9 bytes
-- alone_s: time of one transfer without contention, mean over rank classes
-- mean_s: time of one transfer in the replay, mean over rank classes
-- wall_s: time from the first byte of a transfer to its last, over all ranks, mean
-- gb_per_s: gigabytes over wall_s
-- held_s: time that compute waited for storage in the steps, mean over rank classes; the same in all rows
SELECT
  name,
  count,
  bytes / 1e9 AS gigabytes,
  alone_s,
  mean_s,
  wall_s,
  bytes_per_s / 1e9 AS gb_per_s,
  (SELECT avg(seconds) FROM time_kind WHERE run_id = :run AND category = 'storage') AS held_s
FROM storage_use
WHERE run_id = :run
ORDER BY name;

-- What do checkpoints and data cost?
-- reads: storage_use(name, count, bytes, alone_s, mean_s, wall_s, bytes_per_s); time_kind(lane, category, seconds)
-- name: what was exchanged with the file system
-- count: how many in the run
-- gigabytes: of one, by all GPUs together, 1e9 bytes
-- alone_s: a rank class with all its links to itself, mean
-- mean_s: as replayed, mean over rank classes
-- wall_s: one, from its first byte to its last, mean
-- gb_per_s: gigabytes over that
-- held_s: what compute waited for storage in the whole run, mean over rank classes; the same in all rows
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

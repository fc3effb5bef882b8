-- What does each part of the machine draw for this run: boards, CPUs, fans, losses, switches, optics?
-- reads: power_part(position, part, pieces, watts, fraction)
-- rows-from: a run of any kind
-- part: the part; other: what a meter shows of nodes beyond the parts that the cluster states
-- pieces: how many of them; of the network the job's share
-- watts_each: power of one piece, mean; empty where the cluster does not state it
-- kw: of all of them, kW; empty likewise
-- percent: of the machine's power, before PUE
SELECT
  part,
  pieces,
  watts / pieces AS watts_each,
  watts / 1e3 AS kw,
  100 * fraction AS percent
FROM power_part
WHERE run_id = :run
ORDER BY position;

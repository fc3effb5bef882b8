-- How many switches, cables, optics and watts does the machine of each run take?
-- reads: bill(item, count, ports, ports_used); training_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w); serving_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w)
-- rows-from: runs of training, serving, collectives and post-training, up to :run
-- run: the run
-- scenario: the scenario's name
-- nodes: nodes of the whole machine, of which a job may use a part
-- gpus: GPUs of the whole machine
-- nics: network cards
-- scale_up_switches: switches of the scale-up domain
-- switches: switches of the network
-- ports: ports of these switches
-- ports_used: those that have a cable
-- cables: cables
-- optics: optical modules
-- storage_servers: servers of the shared storage
-- job_gpus: GPUs of the job
-- gpu_kw: power of the job's GPUs, mean, kW
-- nodes_kw: power of the rest of its nodes, kW; empty where the cluster does not state it
-- network_kw: its part of the network, kW; empty where the cluster does not state it
-- machine_kw: all together, kW, before PUE
WITH counts AS (
  SELECT
    run_id,
    sum(count) FILTER (WHERE item = 'node') AS nodes,
    sum(count) FILTER (WHERE item = 'gpu') AS gpus,
    sum(count) FILTER (WHERE item = 'nic') AS nics,
    sum(count) FILTER (WHERE item = 'scale-up-switch') AS scale_up_switches,
    sum(count) FILTER (WHERE item = 'switch') AS switches,
    sum(count * ports) FILTER (WHERE item = 'switch') AS ports,
    sum(ports_used) FILTER (WHERE item = 'switch') AS ports_used,
    sum(count) FILTER (WHERE item = 'cable') AS cables,
    sum(count) FILTER (WHERE item = 'optic') AS optics,
    sum(count) FILTER (WHERE item = 'storage-server') AS storage_servers
  FROM bill
  WHERE run_id <= :run
  GROUP BY run_id
)
SELECT
  c.run_id AS run,
  run.scenario,
  c.nodes,
  c.gpus,
  c.nics,
  c.scale_up_switches,
  c.switches,
  c.ports,
  c.ports_used,
  c.cables,
  c.optics,
  c.storage_servers,
  coalesce(t.n_gpus, s.n_gpus) AS job_gpus,
  coalesce(t.gpu_power_mean_w, s.gpu_power_mean_w) / 1e3 AS gpu_kw,
  coalesce(t.nodes_power_mean_w, s.nodes_power_mean_w) / 1e3 AS nodes_kw,
  coalesce(t.network_power_mean_w, s.network_power_mean_w) / 1e3 AS network_kw,
  coalesce(t.machine_power_mean_w, s.machine_power_mean_w) / 1e3 AS machine_kw
FROM counts c
JOIN run ON run.id = c.run_id
LEFT JOIN training_result t ON t.run_id = c.run_id
LEFT JOIN serving_result s ON s.run_id = c.run_id
ORDER BY c.run_id DESC;

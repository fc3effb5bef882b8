-- How many switches, cables, optics and watts does the machine of each run take?
-- reads: bill(item, count, ports, ports_used); training_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w); serving_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w); post_training_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w); collectives_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w); campaign_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w); cluster_result(n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w)
-- rows-from: runs of training, serving, collectives and post-training, up to :run
-- run: the run
-- scenario: the scenario's name
-- nodes: nodes of the whole machine; a job may use a part
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
),
drawn AS (
  SELECT run_id, n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w FROM training_result
  UNION ALL
  SELECT run_id, n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w FROM serving_result
  UNION ALL
  SELECT run_id, n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w FROM post_training_result
  UNION ALL
  SELECT run_id, n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w FROM collectives_result
  UNION ALL
  SELECT run_id, n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w FROM campaign_result
  UNION ALL
  SELECT run_id, n_gpus, gpu_power_mean_w, nodes_power_mean_w, network_power_mean_w, machine_power_mean_w FROM cluster_result
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
  d.n_gpus AS job_gpus,
  d.gpu_power_mean_w / 1e3 AS gpu_kw,
  d.nodes_power_mean_w / 1e3 AS nodes_kw,
  d.network_power_mean_w / 1e3 AS network_kw,
  d.machine_power_mean_w / 1e3 AS machine_kw
FROM counts c
JOIN run ON run.id = c.run_id
LEFT JOIN drawn d ON d.run_id = c.run_id
ORDER BY c.run_id DESC;

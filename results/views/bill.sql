-- What does the machine consist of, and what did it cost?
-- reads: bill(position, item, layer, count, ports, ports_used, bytes_per_s, price_each, price)
-- rows-from: runs of training, serving, collectives and post-training
-- item: node, gpu, nic, scale-up-switch, switch, cable, optic or storage-server
-- layer: layer of a switch (leaf), level of a cable or an optic (leaf-spine)
-- count: pieces in the whole machine; a job may use a part
-- ports: ports of one switch
-- ports_used: ports of all these switches that have a cable
-- gbit_per_s: nominal rate of a NIC, a port or a cable, one direction
-- price_each: price of one piece, in the currency of the scenario's prices
-- price: price of all pieces
-- percent: fraction of the price of all items that have one
SELECT
  item,
  layer,
  count,
  iif(ports > 0, ports, NULL) AS ports,
  iif(ports > 0, ports_used, NULL) AS ports_used,
  bytes_per_s * 8 / 1e9 AS gbit_per_s,
  price_each,
  price,
  100 * price / sum(price) OVER () AS percent
FROM bill
WHERE run_id = :run
ORDER BY position;

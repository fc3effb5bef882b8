-- How do goodput and latencies change with the rate of arrivals?
-- reads: sweep(n_points); sweep_point(sweep); serving_result(offered_rps, requests_per_s, goodput_rps, ttft_p99_s, tpot_p99_s, output_tokens_per_s, saturated)
-- rows-from: serving runs
-- series: the scenario's name
-- offered_rps: arriving requests per second
-- goodput_rps: requests per second that meet their objectives; all where none are set
-- requests_per_s: requests served per second
-- output_tokens_per_s: output tokens per second
-- ttft_p99_s: 99th percentile of the time to the first token
-- tpot_p99_s: 99th percentile of the time per output token
-- saturated: 1 where requests arrive faster than they are served
-- run: the run
SELECT
  run.scenario AS series,
  s.offered_rps,
  s.goodput_rps,
  s.requests_per_s,
  s.output_tokens_per_s,
  s.ttft_p99_s,
  s.tpot_p99_s,
  s.saturated,
  run.id AS run
FROM serving_result s
JOIN run ON run.id = s.run_id
WHERE
  s.offered_rps IS NOT NULL
  AND (run.id = :run OR run.id IN (SELECT p.run_id FROM sweep_point p WHERE p.sweep = :run)
    OR (run.scenario = (SELECT scenario FROM run WHERE id = :run) AND run.id NOT IN (SELECT run_id FROM sweep_point)))
ORDER BY series, s.offered_rps;

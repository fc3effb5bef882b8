-- How far do the uncertain inputs spread the results, and which input most?
-- reads: input_spread(metric, value, p10, p50, p90, replays); input_effect(metric, path, correlation, fraction)
-- rows-from: runs with uncertain inputs
-- metric: the result
-- value: the result of the run, at the inputs' values
-- p10: a tenth of the replays stay below it
-- p50: half of the replays stay below it
-- p90: nine tenths of the replays stay below it
-- replays: the replays that have the result
-- moved_by: the uncertain input that explains most of the spread
-- percent: the percentage of the spread that it explains
-- correlation: its rank correlation with the result: 1 if the result rises with it, -1 if it falls
SELECT
  s.metric,
  s.value,
  s.p10,
  s.p50,
  s.p90,
  s.replays,
  h.path AS moved_by,
  100.0 * h.fraction AS percent,
  h.correlation
FROM input_spread s
JOIN input_effect h ON h.run_id = s.run_id AND h.metric = s.metric
WHERE s.run_id = :run AND s.p90 > s.p10
  AND h.path = (SELECT path FROM input_effect x WHERE x.run_id = s.run_id AND x.metric = s.metric
                ORDER BY x.fraction DESC, x.path LIMIT 1)
ORDER BY s.metric;

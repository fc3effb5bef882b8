-- How do a campaign's tokens grow, and where does its time go? Of the first seed.
-- reads: campaign_event(begin_s, end_s, phase, tokens); campaign_result(tokens, effective_s)
-- rows-from: campaigns
-- series: tokens kept; tokens without failures; or the phase that time is lost to
-- day: since the beginning
-- trillion_tokens: trained and kept by then; empty for lost time
-- lost_hours: lost to the phase by then (run: waits for checkpoints shorter than a step); empty for tokens
WITH
ideal AS (
  SELECT tokens / effective_s AS per_s FROM campaign_result WHERE run_id = :run AND effective_s > 0
),
ends AS (
  SELECT
    end_s,
    tokens,
    phase,
    end_s - begin_s AS took_s,
    (tokens - lag(tokens, 1, 0) OVER (ORDER BY begin_s, end_s)) / per_s AS trained_s
  FROM campaign_event, ideal
  WHERE run_id = :run
),
-- a rollback takes tokens back at the end of the phase before it
losses AS (
  SELECT end_s, phase, took_s - max(trained_s, 0) AS lost_s FROM ends
  UNION ALL
  SELECT end_s, 'recompute', -trained_s FROM ends WHERE trained_s < 0
),
days AS (
  SELECT phase, CAST(100 * end_s / (SELECT max(end_s) + 1e-9 FROM ends) AS INTEGER) AS part, sum(lost_s) AS lost_s, max(end_s) AS end_s
  FROM losses
  GROUP BY phase, part
)
SELECT series, day, trillion_tokens, lost_hours
FROM (
  SELECT 0 AS place, 'tokens kept' AS series, end_s / 86400.0 AS day, tokens / 1e12 AS trillion_tokens, NULL AS lost_hours
  FROM ends
  UNION ALL
  SELECT 1, 'tokens without failures', end_s / 86400.0, per_s * end_s / 1e12, NULL
  FROM (SELECT 0.0 AS end_s UNION ALL SELECT max(end_s) FROM ends), ideal
  WHERE end_s IS NOT NULL
  UNION ALL
  SELECT 2, phase, end_s / 86400.0, NULL, sum(lost_s) OVER (PARTITION BY phase ORDER BY part) / 3600.0
  FROM days
)
ORDER BY place, series, day;

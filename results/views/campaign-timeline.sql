-- What happened in the campaign of the first seed, and when?
-- reads: campaign_event(begin_s, end_s, phase, cause, replicas, nodes_out, tokens)
-- rows-from: campaigns
-- day: when it began
-- minutes: how long it lasted
-- phase: what the job did
-- cause: what failed; empty: the job trained
-- replicas: that the job had
-- nodes_out: nodes out of service
-- tokens: trained and kept at the end
SELECT
  begin_s / 86400.0 AS day,
  (end_s - begin_s) / 60.0 AS minutes,
  phase,
  cause,
  replicas,
  nodes_out,
  tokens
FROM campaign_event
WHERE run_id = :run
ORDER BY begin_s, end_s;

-- Where did the campaign's time go, by cause and phase?
-- reads: campaign_loss(cause, phase, seconds, fraction, failures)
-- rows-from: campaigns
-- cause: what failed; or checkpoint, planned, or rejoin (a replica that is missing or returns)
-- phase: what the time went to
-- hours: mean over the seeds
-- percent: of the campaign's time
-- failures: of this cause, mean over the seeds
SELECT
  cause,
  phase,
  seconds / 3600.0 AS hours,
  100.0 * fraction AS percent,
  failures
FROM campaign_loss
WHERE run_id = :run
ORDER BY seconds DESC, cause, phase;

-- What should be known before the run's answer is believed?
-- reads: warning(text)
-- text: one warning
SELECT text
FROM warning
WHERE run_id = :run
ORDER BY text;

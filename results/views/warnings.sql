-- What limits confidence in the result of this run?
-- reads: warning(text)
-- rows-from: runs with warnings
-- text: one warning
SELECT text
FROM warning
WHERE run_id = :run
ORDER BY text;

-- Where does the measured step differ from the simulated one?
-- reads: explain_kind(kind, measured_s, simulated_s, difference_s, gap_share)
-- rows-from: orrery compare --trace
-- kind: kind of time
-- measured_ms: measured, milliseconds
-- simulated_ms: simulated, milliseconds
-- difference_ms: measured less simulated, milliseconds
-- percent_of_gap: the difference as a percentage of the whole step's difference
SELECT
  kind,
  1e3 * measured_s AS measured_ms,
  1e3 * simulated_s AS simulated_ms,
  1e3 * difference_s AS difference_ms,
  100.0 * gap_share AS percent_of_gap
FROM explain_kind
WHERE run_id = :run
ORDER BY abs(difference_s) DESC, kind;

-- What has been measured on each device, by family of microkernels?
-- reads: kernel_sample(device, family, median_us, spread, flops, bytes, watts, verified, date)
-- rows-from: calibrations
-- device: The device, as its driver names it.
-- family: Family of microkernels.
-- rows: Rows measured.
-- wrong: Rows whose results differ from a double-precision reference.
-- best_tflops: Highest rate of computation, in TFLOP/s.
-- best_gb_per_s: Highest rate of memory traffic, in GB/s.
-- mean_spread_percent: Spread of the repeats, mean over the rows.
-- max_watts: Highest board power.
-- newest: When the newest row was measured (UTC).
SELECT device, family, count(*) AS rows, sum(verified = 'no') AS wrong,
  round(max(flops / median_us / 1e6), 1) AS best_tflops,
  round(max(bytes / median_us / 1e3), 1) AS best_gb_per_s,
  round(100 * avg(spread), 2) AS mean_spread_percent,
  max(watts) AS max_watts,
  max(date) AS newest
FROM kernel_sample
GROUP BY device, family
ORDER BY device, family;

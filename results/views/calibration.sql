-- What has been measured on each device, by family of microkernels?
-- reads: kernel_sample(device, family, median_us, spread, flops, bytes, watts, verified, date)
-- device: The device, as its driver calls it.
-- family: Family of microkernels.
-- rows: Rows measured.
-- wrong: Of them, rows whose results are not what a double-precision reference says.
-- best_tflops: Highest rate of FLOPs, in 1e12 a second.
-- best_gb_per_s: Highest rate of bytes, in 1e9 a second.
-- mean_spread_percent: Spread of the repeats, mean over the rows.
-- max_watts: Highest board power.
-- newest: When the newest of them was measured (UTC).
SELECT device, family, count(*) AS rows, sum(verified = 'no') AS wrong,
  round(max(flops / median_us / 1e6), 1) AS best_tflops,
  round(max(bytes / median_us / 1e3), 1) AS best_gb_per_s,
  round(100 * avg(spread), 2) AS mean_spread_percent,
  max(watts) AS max_watts,
  max(date) AS newest
FROM kernel_sample
GROUP BY device, family
ORDER BY device, family;

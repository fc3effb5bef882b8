-- Which microkernels could not be measured on a device, and why?
-- reads: kernel_refusal(device, family, shape, rank, ends_job, reason, date)
-- device: The device, as its driver calls it.
-- family: Family of microkernels.
-- reason: Why it was not measured.
-- shapes: How many shapes it was said of.
-- example: One of them.
-- rank: The lowest rank that said so, of a job of several; else 0.
-- ended_job: Whether nothing could be measured after it.
-- newest: When the newest of these calibrations was begun (UTC).
SELECT device, family, reason, count(DISTINCT shape) AS shapes, min(shape) AS example, min(rank) AS rank,
  max(ends_job) AS ended_job, max(date) AS newest
FROM kernel_refusal
GROUP BY device, family, reason
ORDER BY ended_job DESC, shapes DESC, device, family, reason;

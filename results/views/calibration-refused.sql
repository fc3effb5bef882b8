-- Which microkernels could not be measured on a device, and why?
-- reads: kernel_refusal(device, family, shape, rank, ends_job, reason, date)
-- rows-from: calibrations that refused microkernels
-- device: The device, as its driver names it.
-- family: Family of microkernels.
-- reason: Why it was not measured.
-- shapes: Number of shapes refused for this reason.
-- example: One of these shapes.
-- rank: The lowest rank that reported the reason; 0 where the job has one rank.
-- ended_job: Whether the failure ended the measurement.
-- newest: When the newest of these calibrations began (UTC).
SELECT device, family, reason, count(DISTINCT shape) AS shapes, min(shape) AS example, min(rank) AS rank,
  max(ends_job) AS ended_job, max(date) AS newest
FROM kernel_refusal
GROUP BY device, family, reason
ORDER BY ended_job DESC, shapes DESC, device, family, reason;

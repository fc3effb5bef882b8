-- What did each fault do to the step time?
-- reads: fault(fault, kind, what, begin_s, end_s, step_before_s, step_during_s, step_after_s, step_without_s)
-- rows-from: runs with faults
-- fault: place in the scenario's list, from 1
-- kind: kind of fault
-- what: what failed, and how
-- begin_s: when the fault began
-- end_s: when it ended; empty: it never ended
-- step_without_s: mean step of the same job without faults
-- step_before_s: mean of the steps that ended before it
-- step_during_s: mean of the steps that it overlapped
-- step_after_s: mean of the steps that began after it
-- slowdown: step_during_s over step_without_s
SELECT
  fault,
  kind,
  what,
  begin_s,
  end_s,
  step_without_s,
  step_before_s,
  step_during_s,
  step_after_s,
  step_during_s / step_without_s AS slowdown
FROM fault
WHERE run_id = :run
ORDER BY begin_s, fault;

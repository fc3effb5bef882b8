-- What did each fault do to the step?
-- reads: fault(fault, kind, what, begin_s, end_s, step_before_s, step_during_s, step_after_s, step_without_s)
-- fault: its place in the scenario's list, from 1
-- kind: kind of fault
-- what: what went wrong with what
-- begin_s: when it began
-- end_s: when it was over; empty: it stayed
-- step_without_s: mean step of the same job with no fault
-- step_before_s: mean of the steps that were whole before it
-- step_during_s: mean of the steps that it touched, in part or whole
-- step_after_s: mean of the steps that began after it
-- slowdown: a step during it over one without
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

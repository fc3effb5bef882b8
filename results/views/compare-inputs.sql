-- What differs in the inputs of two runs?
-- takes: other (the run to compare with; the previous run of the same kind when not given)
-- rows-from: any two runs
-- path: the dotted path, as --set takes it
-- other: value in the other run; empty where that run has no such member
-- this: value in this run
WITH pair AS (
  SELECT
    :run AS this,
    coalesce(:other, (SELECT max(o.id) FROM run o JOIN run t ON t.id = :run WHERE o.id < t.id AND o.kind = t.kind)) AS other
),
both_sides AS (
  SELECT
    p.path,
    max(iif(p.run_id = pair.other, p.value, NULL)) AS other,
    max(iif(p.run_id = pair.this, p.value, NULL)) AS this
  FROM pair
  JOIN param p ON p.run_id IN (pair.this, pair.other)
  WHERE pair.other IS NOT NULL
  GROUP BY p.path
)
SELECT path, other, this
FROM both_sides
WHERE other IS NOT this
ORDER BY path;

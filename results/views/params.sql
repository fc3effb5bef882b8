-- What was the run asked to do: every parameter of its resolved scenario?
-- path: the dotted path, as --set takes it
-- value: the value, as YAML would hold it
-- number: the value in its base unit (bytes, seconds, ...), where it is a number
SELECT path, value, number
FROM param
WHERE run_id = :run
ORDER BY path;

-- What are the inputs of the run: every parameter of its resolved scenario?
-- rows-from: any run
-- path: the dotted path, as --set takes it
-- value: the value, as YAML writes it
-- number: the value in its base unit (bytes, seconds, ...), where the value is a number
SELECT path, value, number
FROM param
WHERE run_id = :run
ORDER BY path;

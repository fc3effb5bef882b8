-- What does each column of each table mean, and what is its unit?
-- rows-from: any run
-- table_name: the table
-- name: the column
-- unit: the unit; empty for texts, counts and fractions
-- meaning: what the column means
SELECT table_name, name, unit, sentence AS meaning
FROM metric_def
ORDER BY table_name, rowid;

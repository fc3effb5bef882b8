-- What does each column of each table mean, and in which unit is it?
-- table_name: the table
-- name: the column
-- unit: its unit; empty for texts, counts and fractions
-- meaning: what it says
SELECT table_name, name, unit, sentence AS meaning
FROM metric_def
ORDER BY table_name, rowid;

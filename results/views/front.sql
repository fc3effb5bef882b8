-- Pareto front: which points of the sweep does no other point beat on every objective?
-- reads: sweep(n_points, objective); sweep_point(rung, eligible, objective_1, objective_2, objective_3, objective_4); training_result(memory_peak_bytes); serving_result(ttft_p99_s); sweep_band(point_run, objective, low, high, expected)
-- rows-from: sweeps
-- series: front, or other (of points that lie close together one is shown)
-- x: value of the first objective
-- y: value of the second objective
-- x_name: the first objective
-- y_name: the second objective
-- objective_3: value of the third objective; empty where there are two
-- objective_4: value of the fourth objective
-- run: the point's run
-- label: values of the axes; only for points of the front
-- x_low: lower bound of a measurement of x; empty where the sweep did not ask, or nothing measured is like the point
-- x_high: upper bound
-- y_low: lower bound of a measurement of y
-- y_high: upper bound
-- x_expected: what a measurement of x would most likely show: the middle of the band
-- y_expected: the same of y
--
-- Where the sweep has one objective, the second is memory (training) or the 99th percentile of the time to the first
-- token (serving), to be minimized. Of points that are equal in all objectives only the first is on the front. Of points
-- that agree in the third and fourth objective, in the order of the first, those stay that are better in the second than
-- all before; where all points agree in them, as with two objectives, that is the front. Otherwise the 64 points with the
-- smallest sums of ranks rule out most others, and the rest is compared pair by pair.
WITH RECURSIVE asked AS (
  SELECT run_id AS id, n_points, objective FROM sweep WHERE run_id <= :run ORDER BY run_id DESC LIMIT 1
),
objective (k, text, rest) AS (
  SELECT 0, NULL, objective || '; ' FROM asked UNION ALL
  SELECT k + 1, substr(rest, 1, instr(rest, '; ') - 1), substr(rest, instr(rest, '; ') + 2) FROM objective WHERE rest <> ''
),
sign AS MATERIALIZED (
  SELECT
    max(k) AS n,
    max(iif(k = 1, iif(text LIKE 'maximize %', -1, 1), -2)) AS s1,
    max(iif(k = 2, iif(text LIKE 'maximize %', -1, 1), -2)) AS s2,
    max(iif(k = 3, iif(text LIKE 'maximize %', -1, 1), -2)) AS s3,
    max(iif(k = 4, iif(text LIKE 'maximize %', -1, 1), -2)) AS s4,
    max(iif(k = 1, text, NULL)) AS x_name,
    max(iif(k = 2, text, NULL)) AS y_name
  FROM objective
),
last AS MATERIALIZED (
  SELECT max(rung) AS rung FROM asked JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
),
point AS (
  SELECT
    p.run_id,
    p.objective_1 AS x,
    iif(sign.n > 1, p.objective_2, coalesce(t.memory_peak_bytes, s.ttft_p99_s)) AS y,
    p.objective_3,
    p.objective_4,
    sign.s1 * p.objective_1 AS c1,
    iif(sign.n > 1, sign.s2 * p.objective_2, coalesce(t.memory_peak_bytes, s.ttft_p99_s)) AS c2,
    iif(sign.n > 2, sign.s3 * p.objective_3, 0) AS c3,
    iif(sign.n > 3, sign.s4 * p.objective_4, 0) AS c4
  FROM asked
  JOIN sweep_point p ON p.run_id BETWEEN asked.id + 1 AND asked.id + asked.n_points
  JOIN last ON last.rung = +p.rung
  CROSS JOIN sign
  LEFT JOIN training_result t ON sign.n = 1 AND t.run_id = p.run_id
  LEFT JOIN serving_result s ON sign.n = 1 AND s.run_id = p.run_id
  WHERE p.eligible
),
valued AS MATERIALIZED (
  SELECT * FROM point WHERE c1 IS NOT NULL AND c2 IS NOT NULL AND c3 IS NOT NULL AND c4 IS NOT NULL
),
frame AS MATERIALIZED (
  SELECT
    min(x) AS x_0,
    max(x) - min(x) AS x_span,
    min(y) AS y_0,
    max(y) - min(y) AS y_span,
    min(c1) AS c1_0,
    nullif(max(c1) - min(c1), 0) AS c1_span,
    min(c2) AS c2_0,
    nullif(max(c2) - min(c2), 0) AS c2_span
  FROM valued
),
good AS MATERIALIZED ( -- a point that beats many others
  SELECT c1, c2, c3, c4
  FROM valued
  CROSS JOIN frame
  ORDER BY coalesce((c1 - c1_0) / c1_span, 0) + coalesce((c2 - c2_0) / c2_span, 0)
  LIMIT 1
),
class AS MATERIALIZED (SELECT count(*) AS n FROM (SELECT DISTINCT c3, c4 FROM valued)),
stair AS (
  SELECT *, min(c2) OVER (PARTITION BY c3, c4 ORDER BY c1, c2, run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best
  FROM valued
  WHERE NOT EXISTS (
    SELECT 1
    FROM good g
    WHERE g.c1 <= valued.c1 AND g.c2 <= valued.c2 AND (g.c1 < valued.c1 OR g.c2 < valued.c2) AND g.c3 = valued.c3 AND g.c4 = valued.c4
  )
),
ranked AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY sum_of_ranks, run_id) AS place
  FROM (
    SELECT *, rank() OVER (ORDER BY c1) + rank() OVER (ORDER BY c2) + rank() OVER (ORDER BY c3) + rank() OVER (ORDER BY c4)
      AS sum_of_ranks
    FROM stair
    WHERE best IS NULL OR c2 < best
  )
),
strong AS MATERIALIZED (SELECT * FROM ranked WHERE place <= 64 ORDER BY place),
hopeful AS MATERIALIZED (
  SELECT *
  FROM ranked r
  WHERE (SELECT n FROM class) = 1 OR NOT EXISTS (
    SELECT 1
    FROM strong s
    WHERE s.place < r.place AND s.c1 <= r.c1 AND s.c2 <= r.c2 AND s.c3 <= r.c3 AND s.c4 <= r.c4
  )
  ORDER BY place
),
front AS MATERIALIZED (
  SELECT *
  FROM hopeful r
  WHERE (SELECT n FROM class) = 1 OR NOT EXISTS (
    SELECT 1
    FROM hopeful s
    WHERE s.place < r.place AND s.c1 <= r.c1 AND s.c2 <= r.c2 AND s.c3 <= r.c3 AND s.c4 <= r.c4
  )
),
shown AS (
  SELECT 'front' AS series, x, y, objective_3, objective_4, run_id FROM front UNION ALL
  SELECT 'other', x, y, objective_3, objective_4, min(run_id)
  FROM valued
  CROSS JOIN frame
  WHERE run_id NOT IN (SELECT run_id FROM front)
  GROUP BY cast(coalesce(60 * (x - x_0) / nullif(x_span, 0), 0) AS INTEGER), cast(coalesce(60 * (y - y_0) / nullif(y_span, 0), 0) AS INTEGER)
)
SELECT
  series,
  x,
  y,
  sign.x_name,
  coalesce(sign.y_name, iif(EXISTS (SELECT 1 FROM training_result t WHERE t.run_id = shown.run_id), 'minimize memory_peak_bytes', 'minimize ttft_p99_s')) AS y_name,
  iif(sign.n > 2, shown.objective_3, NULL) AS objective_3,
  iif(sign.n > 3, shown.objective_4, NULL) AS objective_4,
  shown.run_id AS run,
  iif(
    series = 'front',
    (
      SELECT group_concat(replace(path, rtrim(path, replace(path, '.', '')), '') || ' ' || value, ', ')
      FROM param
      WHERE param.run_id = shown.run_id
    ),
    NULL
  ) AS label,
  bar_x.low AS x_low,
  bar_x.high AS x_high,
  iif(sign.n > 1, bar_y.low, NULL) AS y_low,
  iif(sign.n > 1, bar_y.high, NULL) AS y_high,
  bar_x.expected AS x_expected,
  iif(sign.n > 1, bar_y.expected, NULL) AS y_expected
FROM shown
CROSS JOIN sign
LEFT JOIN sweep_band bar_x ON bar_x.run_id = (SELECT id FROM asked) AND bar_x.point_run = shown.run_id AND bar_x.objective = 1 AND series = 'front'
LEFT JOIN sweep_band bar_y ON bar_y.run_id = (SELECT id FROM asked) AND bar_y.point_run = shown.run_id AND bar_y.objective = 2 AND series = 'front'
ORDER BY series, x, shown.run_id;

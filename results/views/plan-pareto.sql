-- How many tokens per second does a GPU give, against those that a user sees, over the layouts and rates of a plan?
-- reads: plan_layout(layout, words, cluster); plan_rate(layout, rate_rps, meets, tpot_mean_s, output_tokens_per_s_per_gpu)
-- rows-from: plans of serving
-- about: plan
-- series: front where no other run gives more of both, else within objectives or beyond them
-- tokens_per_s_per_user: output tokens per second of one request, 1 / mean tpot
-- tokens_per_s_per_gpu: output tokens per second per GPU
-- rate_rps: requests per second per replica or cell
-- layout: the layout's number
-- words: the layout
-- cluster: its machine
WITH tried AS (
  SELECT
    r.layout,
    r.rate_rps,
    r.meets,
    1 / r.tpot_mean_s AS user,
    r.output_tokens_per_s_per_gpu AS gpu,
    max(iif(r.meets, r.output_tokens_per_s_per_gpu, NULL)) OVER (ORDER BY 1 / r.tpot_mean_s DESC, r.output_tokens_per_s_per_gpu DESC, r.layout ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM plan_rate r
  WHERE r.run_id = :run AND r.tpot_mean_s > 0
)
SELECT
  CASE WHEN NOT t.meets THEN 'beyond the objectives' WHEN t.before IS NULL OR t.gpu > t.before THEN 'front' ELSE 'within the objectives' END AS series,
  t.user AS tokens_per_s_per_user,
  t.gpu AS tokens_per_s_per_gpu,
  t.rate_rps,
  t.layout,
  p.words,
  p.cluster
FROM tried t
JOIN plan_layout p ON p.run_id = :run AND p.layout = t.layout
ORDER BY series <> 'front', series <> 'within the objectives', t.user, t.layout

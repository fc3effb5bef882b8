-- Which requests waited longest for their first token?
-- reads: serving_request(request, replica, class, arrival_s, queue_s, ttft_s, tpot_s, e2e_s, input_tokens, output_tokens, cached_tokens, preemptions)
-- rows-from: serving runs
-- request: number of the request, in order of arrival
-- replica: the replica that served it
-- class: class of the request
-- arrival_s: time of arrival, seconds
-- queue_s: seconds until a step first computed the request
-- ttft_s: seconds to the first token
-- tpot_ms: time per output token, milliseconds
-- e2e_s: seconds to the last token
-- input_tokens: tokens of the prompt
-- output_tokens: tokens of the output
-- cached_tokens: prompt tokens found in the prefix cache
-- preemptions: how often the request lost its cache
SELECT
  request,
  replica,
  class,
  arrival_s,
  queue_s,
  ttft_s,
  1000 * tpot_s AS tpot_ms,
  e2e_s,
  input_tokens,
  output_tokens,
  cached_tokens,
  preemptions
FROM serving_request
WHERE run_id = :run
ORDER BY ttft_s DESC, request
LIMIT 20;

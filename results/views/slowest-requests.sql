-- Which requests waited longest for their first token?
-- reads: serving_request(request, replica, class, arrival_s, queue_s, ttft_s, tpot_s, e2e_s, input_tokens, output_tokens, cached_tokens, preemptions)
-- request: its number, in order of arrival
-- replica: who served it
-- class: its class
-- arrival_s: when it came, seconds
-- queue_s: seconds until a step computed any of it
-- ttft_s: seconds to the first token
-- tpot_ms: time per output token, milliseconds
-- e2e_s: seconds to the last token
-- input_tokens: tokens of its prompt
-- output_tokens: tokens of its output
-- cached_tokens: prompt tokens that the prefix cache had
-- preemptions: how often it lost its cache
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

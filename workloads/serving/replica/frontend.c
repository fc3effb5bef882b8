/*
 * frontend.c - the processes between an engine and its clients: they parse requests, tokenise
 * prompts, detokenise and stream outputs.
 *
 * SGLang's TokenizerManager and vLLM's API server are Python processes with one event loop each
 * (docs: SGLang, "Multi-process tokenizer"; vLLM, V1 architecture and --api-server-count). A
 * request belongs to one of `processes`, by its number. What it needs there are jobs, which wait
 * for each other in the order in which they come:
 *
 *   end(job) = max(end(job before), when it came) + its time / speed of the node's CPU
 *
 *   request    request + prompt-token * tokens of the prompt     it then joins the engine's queue
 *   chunk      chunk + written-token * tokens that the output has    it is seen by its client
 *
 * so that a process hands out at most 1 / chunk chunks per second. The engine does not wait for it.
 * A client does: its first token is its first chunk, and its next request comes when its last chunk
 * is seen. A chunk is what `stream-interval` steps gave one request (the first and the last token
 * are not held back). Gaps between tokens are between the chunks that a client sees, as vLLM's
 * benchmark measures them.
 *
 * A long output costs more where each chunk touches all that was written: SGLang copies a request's
 * output and text for each chunk, vLLM's parsers of reasoning search all earlier tokens.
 *
 * Oracle: with N processes and outputs of n tokens at most N / (n chunk) requests per second end.
 */
#include "workloads/serving/replica/replica_private.h"

typedef struct {
  OrrReplica *replica;
  OrrRequest *request;
  guint generation;
} Delivery;

static const OrrFrontEnd *front_of(const OrrReplica *replica) {
  return &replica->group->params.engine.front;
}

void orr_replica_open_front(OrrReplica *replica) {
  replica->front_free_s = g_new0(double, front_of(replica)->processes);
}

/* When the job of @seconds that comes at @at_s has ended. */
static double queue_job(OrrReplica *replica, const OrrRequest *request, double at_s,
                        double seconds) {
  double *free_s = &replica->front_free_s[request->id % (guint)front_of(replica)->processes];
  const double job_s = seconds / orr_serving_run_cpu_speed(replica->run, replica->books->group);
  replica->books->host_busy_s += job_s;
  replica->books->front_busy_s += job_s;
  *free_s = fmax(*free_s, at_s) + job_s;
  return *free_s;
}

static OrrPool *deliveries(OrrReplica *replica) {
  if (!replica->deliveries) replica->deliveries = orr_pool_new(sizeof(Delivery), NULL);
  return replica->deliveries;
}

static void post(OrrReplica *replica, OrrRequest *request, double at_s, OrrEngineCall call) {
  Delivery *delivery = orr_pool_take(deliveries(replica));
  *delivery = (Delivery){replica, request, replica->generation};
  orr_engine_at(replica->run->engine, at_s, call, delivery);
}

/* --- requests --- */

static void parsed(void *user) {
  const Delivery delivery = *(const Delivery *)user;
  OrrReplica *replica = delivery.replica;
  orr_pool_give(replica->deliveries, user);
  if (replica->run->error || delivery.generation != replica->generation) return;
  g_queue_remove(&replica->parsing, delivery.request);
  replica->cores[delivery.request->core].n_parsing--;
  orr_replica_admit(replica, delivery.request);
}

gboolean orr_replica_parse(OrrReplica *replica, OrrRequest *request) {
  const OrrFrontEnd *front = front_of(replica);
  if (front->processes == 0) return FALSE;
  const double parse_s = front->request_s + front->prompt_token_s * request->prompt;
  if (parse_s <= 0) return FALSE;
  orr_replica_catch_up(replica); /* what came before this request is ahead of it */
  g_queue_push_tail(&replica->parsing, request);
  replica->cores[request->core].n_parsing++;
  post(replica, request, queue_job(replica, request, orr_serving_run_now(replica->run), parse_s),
       parsed);
  return TRUE;
}

/* --- outputs --- */

/* A request that begins anew on another replica writes again from its first token. */
static gboolean is_held_back(const OrrFrontEnd *front, const OrrRequest *request, gint32 written) {
  const gint32 new_tokens = written - request->streamed;
  return front->processes > 0 && new_tokens > 0 && new_tokens < front->interval &&
         request->streamed > 0 && written < request->output;
}

gboolean orr_replica_streams_at_once(const OrrReplica *replica) {
  const OrrFrontEnd *front = front_of(replica);
  return front->processes == 0 ||
         (front->chunk_s <= 0 && front->written_token_s <= 0 && front->interval <= 1);
}

double orr_replica_stream(OrrReplica *replica, OrrRequest *request, gint32 written, double end_s) {
  const OrrFrontEnd *front = front_of(replica);
  if (is_held_back(front, request, written)) return end_s;
  request->streamed = written;
  if (front->processes == 0) return end_s;
  const double chunk_s = front->chunk_s + front->written_token_s * written;
  return chunk_s > 0 ? queue_job(replica, request, end_s, chunk_s) : end_s;
}

void orr_replica_show(OrrReplica *replica, OrrRequest *request, gint32 written, double end_s) {
  if (is_held_back(front_of(replica), request, written)) return;
  const gint32 new_tokens = written - request->streamed;
  /* a first token that another replica wrote was seen when it was written */
  const double before_s = request->streamed > 0 ? request->seen_s : request->last_token_s;
  const double seen_s = orr_replica_stream(replica, request, written, end_s);
  if (written > 1)
    orr_serving_run_note_gaps(replica->run, seen_s - before_s,
                              orr_serving_run_counts(replica->run, request),
                              (guint)MAX(new_tokens, 1));
  request->seen_s = seen_s;
}

static void deliver(void *user) {
  const Delivery delivery = *(const Delivery *)user;
  const OrrReplica *replica = delivery.replica;
  orr_pool_give(replica->deliveries, user);
  if (!replica->run->error) replica->reports->delivered(replica->reports->user, delivery.request);
}

void orr_replica_deliver(OrrReplica *replica, OrrRequest *request) {
  if (request->last_token_s <= orr_serving_run_now(replica->run))
    replica->reports->delivered(replica->reports->user, request);
  else
    post(replica, request, request->last_token_s, deliver);
}

/* --- Outputs: the client sees a token, and the fleet hears of the first and the last one --- */

void orr_replica_on_token(OrrRequest *request, void *user) {
  OrrReplica *replica = user;
  OrrServingRun *run = replica->run;
  const double now_s = orr_serving_run_now(run);
  replica->prompt_tokens -= request->lacking;
  request->lacking = 0;
  if (!run->streams) return;
  const gboolean is_first = request->first_token_s == now_s;
  orr_replica_show(replica, request, request->generated, now_s);
  if (is_first) request->first_token_s = request->seen_s;
  if (request->generated > 1) return;
  orr_serving_run_note_first(run);
  replica->reports->first_token(replica->reports->user, replica, request);
}

void orr_replica_on_finish(OrrRequest *request, void *user) {
  OrrReplica *replica = user;
  replica->n_requests--;
  replica->reports->ended(replica->reports->user, replica, request);
}

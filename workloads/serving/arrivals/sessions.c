/*
 * sessions.c - conversations: each turn's prompt consists of the conversation so far and a new
 * question.
 *
 * Conversations begin as a Poisson process. The prompt of a turn consists of the system prompt,
 * which all conversations share, the conversation so far (questions and answers), and a question of
 * `input` tokens. Its answer has `output` tokens; the next turn follows after an exponential
 * `think` time. The number of turns is geometric with mean `turns`. The engine's prefix cache
 * decides what the conversation so far costs.
 *
 *   workload: {load: {kind: sessions, rate: 0.5, turns: 5, think: 20 s, system-prompt: 1000}}
 */
#include "workloads/serving/arrivals/arrival.h"

typedef struct {
  double rate, turns, think_s;
  gint64 system_prompt, longest;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "load-sessions", "Conversations of several turns.", Params,
    ORR_FIELD_REAL(Params, "rate", rate, ORR_UNIT_NONE, NULL,
                   "Mean number of conversations that begin per second.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(Params, "turns", turns, ORR_UNIT_NONE, "5",
                   "Mean number of requests per conversation.", .min = 1, .max = 1e6),
    ORR_FIELD_REAL(Params, "think", think_s, ORR_UNIT_SECONDS, "10 s",
                   "Mean time from an answer to the next question.", .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_INT(Params, "system-prompt", system_prompt, "0",
                  "Tokens with which every conversation begins.", .min = 0, .max = 1e7),
    ORR_FIELD_INT(Params, "longest", longest, "32768",
                  "A conversation ends before a prompt and its answer exceed this many tokens; its "
                  "first request is sent all the same.",
                  .min = 1, .max = 1e8));

typedef struct {
  guint64 id;
  gint32 tokens; /* tokens of the conversation so far, with the system prompt */
} Session;

typedef struct {
  const Params *params;
  OrrArrivalContext context;
  gint64 left;
  double now_s;
  GPtrArray *sessions; /* Session* */
  OrrRandom begin, turns, lengths;
} State;

static gpointer open_load(const void *params, const OrrArrivalContext *context, GError **error) {
  const Params *own = params;
  const double first = (double)own->system_prompt + orr_lengths_mean(context->input) +
                       orr_lengths_mean(context->output);
  if (own->turns > 1 && first > (double)own->longest) {
    orr_fault_set(error, ORR_FAULT_DOCUMENT,
                  "workload.load.longest (%ld): a first prompt and its answer have %.0f tokens on "
                  "average, so no conversation has a second turn: raise longest, or give turns: 1",
                  own->longest, first);
    return NULL;
  }
  State *state = g_new0(State, 1);
  *state = (State){.params = params,
                   .context = *context,
                   .left = context->requests > 0 ? context->requests : 1000,
                   .sessions = g_ptr_array_new_with_free_func(g_free),
                   .begin = orr_random_stream(context->seed, "sessions"),
                   .turns = orr_random_stream(context->seed, "turns"),
                   .lengths = orr_random_stream(context->seed, "session-lengths")};
  return state;
}

/* FALSE if the next turn would be too long. */
static gboolean ask(State *state, Session *session, double time_s, OrrRequest *ret_request) {
  const gint64 question = orr_lengths_draw(state->context.input, &state->lengths);
  const gint64 answer = orr_lengths_draw(state->context.output, &state->lengths);
  if (session->tokens + question + answer >
      MAX(state->params->longest, state->params->system_prompt + question + answer))
    return FALSE;
  state->left--;
  session->tokens += (gint32)question;
  *ret_request = (OrrRequest){.arrival_s = time_s,
                              .prompt = session->tokens,
                              .output = (gint32)answer,
                              .stream = session->id,
                              .shared = 1,
                              .shared_tokens = (gint32)state->params->system_prompt,
                              .session = session};
  session->tokens += (gint32)answer;
  return TRUE;
}

static gboolean next(gpointer data, OrrRequest *ret_request) {
  State *state = data;
  if (state->left <= 0) return FALSE;
  state->now_s += -log1p(-orr_random_unit(&state->begin)) / state->params->rate;
  Session *session = g_new(Session, 1);
  g_ptr_array_add(state->sessions, session);
  *session = (Session){state->sessions->len, (gint32)state->params->system_prompt};
  return ask(state, session, state->now_s, ret_request);
}

static gboolean after(gpointer data, OrrRequest *ended, double now_s, OrrRequest *ret_request) {
  State *state = data;
  Session *session = ended->session;
  ended->session = NULL;
  if (state->left <= 0 || orr_random_unit(&state->turns) * state->params->turns < 1) return FALSE;
  const double think_s = -state->params->think_s * log1p(-orr_random_unit(&state->turns));
  return ask(state, session, now_s + think_s, ret_request);
}

static void close_load(gpointer data) {
  State *state = data;
  g_ptr_array_unref(state->sessions);
  g_free(state);
}

/* E(n^2) of a geometric distribution of mean m is m (2 m - 1). */
static OrrChain chain(gconstpointer state) {
  const Params *params = ((const State *)state)->params;
  return (OrrChain){params->turns, (params->turns - 1) * params->think_s, 2 * params->turns - 1};
}

static double oracle(const void *data) {
  const Params *params = data;
  return params->rate * params->turns;
}

const OrrArrival orr_arrival_sessions = {
    .entry = {"sessions", "Closed loop: conversations whose prompts grow by question and answer.",
              &table},
    .is_trace = TRUE,
    .shares = "load.system-prompt",
    .rate_of = "conversations",
    .is_endless = TRUE,
    .open = open_load,
    .next = next,
    .after = after,
    .chain = chain,
    .close = close_load,
    .oracle = oracle,
};

/*
 * ledger.c - keeps one account per lane, per label, and per path that begins a communication.
 *
 * An account's clock is the end of the compute stream's last span. Spans of other streams are kept
 * as flights until the compute stream moves on: close_gap then attributes the gap to them.
 *
 * Where kernels run on any stream (OrrWork.streams_alike), all spans are flights until the end.
 * Then settle attributes each moment once: to kernels, else to communication, else to the host.
 */
#include "sim/run/answer/ledger.h"

typedef struct {
  double started_s, end_s;
  OrrTimeKind kind;
} Interval;

/* Where spans stand relative to what repeats. */
typedef enum { BEFORE, WITHIN, AFTER } Stage;

typedef struct {
  double seconds[ORR_N_TIMES];
  double clock_s;  /* all time before this is accounted for */
  GArray *flights; /* of Interval: communications of other streams that ended since then */
  guint steps;
  Stage stage;                /* relative to the lane's leap */
  double marked[ORR_N_TIMES]; /* seconds at the mark */
} Account;

/* Spans, and their seconds as they were and alone on their links. */
typedef struct {
  double seconds, alone_s;
  guint64 n;
} Calls;

typedef struct {
  Calls calls, marked;
} PathCalls;

typedef struct {
  gint8 kind;       /* OrrTimeKind of a COMM label; -1: WORK */
  gboolean is_step; /* marks the end of a step */
  gboolean waits;   /* waiting for the other members is of its kind, too: it is before all steps */
  double from_s, to_s, covered_s; /* the open window, and the sum of closed ones */
  Calls calls, marked;
} Label;

/* A communication of a routine, alone on its links. */
typedef struct {
  guint32 label, path;
  double alone_s;
} RoutineComm;

/* Over the ops of a routine, each alone on its links. */
typedef struct {
  double *seconds; /* running sums: seconds[ORR_N_TIMES] before each op, and at the end */
  RoutineComm *comms;
  guint32 *firsts; /* by op, and at the end: the communications before it */
} RoutineSums;

struct OrrLedger {
  const OrrWork *work;
  GArray *spans;
  GArray *labels; /* of Label */
  GArray *paths;  /* of PathCalls */
  Account *accounts;
  guint n_lanes;
  guint32 *compute; /* each lane's first stream */
  GArray *step_ends;
  GPtrArray *sums; /* of RoutineSums, by routine: see sums_of */
  double later_s;  /* shift of new spans: what was repeated before them */
  OrrProgramRepeat left_out;
  OrrRepetition repetition;
  Stage at;             /* relative to that */
  const OrrLeap *leaps; /* by lane; NULL: none */
};

static void find_compute_streams(OrrLedger *ledger) {
  const OrrProgram *program = ledger->work->program;
  for (guint s = orr_program_n_streams(program); s-- > 0;)
    ledger->compute[orr_program_stream_lane(program, s)] = s;
}

static void free_sums(gpointer data) {
  RoutineSums *sums = data;
  if (sums) ORR_FREE(sums->seconds, sums->comms, sums->firsts, sums);
}

OrrLedger *orr_ledger_new(const OrrWork *work, GArray *spans) {
  OrrLedger *ledger = g_new0(OrrLedger, 1);
  ledger->work = work;
  ledger->spans = spans;
  ledger->labels = g_array_new(FALSE, TRUE, sizeof(Label));
  ledger->paths = g_array_new(FALSE, TRUE, sizeof(PathCalls));
  ledger->n_lanes = orr_program_n_lanes(work->program);
  ledger->accounts = g_new0(Account, ledger->n_lanes);
  ledger->compute = g_new0(guint32, ledger->n_lanes);
  ledger->step_ends = g_array_new(FALSE, TRUE, sizeof(double));
  ledger->sums = g_ptr_array_new_with_free_func(free_sums);
  ledger->left_out = orr_program_repeated(work->program);
  ledger->repetition = (OrrRepetition){INFINITY, INFINITY, 0};
  for (guint i = 0; i < ledger->n_lanes; i++)
    ledger->accounts[i].flights = g_array_new(FALSE, FALSE, sizeof(Interval));
  find_compute_streams(ledger);
  return ledger;
}

OrrLedger *orr_ledger_new_again(const OrrWork *work) {
  OrrLedger *ledger = orr_ledger_new(work, NULL);
  ledger->left_out.times = 0;
  return ledger;
}

void orr_ledger_free(OrrLedger *ledger) {
  if (!ledger) return;
  for (guint i = 0; i < ledger->n_lanes; i++) g_array_unref(ledger->accounts[i].flights);
  ORR_FREE(ledger->accounts, ledger->compute);
  g_array_unref(ledger->labels);
  g_array_unref(ledger->paths);
  g_array_unref(ledger->step_ends);
  g_ptr_array_unref(ledger->sums);
  g_free(ledger);
}

static void add_labels(OrrLedger *ledger, guint32 index) {
  const OrrProgram *program = ledger->work->program;
  while (ledger->labels->len <= index) {
    const char *category = orr_program_label_category(program, ledger->labels->len);
    const char *name = orr_program_label_name(program, ledger->labels->len);
    Label label = {.kind = -1,
                   .is_step = g_str_equal(category, "step"),
                   .waits = g_str_equal(name, ORR_LOAD_BARRIER)};
    for (int kind = 0; kind < ORR_N_TIMES; kind++)
      if (g_str_equal(category, orr_time_words[kind])) label.kind = kind;
    g_array_append_val(ledger->labels, label);
  }
}

static inline Label *label_of(OrrLedger *ledger, guint32 index) {
  if (index >= ledger->labels->len) add_labels(ledger, index);
  return &g_array_index(ledger->labels, Label, index);
}

ORR_LEAST_FIRST(by_start, Interval, started_s)

/* The compute stream was idle from its clock to @until_s: attributes that time to the
 * communications in flight. */
static void close_gap(Account *account, double until_s) {
  if (account->flights->len > 1) g_array_sort(account->flights, by_start);
  ORR_EACH(const Interval, flight, account->flights) {
    const double from = MAX(flight->started_s, account->clock_s), to = MIN(flight->end_s, until_s);
    if (to <= from) continue;
    account->seconds[ORR_TIME_BUBBLE] += from - account->clock_s;
    account->seconds[flight->kind] += to - from;
    account->clock_s = to;
  }
  account->seconds[ORR_TIME_BUBBLE] += MAX(until_s - account->clock_s, 0);
  account->clock_s = MAX(until_s, account->clock_s);
  account->flights->len = 0;
}

/* Where an interval begins (+1) or ends (-1). */
typedef struct {
  double at_s;
  OrrTimeKind kind;
  int by;
} Edge;

ORR_LEAST_FIRST(by_date, Edge, at_s)

/* Kinds stand in the order in which they count: kernels, communication, the host. */
static void settle(Account *account, double end_s) {
  g_autoptr(GArray) edges = g_array_new(FALSE, FALSE, sizeof(Edge));
  gint64 running[ORR_N_TIMES] = {0};
  ORR_EACH(const Interval, flight, account->flights) {
    ORR_APPEND(edges, Edge, {flight->started_s, flight->kind, 1});
    ORR_APPEND(edges, Edge, {flight->end_s, flight->kind, -1});
  }
  ORR_APPEND(edges, Edge, {end_s, ORR_TIME_BUBBLE, 0});
  g_array_sort(edges, by_date);
  ORR_EACH(const Edge, edge, edges) {
    int kind = 0;
    while (kind < ORR_TIME_BUBBLE && running[kind] == 0) kind++;
    account->seconds[kind] += MAX(edge->at_s - account->clock_s, 0);
    account->clock_s = MAX(edge->at_s, account->clock_s);
    running[edge->kind] += edge->by;
  }
  account->flights->len = 0;
}

/* Spans of a kind that touch become one: they come in the order of their ends. */
static void keep_flight(Account *account, const OrrSpan *span, OrrTimeKind kind) {
  GArray *flights = account->flights;
  Interval *last = flights->len ? &g_array_index(flights, Interval, flights->len - 1) : NULL;
  if (!last || last->kind != kind || span->started_s > last->end_s) {
    ORR_APPEND(flights, Interval, {span->started_s, span->end_s, kind});
    return;
  }
  last->started_s = MIN(last->started_s, span->started_s);
  last->end_s = span->end_s;
}

/* A flight within the one before it fills no gap that this one does not (close_gap). */
static void add_flight(Account *account, const OrrSpan *span, OrrTimeKind kind) {
  const guint n = account->flights->len;
  const Interval *last = n > 0 ? &g_array_index(account->flights, Interval, n - 1) : NULL;
  if (last && last->started_s <= span->started_s && last->end_s >= span->end_s) return;
  ORR_APPEND(account->flights, Interval, {span->started_s, span->end_s, kind});
}

static void add_step_end(OrrLedger *ledger, Account *account, double end_s) {
  if (account->steps == ledger->step_ends->len) g_array_append_val(ledger->step_ends, end_s);
  double *known = &g_array_index(ledger->step_ends, double, account->steps++);
  *known = MAX(*known, end_s);
}

/* What an overlapped communication adds to the work that it slows down becomes its kind. Anything
 * else that makes work longer than the sum of its kinds (a slow GPU, noise), or shorter (noise),
 * stretches all kinds alike. */
static void add_work(OrrLedger *ledger, Account *account, const OrrSpan *span) {
  const GArray *parts = ledger->work->label_seconds;
  double seconds[ORR_N_TIMES] = {0}, sum = 0, stretch = 1;
  for (int kind = 0; kind < ORR_N_TIMES && (span->label + 1) * ORR_N_TIMES <= parts->len; kind++)
    sum += seconds[kind] = g_array_index(parts, double, span->label *ORR_N_TIMES + kind);
  const double lasted_s = span->end_s - span->begin_s;
  const int overlapped = span->beside == G_MAXUINT32 ? -1 : label_of(ledger, span->beside)->kind;
  const double own_s = overlapped >= 0 ? MIN(span->alone_s, lasted_s) : lasted_s;
  if (overlapped >= 0) account->seconds[overlapped] += lasted_s - own_s;
  if (sum > 0 && fabs(own_s - sum) > 1e-9 * sum) stretch = own_s / sum;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) account->seconds[kind] += stretch * seconds[kind];
  account->clock_s = span->end_s;
}

static void mark(OrrLedger *ledger) {
  for (guint i = 0; i < ledger->n_lanes; i++)
    memcpy(ledger->accounts[i].marked, ledger->accounts[i].seconds,
           sizeof ledger->accounts[i].marked);
  ORR_EACH(Label, label, ledger->labels) label->marked = label->calls;
  ORR_EACH(PathCalls, path, ledger->paths) path->marked = path->calls;
}

/* The clock runs on for @times times @period_s, in which the account's time since its mark is spent
 * over and over. */
static void repeat(Account *account, double times, double period_s) {
  account->clock_s += times * period_s;
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    account->seconds[kind] += times * (account->seconds[kind] - account->marked[kind]);
  ORR_EACH(Interval, flight, account->flights) {
    flight->started_s += times * period_s;
    flight->end_s += times * period_s;
  }
}

static void repeat_calls(Calls *calls, const Calls *marked, double times) {
  calls->seconds += times * (calls->seconds - marked->seconds);
  calls->alone_s += times * (calls->alone_s - marked->alone_s);
  calls->n += (guint64)times * (calls->n - marked->n);
}

/* Fast-forward. Counts everything since the mark another @times times, as if the clock had run on
 * for @times * @period_s meanwhile; later spans are shifted by that much. Called at most once. */
static void repeat_all(OrrLedger *ledger, double times, double period_s) {
  ledger->later_s += times * period_s;
  for (guint i = 0; i < ledger->n_lanes; i++) repeat(&ledger->accounts[i], times, period_s);
  ORR_EACH(Label, label, ledger->labels) repeat_calls(&label->calls, &label->marked, times);
  ORR_EACH(PathCalls, path, ledger->paths) repeat_calls(&path->calls, &path->marked, times);
}

void orr_ledger_set_leaps(OrrLedger *ledger, const OrrLeap *leaps) { ledger->leaps = leaps; }

/* How many spans this one, the next of its lane, stands for. */
static double weight_of(const OrrLedger *ledger, Account *account, guint lane,
                        const OrrSpan *span) {
  const OrrLeap *leap = ledger->leaps ? &ledger->leaps[lane] : NULL;
  if (!leap || leap->times == 0) return 1;
  if (account->stage == BEFORE && span->end_s > leap->from_s) {
    memcpy(account->marked, account->seconds, sizeof account->marked);
    account->stage = WITHIN;
  }
  if (account->stage == WITHIN && span->end_s > leap->at_s) {
    repeat(account, leap->times, leap->later_s / leap->times);
    account->stage = AFTER;
  }
  return account->stage == WITHIN ? 1 + leap->times : 1;
}

/* The steps that ended since the mark end again, once per repetition. */
static void repeat_step_ends(OrrLedger *ledger, guint times, double period_s) {
  const guint n = ledger->step_ends->len;
  for (guint i = 0; i < ledger->n_lanes; i++)
    if (ledger->accounts[i].steps == n) ledger->accounts[i].steps += times;
  for (guint i = 1; i <= times && n > 0; i++)
    ORR_APPEND(ledger->step_ends, double,
               g_array_index(ledger->step_ends, double, n - 1) + i * period_s);
}

/* What the program leaves out lies between the ends of two barriers (orr_program_repeat): the spans
 * that end in between are counted again. A barrier's own spans come before those that end later. */
static void fast_forward(OrrLedger *ledger, double end_s) {
  OrrRepetition *repetition = &ledger->repetition;
  if (ledger->at == BEFORE && end_s > repetition->from_s) {
    mark(ledger);
    ledger->at = WITHIN;
  }
  if (ledger->at == WITHIN && end_s > repetition->to_s) {
    const double period_s = repetition->to_s - repetition->from_s;
    repeat_all(ledger, ledger->left_out.times, period_s);
    repeat_step_ends(ledger, ledger->left_out.times, period_s);
    ledger->at = AFTER;
  }
}

static void note_barrier(OrrLedger *ledger, const OrrSpan *span) {
  OrrRepetition *repetition = &ledger->repetition;
  if (ledger->left_out.times == 0) return;
  fast_forward(ledger, span->end_s);
  repetition->times = ledger->left_out.times;
  if (span->comm == ledger->left_out.from) repetition->from_s = span->end_s;
  if (span->comm == ledger->left_out.to) repetition->to_s = span->end_s;
}

/* Spans come in the order of their ends: a span that began within the open window extends it. */
static void cover(Label *label, const OrrSpan *span) {
  if (label->calls.n == 0 || span->started_s > label->to_s) {
    label->covered_s += label->to_s - label->from_s;
    label->from_s = span->started_s;
  }
  label->from_s = MIN(label->from_s, span->started_s);
  label->to_s = span->end_s;
}

/* Whether @op is WORK between BESIDE and MEET. */
static gboolean is_overlapped(const OrrOp *ops, guint op) {
  while (op > 0 && ops[op].kind == ORR_OP_WORK) op--;
  return ops[op].kind == ORR_OP_BESIDE;
}

/* The time of each kind up to each op of the routine. */
static double *add_up_routine(OrrLedger *ledger, guint32 routine, const OrrOp *ops, guint n) {
  const GArray *parts = ledger->work->label_seconds;
  g_autofree double *begins = orr_program_routine_begins(ledger->work->program, routine);
  double *sums = g_new0(double, (gsize)(n + 1) * ORR_N_TIMES);
  /* The kind of time that work does not explain: of the overlapped communication, which slows the
   * work down or outlasts it. */
  int comm = -1;
  for (guint i = 0; i < n; i++) {
    double *after = sums + (gsize)(i + 1) * ORR_N_TIMES, rest_s = begins[i + 1] - begins[i];
    memcpy(after, after - ORR_N_TIMES, ORR_N_TIMES * sizeof *after);
    if (ops[i].kind == ORR_OP_COMM || ops[i].kind == ORR_OP_BESIDE)
      comm = label_of(ledger, ops[i].label)->kind;
    for (int kind = 0; ops[i].kind == ORR_OP_WORK && kind < ORR_N_TIMES; kind++) {
      const double part_s = g_array_index(parts, double, ops[i].label *ORR_N_TIMES + kind);
      after[kind] += part_s;
      rest_s -= part_s;
    }
    if (ops[i].kind != ORR_OP_WORK || is_overlapped(ops, i)) after[comm] += rest_s;
  }
  return sums;
}

static void list_comms(const OrrProgram *program, const OrrOp *ops, guint n, RoutineSums *sums) {
  guint32 n_comms = 0;
  sums->comms = g_new(RoutineComm, n + 1);
  sums->firsts = g_new(guint32, n + 1);
  for (guint i = 0; i < n; i++) {
    sums->firsts[i] = n_comms;
    if (ops[i].kind != ORR_OP_COMM && ops[i].kind != ORR_OP_BESIDE) continue;
    sums->comms[n_comms++] =
        (RoutineComm){ops[i].label, orr_program_comm_path(program, ops[i].target),
                      orr_program_comm_alone(program, ops[i].target)};
  }
  sums->firsts[n] = n_comms;
}

static const RoutineSums *sums_of(OrrLedger *ledger, guint32 routine) {
  if (routine >= ledger->sums->len) g_ptr_array_set_size(ledger->sums, (gint)routine + 1);
  if (ledger->sums->pdata[routine]) return ledger->sums->pdata[routine];
  guint n;
  const OrrOp *ops = orr_program_routine_ops(ledger->work->program, routine, &n);
  RoutineSums *sums = ledger->sums->pdata[routine] = g_new0(RoutineSums, 1);
  sums->seconds = add_up_routine(ledger, routine, ops, n);
  list_comms(ledger->work->program, ops, n, sums);
  return sums;
}

static inline void add_calls(Calls *calls, double weight, double seconds, double alone_s) {
  calls->n += (guint64)weight;
  calls->seconds += weight * seconds;
  calls->alone_s += weight * alone_s;
}

/* Of a communication over @path that stands for @weight of them. */
static void add_path(OrrLedger *ledger, guint32 path, double weight, double seconds,
                     double alone_s) {
  if (path == ORR_NO_PATH) return;
  if (path >= ledger->paths->len) g_array_set_size(ledger->paths, path + 1);
  add_calls(&g_array_index(ledger->paths, PathCalls, path).calls, weight, seconds, alone_s);
}

/* A span of several ops of a routine. Only compute streams call routines. */
static void add_routine(OrrLedger *ledger, Account *account, const OrrSpan *span, double weight) {
  const RoutineSums *sums = sums_of(ledger, span->routine);
  const double *before = sums->seconds + (gsize)span->first * ORR_N_TIMES;
  const double *after = before + (gsize)span->n_ops * ORR_N_TIMES;
  const guint32 end = sums->firsts[span->first + span->n_ops];
  close_gap(account, span->begin_s);
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    account->seconds[kind] += after[kind] - before[kind];
  account->clock_s = span->end_s;
  for (guint32 i = sums->firsts[span->first]; i < end; i++) {
    const RoutineComm *comm = &sums->comms[i];
    add_calls(&label_of(ledger, comm->label)->calls, weight, comm->alone_s, comm->alone_s);
    add_path(ledger, comm->path, weight, comm->alone_s, comm->alone_s);
  }
}

void orr_ledger_span(const OrrSpan *raw, void *user) {
  OrrLedger *ledger = user;
  note_barrier(ledger, raw);
  OrrSpan moved = *raw;
  const OrrSpan *span = &moved;
  moved.begin_s += ledger->later_s;
  moved.started_s += ledger->later_s;
  moved.end_s += ledger->later_s;
  if (ledger->spans) g_array_append_vals(ledger->spans, span, 1);
  const guint lane = orr_program_stream_lane(ledger->work->program, span->stream);
  Account *account = &ledger->accounts[lane];
  const double weight = weight_of(ledger, account, lane, span);
  if (span->n_ops > 0) return add_routine(ledger, account, span, weight);
  Label *label = label_of(ledger, span->label);
  const gboolean is_comm = span->comm != G_MAXUINT32;
  const double seconds = span->end_s - span->started_s,
               alone_s = is_comm ? orr_program_comm_alone(ledger->work->program, span->comm) : 0;
  cover(label, span);
  add_calls(&label->calls, weight, seconds, alone_s);
  if (is_comm)
    add_path(ledger, orr_program_comm_path(ledger->work->program, span->comm), weight, seconds,
             alone_s);
  if (ledger->work->streams_alike)
    return keep_flight(account, span, label->kind < 0 ? ORR_TIME_GEMM : (OrrTimeKind)label->kind);
  if (span->stream != ledger->compute[lane])
    return add_flight(account, span, label->kind < 0 ? ORR_TIME_HOST : (OrrTimeKind)label->kind);
  close_gap(account, label->kind < 0 || label->waits ? span->begin_s : span->started_s);
  if (label->is_step) {
    add_step_end(ledger, account, span->end_s);
  } else if (label->kind < 0) {
    add_work(ledger, account, span);
  } else {
    account->seconds[label->kind] += span->end_s - account->clock_s;
    account->clock_s = span->end_s;
  }
}

void orr_ledger_close(OrrLedger *ledger, double end_s) {
  if (ledger->left_out.times > 0) fast_forward(ledger, INFINITY);
  for (guint i = 0; i < ledger->n_lanes; i++)
    (ledger->work->streams_alike ? settle : close_gap)(&ledger->accounts[i], end_s);
}

const double *orr_ledger_lane(const OrrLedger *ledger, guint lane) {
  return ledger->accounts[lane].seconds;
}

double orr_ledger_lane_end(const OrrLedger *ledger, guint lane) {
  return ledger->accounts[lane].clock_s;
}

void orr_ledger_mean(const OrrLedger *ledger, double ret_seconds[ORR_N_TIMES]) {
  double n = 0, sum[ORR_N_TIMES] = {0};
  for (guint lane = 0; lane < ledger->n_lanes; lane++) {
    const double weight = orr_program_multiplicity(ledger->work->program, lane);
    for (int kind = 0; kind < ORR_N_TIMES; kind++)
      sum[kind] += weight * ledger->accounts[lane].seconds[kind];
    n += weight;
  }
  for (int kind = 0; kind < ORR_N_TIMES; kind++) ret_seconds[kind] = sum[kind] / n;
}

OrrRepetition orr_ledger_repetition(const OrrLedger *ledger) { return ledger->repetition; }

guint orr_ledger_whole_steps(const OrrLedger *ledger) {
  guint whole = ledger->step_ends->len;
  for (guint i = 0; i < ledger->n_lanes; i++) whole = MIN(whole, ledger->accounts[i].steps);
  return whole;
}

const GArray *orr_ledger_step_ends(const OrrLedger *ledger) { return ledger->step_ends; }

OrrLabelTimes orr_ledger_label(const OrrLedger *ledger, const char *name) {
  OrrLabelTimes times = {0};
  for (guint i = 0; i < ledger->labels->len; i++) {
    if (!g_str_equal(orr_program_label_name(ledger->work->program, i), name)) continue;
    const Label *label = &g_array_index(ledger->labels, Label, i);
    times.n += label->calls.n;
    times.seconds += label->calls.seconds;
    times.alone_s += label->calls.alone_s;
    times.covered_s += label->covered_s + label->to_s - label->from_s;
  }
  return times;
}

OrrLabelTimes orr_ledger_path(const OrrLedger *ledger, guint32 path) {
  if (path >= ledger->paths->len) return (OrrLabelTimes){0};
  const Calls *calls = &g_array_index(ledger->paths, PathCalls, path).calls;
  return (OrrLabelTimes){.n = calls->n, .seconds = calls->seconds, .alone_s = calls->alone_s};
}

/*
 * fake_machine.c - the clock, devices, streams, events and graphs of fake_gpu.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/random.h"
#include "tests/calibration/fake_gpu/fake_gpu.h"

/* --- Faults --- */

#define WHOLE(name_)                                                                               \
  { #name_, offsetof(FakeFaults, name_), FALSE }
#define REAL(name_)                                                                                \
  { #name_, offsetof(FakeFaults, name_), TRUE }
static const struct {
  const char *name;
  gsize offset;
  gboolean is_real;
} fault_fields[] = {WHOLE(oom),        WHOLE(launch),          WHOLE(capture),   WHOLE(hang),
                    WHOLE(die),        WHOLE(die_at),          WHOLE(absent),    WHOLE(slow_post),
                    WHOLE(wrong),      REAL(throttle),         REAL(noise),      REAL(clock_noise),
                    REAL(link),        REAL(slow_us),          WHOLE(no_nvml),   WHOLE(mig),
                    WHOLE(ecc_off),    WHOLE(other_processes), WHOLE(no_nvlink), WHOLE(low_cap),
                    WHOLE(old_clock),  WHOLE(persistence_off), WHOLE(hot),       WHOLE(no_driver),
                    WHOLE(old_driver), WHOLE(no_dma_buf)};

static void read_fault(FakeFaults *faults, const char *text) {
  const char *equals = strchr(text, '=');
  g_assert(equals);
  for (guint i = 0; i < G_N_ELEMENTS(fault_fields); i++) {
    char *at = (char *)faults + fault_fields[i].offset;
    if (strlen(fault_fields[i].name) != (gsize)(equals - text) ||
        !g_str_has_prefix(text, fault_fields[i].name))
      continue;
    if (fault_fields[i].is_real)
      *(double *)(void *)at = g_ascii_strtod(equals + 1, NULL);
    else
      *(gint64 *)(void *)at = g_ascii_strtoll(equals + 1, NULL, 10);
    return;
  }
  g_error("there is no fault '%s'", text);
}

const FakeFaults *fake_faults(void) {
  static FakeFaults faults;
  static gboolean is_read;
  if (is_read) return &faults;
  faults = (FakeFaults){.die = -1, .absent = -1, .throttle = 1, .link = 1};
  const char *text = g_getenv("ORRERY_FAKE_FAULTS");
  g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);
  for (char **word = words; *word; word++)
    if (**word) read_fault(&faults, *word);
  is_read = TRUE;
  return &faults;
}

static gint64 number_of(const char *name, gint64 otherwise) {
  const char *text = g_getenv(name);
  return text ? g_ascii_strtoll(text, NULL, 10) : otherwise;
}

int fake_n_gpus(void) { return (int)number_of("ORRERY_FAKE_GPUS", 1); }

double fake_memory_bytes(void) { return 1e6 * (double)number_of("ORRERY_FAKE_MEMORY", 400); }

int fake_capability(void) { return (int)number_of("ORRERY_FAKE_CAPABILITY", 90); }

/* --- The clock --- */

static double now_us = 1e6;

double fake_now_us(void) { return now_us; }

void fake_spend_us(double us) { now_us += us; }

/* In the place of GLib's, for the whole program. */
gint64 g_get_monotonic_time(void) { return (gint64)now_us; }

/* A fault makes a process never come: time then runs faster, so that a limit of minutes takes
 * seconds. */
static gboolean is_vain(void) {
  const FakeFaults *faults = fake_faults();
  return faults->hang > 0 || faults->die >= 0 || faults->absent >= 0;
}

/* Other processes need real time: a twentieth of long waits, which are for them. */
void g_usleep(gulong us) {
  const gulong speed = us >= 1000 && is_vain() ? 10 : 1;
  now_us += (double)(speed * us);
  if (us >= 1000) usleep((useconds_t)(speed * us) / 20);
}

static void wait_for_others(void) {
  usleep(is_vain() ? 500 : 100);
  now_us += is_vain() ? 100e3 : 300;
}

/* --- Devices --- */

typedef struct {
  double at_us, energy_j;
} Mark;

typedef struct {
  GArray *marks;                /* of Mark: energy so far, rising */
  double last_us, watts, ratio; /* the end of the last work; mean power; fraction of the clock */
} Device;

static Device devices[FAKE_MOST_GPUS];
static int current;

int fake_device(void) { return current; }

void fake_set_device(int device) { current = device; }

static Device *device_of(int number) {
  Device *device = &devices[number];
  if (device->marks) return device;
  *device = (Device){.marks = g_array_new(FALSE, FALSE, sizeof(Mark)),
                     .watts = FAKE_IDLE_WATTS,
                     .ratio = fake_faults()->throttle};
  const Mark first = {0, 0};
  g_array_append_val(device->marks, first);
  return device;
}

static double noise_of(double size) {
  static guint64 n;
  double sum = 0; /* of twelve uniform numbers: nearly normal, of variance 1 */
  if (size <= 0) return 1;
  for (guint i = 0; i < 12; i++)
    sum += (double)(orr_random_hash3(7, n, i) >> 11) / 9007199254740992.0;
  n++;
  return fmax(1 + size * (sum - 6), 0.1);
}

static void add_power(Device *device, double until_us, double watts) {
  if (until_us <= device->last_us) return;
  const double us = until_us - device->last_us;
  const Mark *last = &g_array_index(device->marks, Mark, device->marks->len - 1);
  const Mark mark = {until_us, last->energy_j + watts * us / 1e6};
  g_array_append_val(device->marks, mark);
  device->watts += (watts - device->watts) * (1 - exp(-us / FAKE_POWER_TAU_US));
  device->last_us = until_us;
}

/* Whether another board has drawn the power of products until now. */
static gboolean is_crowded(const Device *device, double at_us) {
  for (int i = 0; i < FAKE_MOST_GPUS; i++)
    if (&devices[i] != device && devices[i].last_us >= at_us - 1e3 &&
        devices[i].watts > 0.9 * (FAKE_POWER_LIMIT_WATTS - FAKE_CROWD_WATTS))
      return TRUE;
  return FALSE;
}

/* The board lowers its clock when its mean power has reached the limit, and raises it when idle
 * time has cooled it: power above idle goes with the square of the clock. */
static double next_ratio(const Device *device, double watts, double at_us) {
  const double most = fake_faults()->throttle * noise_of(fake_faults()->clock_noise);
  const double limit = FAKE_POWER_LIMIT_WATTS - (is_crowded(device, at_us) ? FAKE_CROWD_WATTS : 0);
  if (watts <= limit || device->watts < 0.98 * limit) return fmin(most, 1);
  return fmin(fmin(most, 1), sqrt((limit - FAKE_IDLE_WATTS) / (watts - FAKE_IDLE_WATTS)));
}

double fake_clock_ratio(int device) { return device_of(device)->ratio; }

double fake_watts(int number) {
  Device *device = device_of(number);
  if (now_us > device->last_us) add_power(device, now_us, FAKE_IDLE_WATTS);
  return device->watts;
}

double fake_energy_j(int number) {
  Device *device = device_of(number);
  const double at_us = floor(now_us / 20e3) * 20e3; /* the counter moves in steps */
  if (now_us > device->last_us) add_power(device, now_us, FAKE_IDLE_WATTS);
  guint i = device->marks->len - 1;
  while (i > 0 && g_array_index(device->marks, Mark, i).at_us > at_us) i--;
  const Mark before = g_array_index(device->marks, Mark, i);
  if (i + 1 == device->marks->len) return before.energy_j;
  const Mark after = g_array_index(device->marks, Mark, i + 1);
  if (i > 1000) g_array_remove_range(device->marks, 0, i - 1);
  return before.energy_j +
         (after.energy_j - before.energy_j) * (at_us - before.at_us) / (after.at_us - before.at_us);
}

guint64 fake_throttle_reasons(int number) {
  Device *device = device_of(number);
  const gboolean is_busy = device->last_us > now_us;
  const gboolean is_capped = is_busy && device->ratio < 0.999 * fake_faults()->throttle;
  return (is_busy ? 0 : 1) | (is_capped ? 4 : 0) | (fake_faults()->throttle < 1 ? 0x40 : 0);
}

/* Dense FLOPs per clock and SM, as NVIDIA's datasheet of the H100 has them. */
double fake_peak_flops(OrrDtype dtype) {
  static const double per_clock[ORR_N_DTYPES] = {
      [ORR_FP32] = 256,  [ORR_TF32] = 2048, [ORR_FP16] = 4096,
      [ORR_BF16] = 4096, [ORR_FP8] = 8192,  [ORR_FP4] = 16384};
  return per_clock[dtype] * FAKE_SMS * FAKE_SM_HZ;
}

FakeWork fake_work(FakeKind kind, double flops, OrrDtype dtype, double bytes) {
  const double peak = fake_peak_flops(dtype);
  return (FakeWork){.kind = kind,
                    .fixed_us = FAKE_KERNEL_US,
                    .compute_us = peak > 0 ? flops / (peak * FAKE_GEMM_EFFICIENCY) * 1e6 : 0,
                    .memory_us = bytes / (FAKE_MEMORY_BYTES_PER_S * FAKE_MEMORY_EFFICIENCY) * 1e6,
                    .watts = kind == FAKE_COMPUTE ? FAKE_PRODUCT_WATTS
                             : kind == FAKE_COMM  ? FAKE_COMM_WATTS
                             : kind == FAKE_HOLD  ? 1.5 * FAKE_IDLE_WATTS
                                                  : FAKE_MEMORY_WATTS};
}

/* --- Streams --- */

typedef enum { WORK, RECORD, AWAIT, MEET } OpKind;

typedef struct {
  OpKind kind;
  FakeWork work;
  FakeEvent *event;
  FakeMeeting *meeting;
  int member;
  gboolean has_arrived;
  double posted_us;
  double gap_us; /* from the end of the one before */
} Op;

/* A time in which a stream was busy; neighbours of one kind are joined. */
typedef struct {
  FakeKind kind;
  double begin_us, end_us;
  int blocks; /* of FAKE_COMM */
} Span;
enum { SPANS = 16 };

struct FakeStream {
  int device;
  double end_us;
  GQueue pending; /* of Op* */
  Span spans[SPANS];
  guint n_spans;
  FakeGraph *capture; /* NULL: it runs */
};

struct FakeEvent {
  gboolean is_recorded, is_known; /* it was posted; its time is known */
  double us;
  FakeGraph *captured;
};

struct FakeMeeting {
  FakeMeetingKind kind;
  int n_left;
};

typedef struct {
  FakeStream *stream; /* NULL: the one that the graph is launched on */
  Op op;
  FakeMeetingMake make;
  gpointer user;
} Node;

struct FakeGraph {
  GArray *nodes; /* of Node */
  FakeStream *origin;
  gboolean is_spoiled;
};

static GPtrArray *streams;

static gboolean is_transfer(FakeKind kind) { return kind == FAKE_COPY || kind == FAKE_COMM; }

static double slow_down(FakeKind mine, const Span *span) {
  const FakeKind other = span->kind;
  if (mine == FAKE_HOLD || other == FAKE_HOLD || mine == other) return 1;
  if (!is_transfer(mine)) {
    if (!is_transfer(other)) return 1;
    return other == FAKE_COMM ? 1 + (FAKE_COMPUTE_BESIDE_COMM - 1) * span->blocks / FAKE_NCCL_BLOCKS
                              : FAKE_COMPUTE_BESIDE_COPY;
  }
  if (mine == FAKE_COMM)
    return other == FAKE_COPY ? FAKE_COMM_BESIDE_COPY : FAKE_COMM_BESIDE_COMPUTE;
  return other == FAKE_COMM ? FAKE_COPY_BESIDE_COMM : FAKE_COPY_BESIDE_COMPUTE;
}

/* The slow-down by what other streams of the device do at that time. */
static double slow_down_at(const FakeStream *stream, FakeKind kind, double at_us) {
  double most = 1;
  for (guint s = 0; s < streams->len; s++) {
    const FakeStream *other = streams->pdata[s];
    if (other == stream || other->device != stream->device) continue;
    for (guint i = 0; i < MIN(other->n_spans, (guint)SPANS); i++) {
      const Span *span = &other->spans[i];
      if (span->begin_us <= at_us && at_us < span->end_us) most = fmax(most, slow_down(kind, span));
    }
  }
  return most;
}

static void add_span(FakeStream *stream, const FakeWork *work, double begin_us, double end_us) {
  Span *last = stream->n_spans ? &stream->spans[(stream->n_spans - 1) % SPANS] : NULL;
  if (last && last->kind == work->kind && begin_us - last->end_us < 5)
    last->end_us = end_us;
  else
    stream->spans[stream->n_spans++ % SPANS] = (Span){work->kind, begin_us, end_us, work->blocks};
}

static void run_work(FakeStream *stream, const FakeWork *work, double begin_us) {
  Device *device = device_of(stream->device);
  if (begin_us > device->last_us) add_power(device, begin_us, FAKE_IDLE_WATTS);
  device->ratio = next_ratio(device, work->watts, begin_us);
  const double busy_us = fmax(work->compute_us / device->ratio, work->memory_us);
  double us = work->fixed_us + busy_us * slow_down_at(stream, work->kind, begin_us);
  if (work->kind != FAKE_HOLD) us *= noise_of(fake_faults()->noise);
  const double drawn = FAKE_IDLE_WATTS + (work->watts - FAKE_IDLE_WATTS) *
                                             (work->compute_us > 0 ? pow(device->ratio, 2) : 1);
  stream->end_us = begin_us + us;
  add_span(stream, work, begin_us, stream->end_us);
  add_power(device, stream->end_us, drawn);
}

/* TRUE if the operation's begin is known: it is then done. */
static gboolean run_op(FakeStream *stream, Op *op) {
  const double ready_us = fmax(stream->end_us + op->gap_us, op->posted_us);
  double begin_us = ready_us;
  switch (op->kind) {
  case WORK:
    run_work(stream, &op->work, begin_us);
    return TRUE;
  case RECORD:
    op->event->is_known = TRUE;
    op->event->us = fmax(stream->end_us, op->posted_us);
    return TRUE;
  case AWAIT:
    if (!op->event->is_known && op->event->is_recorded) return FALSE;
    stream->end_us = fmax(stream->end_us, op->event->us);
    return TRUE;
  default:
    if (!op->has_arrived) op->meeting->kind.arrive(op->meeting->kind.context, op->member, ready_us);
    op->has_arrived = TRUE;
    if (!op->meeting->kind.is_met(op->meeting->kind.context, &begin_us)) return FALSE;
    op->meeting->kind.finish(op->meeting->kind.context, op->member);
    run_work(stream, &op->work, fmax(begin_us, ready_us));
    return TRUE;
  }
}

static void op_free(Op *op) {
  if (op->meeting && --op->meeting->n_left == 0) {
    if (op->meeting->kind.free) op->meeting->kind.free(op->meeting->kind.context);
    g_free(op->meeting);
  }
  g_free(op);
}

/* Runs all that can run. */
static void settle(void) {
  gboolean moved = TRUE;
  while (moved) {
    moved = FALSE;
    for (guint s = 0; streams && s < streams->len; s++) {
      FakeStream *stream = streams->pdata[s];
      Op *op;
      while ((op = g_queue_peek_head(&stream->pending)) && run_op(stream, op)) {
        op_free(g_queue_pop_head(&stream->pending));
        moved = TRUE;
      }
    }
  }
}

static void append(FakeStream *stream, const Op *op) {
  if (op->kind == RECORD) op->event->is_recorded = TRUE, op->event->is_known = FALSE;
  if (op->kind != MEET && !stream->pending.length && run_op(stream, (Op *)op)) return;
  g_queue_push_tail(&stream->pending, g_memdup2(op, sizeof *op));
  settle();
}

static void append_node(FakeGraph *graph, FakeStream *stream, const Node *node) {
  Node kept = *node;
  kept.stream = stream == graph->origin ? NULL : stream;
  g_array_append_val(graph->nodes, kept);
}

static double post_time(void) { return now_us + FAKE_REACH_US; }

FakeStream *fake_stream_new(int device) {
  FakeStream *stream = g_new0(FakeStream, 1);
  stream->device = device;
  g_queue_init(&stream->pending);
  if (!streams) streams = g_ptr_array_new();
  g_ptr_array_add(streams, stream);
  return stream;
}

void fake_stream_free(FakeStream *stream) {
  Op *op;
  while ((op = g_queue_pop_head(&stream->pending))) op_free(op);
  g_ptr_array_remove(streams, stream);
  g_free(stream);
}

int fake_stream_device(const FakeStream *stream) { return stream->device; }

gboolean fake_post(FakeStream *stream, const FakeWork *work) {
  static gint64 n_launched;
  const Op op = {.kind = WORK, .work = *work, .posted_us = post_time(), .gap_us = FAKE_GAP_US};
  if (++n_launched == fake_faults()->launch) return FALSE;
  if (stream->capture)
    append_node(stream->capture, stream, &(Node){.op = op});
  else
    append(stream, &op);
  return TRUE;
}

FakeMeeting *fake_meeting_new(const FakeMeetingKind *kind, int n_members) {
  FakeMeeting *meeting = g_new(FakeMeeting, 1);
  *meeting = (FakeMeeting){*kind, n_members};
  return meeting;
}

void fake_post_meeting(FakeStream *stream, const FakeWork *work, FakeMeeting *meeting, int member) {
  append(stream, &(Op){.kind = MEET,
                       .work = *work,
                       .meeting = meeting,
                       .member = member,
                       .posted_us = post_time(),
                       .gap_us = FAKE_GAP_US});
}

void fake_capture_meeting(FakeStream *stream, const FakeWork *work, FakeMeetingMake make,
                          gpointer user) {
  const Node node = {
      .op = {.kind = MEET, .work = *work, .gap_us = FAKE_GAP_US}, .make = make, .user = user};
  append_node(stream->capture, stream, &node);
}

/* --- Graphs --- */

gboolean fake_stream_is_capturing(const FakeStream *stream) { return stream->capture != NULL; }

void fake_stream_begin_capture(FakeStream *stream) {
  FakeGraph *graph = g_new0(FakeGraph, 1);
  graph->nodes = g_array_new(FALSE, TRUE, sizeof(Node));
  graph->origin = stream;
  stream->capture = graph;
}

void fake_stream_spoil_capture(FakeStream *stream) {
  if (stream->capture) stream->capture->is_spoiled = TRUE;
}

FakeGraph *fake_stream_end_capture(FakeStream *stream) {
  FakeGraph *graph = stream->capture;
  for (guint s = 0; s < streams->len; s++) {
    FakeStream *other = streams->pdata[s];
    if (other->capture == graph) other->capture = NULL;
  }
  if (!graph->is_spoiled && !fake_faults()->capture) return graph;
  fake_graph_free(graph);
  return NULL;
}

FakeGraph *fake_graph_copy(const FakeGraph *graph) {
  FakeGraph *copy = g_memdup2(graph, sizeof *graph);
  copy->nodes = g_array_copy(graph->nodes);
  for (guint i = 0; i < copy->nodes->len; i++) {
    const Node *node = &g_array_index(copy->nodes, Node, i);
    if (node->user) g_rc_box_acquire(node->user);
  }
  return copy;
}

void fake_graph_free(FakeGraph *graph) {
  if (!graph) return;
  for (guint i = 0; i < graph->nodes->len; i++)
    g_clear_pointer(&g_array_index(graph->nodes, Node, i).user, g_rc_box_release);
  g_array_unref(graph->nodes);
  g_free(graph);
}

void fake_graph_launch(const FakeGraph *graph, FakeStream *stream) {
  const double at_us = post_time();
  for (guint i = 0; i < graph->nodes->len; i++) {
    const Node *node = &g_array_index(graph->nodes, Node, i);
    Op op = node->op;
    op.posted_us = at_us;
    if (op.kind == MEET) op.meeting = node->make(node->user);
    append(node->stream ? node->stream : stream, &op);
  }
}

/* --- Waiting --- */

gboolean fake_stream_is_done(FakeStream *stream) {
  settle();
  now_us += 0.3;
  if (stream->pending.length) {
    wait_for_others();
    return FALSE;
  }
  if (stream->end_us <= now_us) return TRUE;
  now_us = fmin(stream->end_us, now_us + 20);
  return FALSE;
}

void fake_stream_wait(FakeStream *stream) {
  for (settle(); stream->pending.length; settle()) wait_for_others();
  now_us = fmax(now_us, stream->end_us) + 1;
}

void fake_device_wait(int device) {
  for (guint s = 0; streams && s < streams->len; s++) {
    FakeStream *stream = streams->pdata[s];
    if (stream->device == device) fake_stream_wait(stream);
  }
}

/* --- Events --- */

FakeEvent *fake_event_new(void) { return g_new0(FakeEvent, 1); }

void fake_event_free(FakeEvent *event) {
  settle();
  g_free(event);
}

void fake_event_record(FakeEvent *event, FakeStream *stream) {
  const Op op = {.kind = RECORD, .event = event, .posted_us = post_time()};
  event->captured = stream->capture;
  if (stream->capture)
    append_node(stream->capture, stream, &(Node){.op = op});
  else
    append(stream, &op);
}

void fake_event_await(FakeEvent *event, FakeStream *stream) {
  const Op op = {.kind = AWAIT, .event = event, .posted_us = post_time()};
  if (event->captured) stream->capture = event->captured; /* it joins the capture */
  if (stream->capture)
    append_node(stream->capture, stream, &(Node){.op = op});
  else
    append(stream, &op);
}

gboolean fake_event_us(FakeEvent *event, double *ret_us) {
  settle();
  *ret_us = event->us;
  return event->is_known && event->us <= now_us;
}

gboolean fake_event_is_reached(FakeEvent *event) {
  double us;
  now_us += 0.3;
  return fake_event_us(event, &us);
}

void fake_event_wait(FakeEvent *event) {
  for (settle(); !event->is_known && event->is_recorded; settle()) wait_for_others();
  now_us = fmax(now_us, event->us) + 1;
}

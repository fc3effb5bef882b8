/*
 * Programs with no engine: what is built can be looked at and printed; what is wrong is refused by
 * seal; folding keeps the one link of a class that can bind.
 */
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/engine/program.h"
#include "tests/engine/program_text.h"

#define USES(...) ((const OrrLinkUse[]){__VA_ARGS__})
#define PATH(program, ...)                                                                         \
  orr_program_path(program, USES(__VA_ARGS__), sizeof USES(__VA_ARGS__) / sizeof(OrrLinkUse))

static void seal(OrrProgram *program) {
  g_autoptr(GError) error = NULL;
  g_assert_true(orr_program_seal(program, &error));
  g_assert_no_error(error);
}

/* A comm of one member that sends @bytes over @path, joined by @stream. */
static void send(OrrProgram *program, guint32 stream, guint32 path, double bytes) {
  const OrrPhase phase = {1e-6, bytes, path};
  guint32 comm = orr_program_comm(program, 1, &phase, 1);
  orr_program_join(program, stream, comm, orr_program_label(program, "send", "comm"), -1);
}

static guint32 add_stream(OrrProgram *program) {
  return orr_program_stream(program, orr_program_lane(program, "rank", 1), "comm");
}

/* Adds a comm that sends @bytes over @path. Returns where its phases begin, counted from the first
 * comm's. */
static gint place_of(OrrProgram *program, guint32 path, double bytes) {
  const OrrPhase phases[] = {{1e-6, bytes, path}, {2e-6, 0, ORR_NO_PATH}};
  guint n;
  const guint32 comm = orr_program_comm(program, 1, phases, 2);
  const OrrPhase *kept = orr_program_phases(program, comm, &n);
  g_assert_cmpuint(n, ==, 2);
  g_assert_cmpfloat(kept->bytes, ==, bytes);
  return (gint)(kept - orr_program_phases(program, 0, &n));
}

/* Equal comms share their phases, also where others come between them; a comm that differs in
 * bytes or path has its own. */
static void shared_phases(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  orr_program_link(program, "up", 1e9);
  const guint32 a = PATH(program, {0, 1}), b = PATH(program, {0, 2});
  g_assert_cmpint(place_of(program, a, 1e6), ==, 0);
  g_assert_cmpint(place_of(program, b, 1e6), ==, 2);
  g_assert_cmpint(place_of(program, a, 1e6), ==, 0);
  g_assert_cmpint(place_of(program, a, 2e6), ==, 4);
  g_assert_cmpint(place_of(program, a, 2e6), ==, 4);
  g_assert_cmpint(place_of(program, b, 1e6), ==, 2);
}

static void text(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  orr_program_link(program, "up", 1e9);
  orr_program_link(program, "down", 2e9);
  guint32 lane = orr_program_lane(program, "stage 0", 8);
  guint32 compute = orr_program_stream(program, lane, "compute"),
          comm = orr_program_stream(program, lane, "nccl");
  guint32 event = orr_program_event(program);
  guint32 path = PATH(program, {0, 2}, {1, 1});
  const OrrPhase phases[] = {{1e-6, 1e6, path}, {2e-6, 0, ORR_NO_PATH}};
  guint32 reduce = orr_program_comm(program, 1, phases, 2);
  orr_program_work(program, compute, 0.5, orr_program_label(program, "gemm", "compute"), 3);
  orr_program_record(program, compute, event);
  orr_program_wait(program, comm, event);
  orr_program_join(program, comm, reduce, orr_program_label(program, "all-reduce", "dp"), -1);
  orr_program_fault(program, 4, 1, 0.5);
  seal(program);
  g_autofree char *written = program_text(program);
  /* The link with the fault is kept whatever it is; the other one stands for itself. */
  g_assert_cmpstr(written, ==,
                  "link 0 \"up\" 1e+09 B/s, stands for 1\n"
                  "link 1 \"down\" 2e+09 B/s, stands for 1, kept\n"
                  "fault at 4 s: link 1 x 0.5\n"
                  "path 0: 2*0 1*1\n"
                  "comm 0 of 1: 1e-06 s + 1e+06 B on path 0, 2e-06 s\n"
                  "stream 0 \"stage 0/compute\" x 8\n"
                  "  work 0.5 s \"gemm\" #3\n"
                  "  record 0\n"
                  "stream 1 \"stage 0/nccl\" x 8\n"
                  "  wait 0\n"
                  "  comm 0 \"all-reduce\"\n");
}

/* One layer, written out or in a loop. */
static void add_layer(OrrProgram *program, guint32 stream, guint32 path) {
  const OrrPhase phase = {1e-6, 1e6, path};
  const guint32 label = orr_program_label(program, "gather", "tp");
  orr_program_work(program, stream, 0.5, orr_program_label(program, "gemm", "compute"), -1);
  orr_program_join(program, stream, orr_program_comm(program, 1, &phase, 1), label, -1);
  orr_program_beside(program, stream, orr_program_comm(program, 1, &phase, 1), label, -1);
  orr_program_meet(program, stream);
}

static char *text_of_layers(gint64 n, gboolean is_loop) {
  g_autoptr(OrrProgram) program = orr_program_new();
  const guint32 lane = orr_program_lane(program, "rank", 1);
  const guint32 stream = orr_program_stream(program, lane, "compute");
  orr_program_link(program, "up", 1e9);
  const guint32 path = PATH(program, {0, 1});
  orr_program_begin_routine(program, stream, orr_program_stream(program, lane, "helper"));
  add_layer(program, stream, path); /* before the loop */
  if (is_loop) orr_program_begin_loop(program, stream);
  for (gint64 i = 0; i < (is_loop ? MIN(n, 1) : n); i++) add_layer(program, stream, path);
  if (is_loop) orr_program_end_loop(program, stream, n);
  add_layer(program, stream, path);
  orr_program_call(program, stream, orr_program_end_routine(program, stream), 0, 4);
  seal(program);
  return program_text(program);
}

/* A loop is what its ops are when they are written out: comms of their own, in the same order. */
static void loops(void) {
  for (gint64 n = 0; n < 4; n++) {
    g_autofree char *looped = text_of_layers(n, TRUE), *written = text_of_layers(n, FALSE);
    g_assert_cmpstr(looped, ==, written);
  }
}

static void looking(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  guint32 lane = orr_program_lane(program, "rank", 3);
  guint32 stream = orr_program_stream(program, lane, "compute");
  guint32 gemm = orr_program_label(program, "gemm", "compute");
  g_assert_cmpuint(orr_program_label(program, "gemm", "compute"), ==, gemm);
  g_assert_cmpuint(orr_program_label(program, "gemm", "backward"), !=, gemm);
  orr_program_work(program, stream, 0.25, gemm, 5);
  guint n;
  const OrrOp *ops = orr_program_ops(program, stream, &n);
  g_assert_cmpuint(n, ==, 1);
  g_assert_cmpuint(ops[0].kind, ==, ORR_OP_WORK);
  g_assert_cmpfloat(ops[0].duration_s, ==, 0.25);
  g_assert_cmpint(ops[0].tag, ==, 5);
  g_assert_cmpuint(orr_program_n_ops(program), ==, 1);
  g_assert_cmpuint(orr_program_n_lanes(program), ==, 1);
  g_assert_cmpuint(orr_program_n_streams(program), ==, 1);
  g_assert_cmpuint(orr_program_multiplicity(program, lane), ==, 3);
  g_assert_cmpstr(orr_program_lane_name(program, lane), ==, "rank");
  g_assert_cmpstr(orr_program_stream_name(program, stream), ==, "compute");
  g_assert_cmpstr(orr_program_label_category(program, gemm), ==, "compute");
}

static void empty(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  seal(program);
  g_assert_true(orr_program_uncontended(program));
  g_assert_cmpuint(orr_program_n_kept_links(program), ==, 0);
  g_autofree char *written = program_text(program);
  g_assert_cmpstr(written, ==, "");
}

/* Folding */

static void assert_stands_for(const OrrProgram *program, const guint32 *expected, guint n) {
  guint n_kept = 0;
  for (guint32 i = 0; i < n; i++) {
    g_assert_cmpuint(orr_program_link_stands_for(program, i), ==, expected[i]);
    n_kept += expected[i] > 0;
  }
  g_assert_cmpuint(orr_program_n_kept_links(program), ==, n_kept);
}

/* Links 0, 1, 2 lie on both paths with equal weights: 1 has the least bandwidth and stands for
 * all three. Link 3 lies on the first path alone: it stays. Link 4 is on no path. Link 5 lies on
 * a path that nothing is sent over. */
static void equal_uses(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  const double bandwidths[] = {3, 2, 3, 1, 1, 1};
  for (guint i = 0; i < 6; i++) orr_program_link(program, "link", bandwidths[i]);
  guint32 stream = add_stream(program);
  send(program, stream, PATH(program, {0, 1}, {1, 1}, {2, 1}, {3, 1}), 10);
  send(program, stream, PATH(program, {2, 1}, {1, 1}, {0, 1}), 10);
  send(program, stream, PATH(program, {5, 1}), 0);
  seal(program);
  assert_stands_for(program, (guint32[]){0, 3, 0, 1, 0, 0}, 6);
}

/* Uses (2, 4) and (1, 2) are the same inequality: 2 a + 4 b <= 10 is a + 2 b <= 5, which implies
 * a + 2 b <= 6. Uses (1, 1) are another. (3, 6) with bandwidth 9 is a + 2 b <= 3: the one that
 * binds. */
static void proportional_uses(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  const double bandwidths[] = {10, 6, 1, 9};
  for (guint i = 0; i < 4; i++) orr_program_link(program, "link", bandwidths[i]);
  guint32 stream = add_stream(program);
  send(program, stream, PATH(program, {0, 2}, {1, 1}, {2, 1}, {3, 3}), 10);
  send(program, stream, PATH(program, {0, 4}, {1, 2}, {2, 1}, {3, 6}), 10);
  seal(program);
  assert_stands_for(program, (guint32[]){0, 0, 1, 3}, 4);
}

/* A link that may change is left alone, and stands for nobody else, even where it has the least
 * bandwidth. */
static void kept_links(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  for (guint i = 0; i < 4; i++) orr_program_link(program, "link", i == 0 ? 1 : 2);
  guint32 stream = add_stream(program);
  send(program, stream, PATH(program, {0, 1}, {1, 1}, {2, 1}, {3, 1}), 10);
  orr_program_fault(program, 1, 0, 2);
  orr_program_keep_link(program, 2);
  seal(program);
  assert_stands_for(program, (guint32[]){1, 2, 1, 0}, 4);
}

/* 200,000 links in 1,000 classes fold in a fraction of a second; a pairwise comparison would take
 * hours, which the test's time-out ends. */
static void many_links(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  const guint n_links = 200000, n_classes = 1000;
  for (guint i = 0; i < n_links; i++) orr_program_link(program, "link", 1e9 + i);
  guint32 stream = add_stream(program);
  g_autofree OrrLinkUse *uses = g_new(OrrLinkUse, n_links);
  for (guint class_ = 0; class_ < n_classes; class_++) {
    guint n = 0;
    for (guint i = class_; i < n_links; i += n_classes) uses[n++] = (OrrLinkUse){i, 1 + i % 7};
    send(program, stream, orr_program_path(program, uses, n), 1);
    send(program, stream, orr_program_path(program, uses, n), 1);
  }
  seal(program);
  g_assert_cmpuint(orr_program_n_kept_links(program), ==, n_classes);
  guint64 stands_for = 0;
  for (guint32 i = 0; i < n_links; i++) stands_for += orr_program_link_stands_for(program, i);
  g_assert_cmpuint(stands_for, ==, n_links);
}

/* Contention */

static void uncontended(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  for (guint i = 0; i < 3; i++) orr_program_link(program, "link", 1);
  guint32 a = add_stream(program), b = add_stream(program);
  guint32 first = PATH(program, {0, 1}, {1, 1}), second = PATH(program, {0, 1});
  send(program, a, first,
       10); /* one after the other on one stream: links 0 and 1 are never shared */
  send(program, a, second, 10);
  send(program, b, PATH(program, {2, 1}), 10);
  const OrrPhase phase = {0, 10, second};
  guint32 comm = orr_program_comm(program, 2, &phase,
                                  1); /* of both streams, but after what a does on its link */
  orr_program_join(program, b, comm, orr_program_label(program, "pair", "comm"), -1);
  orr_program_join(program, a, comm, orr_program_label(program, "pair", "comm"), -1);
  seal(program);
  g_assert_true(orr_program_uncontended(program));
}

static void contended(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  orr_program_link(program, "link", 1);
  guint32 path = PATH(program, {0, 1});
  send(program, add_stream(program), path, 10);
  send(program, add_stream(program), path, 10);
  seal(program);
  g_assert_false(orr_program_uncontended(program));
}

/* Refusals: one wrong thing each, in a program that is fine without it. */

typedef struct {
  const char *name;
  const char *expected; /* in the message */
  void (*spoil)(OrrProgram *program, guint32 stream);
} Refusal;

static void missing_member(OrrProgram *program, guint32 stream) {
  orr_program_join(program, stream, orr_program_comm(program, 2, NULL, 0), 0, -1);
}
static void unrecorded_event(OrrProgram *program, guint32 stream) {
  orr_program_wait(program, stream, orr_program_event(program));
}
static void twice_recorded(OrrProgram *program, guint32 stream) {
  guint32 event = orr_program_event(program);
  orr_program_record(program, stream, event);
  orr_program_record(program, stream, event);
}
static void endless_work(OrrProgram *program, guint32 stream) {
  orr_program_work(program, stream, INFINITY, 0, -1);
}
static void negative_work(OrrProgram *program, guint32 stream) {
  orr_program_work(program, stream, -1, 0, -1);
}
static void no_such_label(OrrProgram *program, guint32 stream) {
  orr_program_work(program, stream, 1, 99, -1);
}
static void no_such_event(OrrProgram *program, guint32 stream) {
  orr_program_wait(program, stream, 99);
}
static void no_such_comm(OrrProgram *program, guint32 stream) {
  orr_program_join(program, stream, 99, 0, -1);
}
static void no_such_stream(OrrProgram *program, guint32 stream) {
  orr_program_work(program, stream + 9, 1, 0, -1);
}
static void no_such_path(OrrProgram *program, guint32 stream) { send(program, stream, 99, 1); }
static void nan_bytes(OrrProgram *program, guint32 stream) { send(program, stream, 0, NAN); }
static void no_bandwidth(OrrProgram *program, guint32 stream) {
  (void)stream;
  orr_program_link(program, "zero", 0);
}
static void link_twice(OrrProgram *program, guint32 stream) {
  (void)stream;
  PATH(program, {0, 1}, {0, 2});
}
static void no_weight(OrrProgram *program, guint32 stream) {
  (void)stream;
  PATH(program, {0, 0});
}
static void no_such_link(OrrProgram *program, guint32 stream) {
  (void)stream;
  PATH(program, {99, 1});
}
static void fault_of_nothing(OrrProgram *program, guint32 stream) {
  (void)stream;
  orr_program_fault(program, 1, 99, 0);
}
static void no_such_lane(OrrProgram *program, guint32 stream) {
  (void)stream;
  orr_program_stream(program, 99, "lost");
}

/* A routine of @ops on @stream; called by the stream @caller. */
static void add_routine(OrrProgram *program, guint32 stream, guint32 caller, const OrrOp *ops,
                        guint n) {
  orr_program_begin_routine(program, stream, stream + 1);
  for (guint i = 0; i < n; i++) {
    if (ops[i].kind == ORR_OP_COMM) orr_program_join(program, stream, ops[i].target, 0, -1);
    if (ops[i].kind == ORR_OP_BESIDE) orr_program_beside(program, stream, ops[i].target, 0, -1);
    if (ops[i].kind == ORR_OP_MEET) orr_program_meet(program, stream);
    if (ops[i].kind == ORR_OP_WAIT) orr_program_wait(program, stream, ops[i].target);
  }
  orr_program_call(program, caller, orr_program_end_routine(program, stream), 0, -1);
}
static void waiting_routine(OrrProgram *program, guint32 stream) {
  add_routine(program, stream, stream,
              &(OrrOp){.kind = ORR_OP_WAIT, .target = orr_program_event(program)}, 1);
}
static void joint_routine(OrrProgram *program, guint32 stream) {
  add_routine(program, stream, stream,
              &(OrrOp){.kind = ORR_OP_COMM, .target = orr_program_comm(program, 2, NULL, 0)}, 1);
}
static void twice_joined(OrrProgram *program, guint32 stream) {
  const OrrOp join = {.kind = ORR_OP_COMM, .target = orr_program_comm(program, 1, NULL, 0)};
  add_routine(program, stream, stream, (const OrrOp[]){join, join}, 2);
}
static void other_caller(OrrProgram *program, guint32 stream) {
  const guint32 other = orr_program_stream(program, 0, "other");
  add_routine(program, stream, other,
              &(OrrOp){.kind = ORR_OP_COMM, .target = orr_program_comm(program, 1, NULL, 0)}, 1);
}
static void no_such_routine(OrrProgram *program, guint32 stream) {
  orr_program_call(program, stream, 99, 0, -1);
}
static void open_routine(OrrProgram *program, guint32 stream) {
  orr_program_begin_routine(program, stream, 99);
}
static void loop_outside(OrrProgram *program, guint32 stream) {
  orr_program_begin_loop(program, stream);
}
static void loop_of_nothing(OrrProgram *program, guint32 stream) {
  orr_program_end_loop(program, stream, 2);
}
static void nothing_to_meet(OrrProgram *program, guint32 stream) {
  add_routine(program, stream, stream, &(OrrOp){.kind = ORR_OP_MEET}, 1);
}
static void never_met(OrrProgram *program, guint32 stream) {
  orr_program_stream(program, 0, "helper");
  add_routine(program, stream, stream,
              &(OrrOp){.kind = ORR_OP_BESIDE, .target = orr_program_comm(program, 1, NULL, 0)}, 1);
}
static void busy_helper(OrrProgram *program, guint32 stream) {
  const guint32 helper = orr_program_stream(program, 0, "helper");
  const OrrOp ops[] = {{.kind = ORR_OP_BESIDE, .target = orr_program_comm(program, 1, NULL, 0)},
                       {.kind = ORR_OP_MEET}};
  orr_program_work(program, helper, 1, 0, -1);
  add_routine(program, stream, stream, ops, 2);
}

static const Refusal refusals[] = {
    {"waiting-routine", "routine 0 has an op of kind", waiting_routine},
    {"joint-routine", "has not one member", joint_routine},
    {"twice-joined", "2 joins and 1 members", twice_joined},
    {"other-caller", "is called by stream 1", other_caller},
    {"no-such-routine", "target 99", no_such_routine},
    {"open-routine", "was begun and not ended", open_routine},
    {"loop-outside", "does not exist", loop_outside},
    {"loop-of-nothing", "does not exist", loop_of_nothing},
    {"nothing-to-meet", "meets a comm that it did not begin", nothing_to_meet},
    {"never-met", "ends before a comm", never_met},
    {"busy-helper", "is helped by stream 1", busy_helper},
    {"missing-member", "1 joins and 2 members", missing_member},
    {"unrecorded-event", "recorded 0 times", unrecorded_event},
    {"twice-recorded", "recorded 2 times", twice_recorded},
    {"endless-work", "rank/comm, op 1", endless_work},
    {"negative-work", "rank/comm, op 1", negative_work},
    {"no-such-label", "label 99", no_such_label},
    {"no-such-event", "target 99", no_such_event},
    {"no-such-comm", "target 99", no_such_comm},
    {"no-such-stream", "does not exist", no_such_stream},
    {"no-such-path", "path 99", no_such_path},
    {"nan-bytes", "nan bytes", nan_bytes},
    {"no-bandwidth", "link zero", no_bandwidth},
    {"link-twice", "twice", link_twice},
    {"no-weight", "weight 0", no_weight},
    {"no-such-link", "link 99 of 1", no_such_link},
    {"fault-of-nothing", "link 99 of 1", fault_of_nothing},
    {"no-such-lane", "lane 99", no_such_lane},
};

static void refused(gconstpointer data) {
  const Refusal *refusal = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = orr_program_new();
  orr_program_link(program, "link", 1);
  guint32 stream = add_stream(program);
  send(program, stream, PATH(program, {0, 1}), 10);
  refusal->spoil(program, stream);
  g_assert_false(orr_program_seal(program, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
  if (strstr(error->message, refusal->expected) == NULL)
    g_error("\"%s\" does not say \"%s\"", error->message, refusal->expected);
}

static void sealed_twice(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) program = orr_program_new();
  seal(program);
  g_assert_false(orr_program_seal(program, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
}

static char *number_name(gconstpointer prefix, guint32 number) {
  return g_strdup_printf("%s%u", (const char *)prefix, number);
}

/* A link is named when its name is asked for, or before its namer is freed. */
static void names_on_demand(void) {
  g_autoptr(OrrProgram) program = orr_program_new();
  g_autofree char *prefix = g_strdup("port");
  orr_program_link_named_by(program, number_name, prefix, 17, 1e9);
  orr_program_link(program, "own", 1e9);
  orr_program_link_named_by(program, number_name, prefix, 4, 1e9);
  g_assert_cmpstr(orr_program_link_name(program, 0), ==, "port17");
  *prefix = 'P';
  g_assert_cmpstr(orr_program_link_name(program, 0), ==, "port17");
  orr_program_name_links(program);
  *prefix = 'x';
  g_assert_cmpstr(orr_program_link_name(program, 1), ==, "own");
  g_assert_cmpstr(orr_program_link_name(program, 2), ==, "Port4");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/program/text", text);
  g_test_add_func("/program/shared-phases", shared_phases);
  g_test_add_func("/program/loops", loops);
  g_test_add_func("/program/looking", looking);
  g_test_add_func("/program/empty", empty);
  g_test_add_func("/program/fold/equal-uses", equal_uses);
  g_test_add_func("/program/fold/proportional-uses", proportional_uses);
  g_test_add_func("/program/fold/kept-links", kept_links);
  g_test_add_func("/program/fold/many-links", many_links);
  g_test_add_func("/program/uncontended", uncontended);
  g_test_add_func("/program/contended", contended);
  g_test_add_func("/program/sealed-twice", sealed_twice);
  for (guint i = 0; i < G_N_ELEMENTS(refusals); i++) {
    g_autofree char *path = g_strdup_printf("/program/refused/%s", refusals[i].name);
    g_test_add_data_func(path, &refusals[i], refused);
  }
  g_test_add_func("/program/names-on-demand", names_on_demand);
  return g_test_run();
}

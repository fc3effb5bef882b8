/*
 * test_executor_reroute.c - communications that take other ways from a date on, lanes that are
 * lost, and the share of work that a slow lane slows; on both engines, each run in a child.
 */
#include <string.h>

#include "sim/base/fault.h"
#include "sim/engine/executor.h"
#include "tests/engine/forked.h"

#define G 1e9

/* Two ranks; link 0 of 1 GB/s, link 1 of 2 GB/s; rank r's stream is r. */
typedef struct {
  OrrProgram *program;
  guint32 streams[2], paths[2], label;
} Fixture;

static Fixture fixture(void) {
  Fixture f = {.program = orr_program_new()};
  for (guint i = 0; i < 2; i++) {
    const OrrLinkUse use = {orr_program_link(f.program, i ? "second" : "first", (1 + i) * G), 1};
    f.paths[i] = orr_program_path(f.program, &use, 1);
    f.streams[i] =
        orr_program_stream(f.program, orr_program_lane(f.program, i ? "b" : "a", 1), "compute");
  }
  f.label = orr_program_label(f.program, "send", "comm");
  return f;
}

static guint32 send(Fixture *f, guint rank, double bytes, guint path) {
  const OrrPhase phase = {0, bytes, f->paths[path]};
  const guint32 comm = orr_program_comm(f->program, 1, &phase, 1);
  orr_program_join(f->program, f->streams[rank], comm, f->label, -1);
  return comm;
}

typedef struct {
  double end_s[2], link_bytes[2];
  guint n_spans;
} Ends;

static void note_end(const OrrSpan *span, void *user) {
  Ends *ends = user;
  ends->end_s[span->stream] = span->end_s;
  ends->n_spans++;
}

static Ends replay(Fixture *f, OrrEngineKind kind, gboolean fine) {
  g_autoptr(GError) error = NULL;
  Ends ends = {{0}, {0}, 0};
  g_assert_true(orr_program_seal(f->program, &error));
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, &error);
  g_assert_no_error(error);
  g_assert_true(
      orr_executor_run(f->program, engine, note_end, &ends, ends.link_bytes, NULL, &error) == fine);
  if (fine)
    g_assert_no_error(error);
  else
    g_assert_error(error, ORR_FAULT, ORR_FAULT_STUCK);
  orr_program_free(f->program);
  return ends;
}

static void close_to(double a, double b) { g_assert_cmpfloat_with_epsilon(a, b, 1e-9); }

/* 10 GB over 1 GB/s, which dies at 4; at 6 the 6 GB that are left go on over 2 GB/s: 3 s more.
 * Of the bytes 4 G were the first link's, 6 G the second's. */
static void in_flight(gconstpointer kind) {
  Fixture f = fixture();
  const guint32 comm = send(&f, 0, 10 * G, 0);
  const OrrPhase other = {0, 10 * G, f.paths[1]};
  orr_program_fault(f.program, 4, 0, 0);
  orr_program_epoch(f.program, 6);
  orr_program_reroute(f.program, comm, &other, 1);
  const Ends ends = replay(&f, *(const OrrEngineKind *)kind, TRUE);
  close_to(ends.end_s[0], 9);
  close_to(ends.link_bytes[0] / G, 4);
  close_to(ends.link_bytes[1] / G, 6);
}

/* The other way moves half as many bytes a flow (two flows of a collective became one): of 10 GB
 * 4 are done by 4, so that 0.6 of 5 GB are left, 1.5 s at 2 GB/s. */
static void another_size(gconstpointer kind) {
  Fixture f = fixture();
  const guint32 comm = send(&f, 0, 10 * G, 0);
  const OrrPhase other = {0, 5 * G, f.paths[1]};
  orr_program_epoch(f.program, 4);
  orr_program_reroute(f.program, comm, &other, 1);
  close_to(replay(&f, *(const OrrEngineKind *)kind, TRUE).end_s[0], 5.5);
}

/* Three of 2 GB one after another over the first link, rerouted in [3, 5): the first ends at 2;
 * the second has sent 1 GB by 3, the other takes 0.5 s; the third starts at 3.5 on the second
 * link, has sent 2 GB by 4.5 and is over. Back on the first link at 5, which a fourth feels:
 * from 4.5 to 5 it sends 1 GB, the other at 1 GB/s: 6. */
static void back_again(gconstpointer kind) {
  Fixture f = fixture();
  guint32 comms[4];
  for (guint i = 0; i < 4; i++) comms[i] = send(&f, 0, 2 * G, 0);
  const OrrPhase other = {0, 2 * G, f.paths[1]};
  orr_program_epoch(f.program, 3);
  for (guint i = 0; i < 4; i++) orr_program_reroute(f.program, comms[i], &other, 1);
  orr_program_epoch(f.program, 5);
  close_to(replay(&f, *(const OrrEngineKind *)kind, TRUE).end_s[0], 6);
}

/* A transfer that ends at the date itself is not moved; one that has another shape there keeps
 * its way. */
static void at_its_end(gconstpointer kind) {
  Fixture f = fixture();
  const guint32 comm = send(&f, 0, 3 * G, 0), second = send(&f, 1, 8 * G, 1);
  const OrrPhase other = {0, 3 * G, f.paths[1]}, none = {1, 0, ORR_NO_PATH};
  orr_program_epoch(f.program, 3);
  orr_program_reroute(f.program, comm, &other, 1);
  orr_program_reroute(f.program, second, &none, 1);
  const Ends ends = replay(&f, *(const OrrEngineKind *)kind, TRUE);
  close_to(ends.end_s[0], 3);
  close_to(ends.end_s[1], 4);
}

/* Both share the first link until lane a is lost at 2: 1 GB each by then; b's other 3 GB have it
 * alone, 5. a's second transfer is never begun, and no span of it is reported. */
static void lost(gconstpointer kind) {
  Fixture f = fixture();
  send(&f, 0, 4 * G, 0);
  send(&f, 0, 4 * G, 0);
  send(&f, 1, 4 * G, 0);
  orr_program_lose_lane(f.program, 2, 0);
  const Ends ends = replay(&f, *(const OrrEngineKind *)kind, TRUE);
  if (*(const OrrEngineKind *)kind == ORR_ENGINE_SIMGRID) close_to(ends.end_s[1], 5);
  g_assert_cmpuint(ends.n_spans, ==, 1);
}

/* 4 s of work, 3 of them kernels, on a lane that is twice as slow from 2 on: 2 s done by 2, the
 * other 2 at 1/4 + 3/4 * 2 = 1.75: 5.5. All of it kernels: 6. */
static void slow_share(gconstpointer kind) {
  for (guint all = 0; all < 2; all++) {
    Fixture f = fixture();
    const guint32 layer = orr_program_label(f.program, "layer", "compute");
    orr_program_work(f.program, f.streams[0], 4, layer, -1);
    orr_program_slow_lane(f.program, 2, 0, 2);
    if (!all) orr_program_slow_share(f.program, layer, 0.75);
    close_to(replay(&f,
                    *(const OrrEngineKind *)kind == ORR_ENGINE_SIMGRID && all
                        ? ORR_ENGINE_IDEAL
                        : *(const OrrEngineKind *)kind,
                    TRUE)
                 .end_s[0],
             all ? 6 : 5.5);
  }
}

/* Nothing leads away: the engine says which link, the executor who waits. */
static void no_way(gconstpointer kind) {
  Fixture f = fixture();
  send(&f, 0, 4 * G, 0);
  orr_program_fault(f.program, 2, 0, 0);
  g_assert_cmpuint(replay(&f, *(const OrrEngineKind *)kind, FALSE).n_spans, ==, 0);
}

static void refuse(void (*break_it)(Fixture *f), const char *wanted) {
  g_autoptr(GError) error = NULL;
  Fixture f = fixture();
  send(&f, 0, G, 0);
  break_it(&f);
  g_assert_false(orr_program_seal(f.program, &error));
  g_assert_nonnull(strstr(error->message, wanted));
  orr_program_free(f.program);
}

static void before_epoch(Fixture *f) { orr_program_reroute(f->program, 0, NULL, 0); }

static void epochs_back(Fixture *f) {
  orr_program_epoch(f->program, 2);
  orr_program_epoch(f->program, 1);
}

static void no_comm(Fixture *f) {
  orr_program_epoch(f->program, 2);
  orr_program_reroute(f->program, 7, NULL, 0);
}

static void no_lane(Fixture *f) { orr_program_lose_lane(f->program, 1, 9); }

static void refusals(void) {
  refuse(before_epoch, "before the first epoch");
  refuse(epochs_back, "epoch 1 begins at 1 s");
  refuse(no_comm, "comm 7 of 1");
  refuse(no_lane, "lane 9 of 2");
}

typedef struct {
  const char *name;
  void (*body)(gconstpointer kind);
} Case;

static const Case cases[] = {{"in-flight", in_flight},
                             {"another-size", another_size},
                             {"back-again", back_again},
                             {"at-its-end", at_its_end},
                             {"lost", lost},
                             {"slow-share", slow_share},
                             {"no-way", no_way}};
static const OrrEngineKind simgrid = ORR_ENGINE_SIMGRID, lone = ORR_ENGINE_IDEAL;

static void on_simgrid(gconstpointer data) { forked(((const Case *)data)->body, &simgrid); }

static void on_ideal(gconstpointer data) { forked(((const Case *)data)->body, &lone); }

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = g_strdup_printf("/executor-reroute/simgrid/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i], on_simgrid);
    g_autofree char *ideal = g_strdup_printf("/executor-reroute/ideal/%s", cases[i].name);
    g_test_add_data_func(ideal, &cases[i], on_ideal);
  }
  g_test_add_func("/executor-reroute/refusals", refusals);
  return g_test_run();
}

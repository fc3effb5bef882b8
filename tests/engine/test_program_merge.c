/*
 * test_program_merge.c - programs side by side: what they share is links, and nothing else.
 */
#include <string.h>

#include "sim/engine/executor.h"
#include "sim/engine/program_merge.h"
#include "tests/engine/forked.h"

#define G 1e9

typedef struct {
  double end_s[2]; /* by stream: its last span's */
} Ends;

static void note_end(const OrrSpan *span, void *user) {
  Ends *ends = user;
  if (span->stream < 2) ends->end_s[span->stream] = span->end_s;
}

/* One rank that sends 4 GB over one link of 1 GB/s after @work_s of work. */
static OrrProgram *sender(double work_s) {
  OrrProgram *program = orr_program_new();
  const OrrLinkUse use = {orr_program_link(program, "up", G), 1};
  const guint32 stream =
      orr_program_stream(program, orr_program_lane(program, "rank", 1), "compute");
  const OrrPhase phase = {0, 4 * G, orr_program_path(program, &use, 1)};
  if (work_s > 0)
    orr_program_work(program, stream, work_s, orr_program_label(program, "gemm", "compute"), -1);
  orr_program_join(program, stream, orr_program_comm(program, 1, &phase, 1),
                   orr_program_label(program, "send", "comm"), -1);
  return program;
}

static Ends replay(OrrProgram *program) {
  g_autoptr(GError) error = NULL;
  Ends ends = {{0}};
  g_assert_true(orr_program_seal(program, &error));
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_SIMGRID, &error);
  g_assert_no_error(error);
  g_assert_true(orr_executor_run(program, engine, note_end, &ends, NULL, NULL, &error));
  g_assert_no_error(error);
  return ends;
}

static Ends replay_two(guint32 link_a, guint32 link_b, double start_b_s) {
  g_autoptr(OrrProgram) a = sender(0);
  g_autoptr(OrrProgram) b = sender(0);
  const OrrProgramPart parts[] = {{"a", a, &link_a, 0}, {"b", b, &link_b, start_b_s}};
  OrrProgramOffset offsets[2];
  g_autoptr(OrrProgram) merged = orr_program_merge(parts, 2, offsets);
  g_assert_cmpuint(orr_program_n_links(merged), ==, link_a == link_b ? 1 : 2);
  g_assert_cmpuint(offsets[1].first_stream, ==, 1);
  g_assert_cmpstr(orr_program_lane_name(merged, 1), ==, "b: rank");
  return replay(merged);
}

/* 4 GB each over one link of 1 GB/s: half of it each, both end at 8 s. */
static void equal_jobs_halve_a_link(void) {
  const Ends ends = replay_two(7, 7, 0);
  g_assert_cmpfloat_with_epsilon(ends.end_s[0], 8, 1e-9);
  g_assert_cmpfloat_with_epsilon(ends.end_s[1], 8, 1e-9);
}

/* Links of different numbers are different links, whatever their names. */
static void other_links_do_not_meet(void) {
  const Ends ends = replay_two(7, 8, 0);
  g_assert_cmpfloat_with_epsilon(ends.end_s[0], 4, 1e-9);
  g_assert_cmpfloat_with_epsilon(ends.end_s[1], 4, 1e-9);
}

/* b starts at 2, when a has sent 2 GB; both at 1/2 GB/s then: a's other 2 GB end at 6; b has
 * sent 2 GB by then, and the other 2 alone: 8. */
static void a_later_start(void) {
  const Ends ends = replay_two(7, 7, 2);
  g_assert_cmpfloat_with_epsilon(ends.end_s[0], 6, 1e-9);
  g_assert_cmpfloat_with_epsilon(ends.end_s[1], 8, 1e-9);
}

/* Of a sealed program and of an unsealed one alike. */
static void sealed_parts(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProgram) a = sender(1);
  const guint32 link = 0;
  g_assert_true(orr_program_seal(a, &error));
  const OrrProgramPart parts[] = {{"a", a, &link, 0}, {"again", a, &link, 0}};
  OrrProgramOffset offsets[2];
  g_autoptr(OrrProgram) merged = orr_program_merge(parts, 2, offsets);
  g_assert_cmpuint(offsets[1].first_label, ==, 2);
  g_assert_cmpstr(orr_program_label_name(merged, offsets[1].first_label), ==, "gemm");
  g_assert_cmpfloat_with_epsilon(replay(merged).end_s[1], 9, 1e-9);
}

/* 3 s of work from 0, twice as slow from 1 on: 1 + 2 * 2 = 5; then slowed again at 7 in the
 * middle of nothing, and the send of 4 GB takes its 4 s: 9. A second lane's slowdown does not
 * touch this one. */
static void slow_lane(void) {
  g_autoptr(OrrProgram) program = sender(3);
  orr_program_lane(program, "other", 1);
  orr_program_slow_lane(program, 7, 0, 5);
  orr_program_slow_lane(program, 1, 0, 2);
  orr_program_slow_lane(program, 0, 1, 100);
  g_assert_cmpfloat_with_epsilon(replay(program).end_s[0], 9, 1e-9);
}

/* Slow from the start, and well again at 4: 2 of the 3 s are done by then; the last one ends at
 * 5. */
static void slow_for_a_while(void) {
  g_autoptr(OrrProgram) program = sender(3);
  orr_program_slow_lane(program, 0, 0, 2);
  orr_program_slow_lane(program, 4, 0, 1);
  g_assert_cmpfloat_with_epsilon(replay(program).end_s[0], 5 + 4, 1e-9);
}

/* A program with every kind of op: a routine called twice (a comm of its own, work, a comm
 * beside work that it slows), and a comm on a second stream, between events, that slows later
 * work. Its numbers of things differ from sender()'s. */
static OrrProgram *busy(void) {
  OrrProgram *program = orr_program_new();
  const OrrLinkUse use = {orr_program_link(program, "up", G), 1};
  const guint32 lane = orr_program_lane(program, "rank", 1),
                path = orr_program_path(program, &use, 1);
  const guint32 stream = orr_program_stream(program, lane, "compute"),
                dp = orr_program_stream(program, lane, "dp");
  const guint32 helper = orr_program_stream(program, lane, "tp");
  const guint32 gemm = orr_program_label(program, "gemm", "compute"),
                send = orr_program_label(program, "send", "comm");
  const guint32 gather = orr_program_label(program, "gather", "comm"),
                layer = orr_program_label(program, "layer", "call");
  const guint32 ready = orr_program_event(program), sent = orr_program_event(program);
  const OrrPhase phase = {0.25, G, path};
  OrrInterference slowed = orr_interference_none();
  slowed.compute_by_comm = 1.5;
  orr_program_interfere(program, lane, &slowed);
  orr_program_begin_routine(program, stream, helper);
  orr_program_join(program, stream, orr_program_comm(program, 1, &phase, 1), send, -1);
  orr_program_beside(program, stream, orr_program_comm(program, 1, &phase, 1), gather, -1);
  orr_program_work(program, stream, 2, gemm, -1);
  orr_program_meet(program, stream);
  const guint32 routine = orr_program_end_routine(program, stream);
  for (gint32 tag = 0; tag < 2; tag++) orr_program_call(program, stream, routine, layer, tag);
  orr_program_record(program, stream, ready);
  orr_program_work(program, stream, 3, gemm, 7);
  orr_program_wait(program, stream, sent);
  orr_program_wait(program, dp, ready);
  orr_program_join(program, dp, orr_program_comm(program, 1, &phase, 1), gather, -1);
  orr_program_record(program, dp, sent);
  return program;
}

static void keep_span(const OrrSpan *span, void *user) { g_array_append_vals(user, span, 1); }

static GArray *spans_of(OrrProgram *program, gboolean briefly) {
  g_autoptr(GError) error = NULL;
  GArray *spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  g_assert_true(orr_program_seal(program, &error));
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_IDEAL, &error);
  g_assert_no_error(error);
  g_assert_true(briefly ? orr_executor_run_briefly(program, engine, NULL, keep_span, spans, NULL,
                                                   NULL, &error)
                        : orr_executor_run(program, engine, keep_span, spans, NULL, NULL, &error));
  return spans;
}

/* Whole spans are compared, all bytes of them, so that a member which merging forgets fails
 * here. */
static void spans_are_those_of_the_part_alone(void) {
  for (gboolean briefly = FALSE; briefly <= TRUE; briefly++) {
    g_autoptr(OrrProgram) first = sender(1), alone = busy();
    const guint32 links[] = {7, 8, 9};
    const OrrProgramPart parts[] = {
        {"a", first, &links[0], 0}, {"b", alone, &links[1], 0}, {"c", alone, &links[2], 0}};
    OrrProgramOffset offsets[3];
    g_autoptr(OrrProgram) merged = orr_program_merge(parts, 3, offsets);
    g_autoptr(GArray) expected = spans_of(alone, briefly), found = spans_of(merged, briefly);
    g_assert_cmpuint(expected->len, >=, briefly ? 3 : 8);
    for (guint part = 1; part < 3; part++) {
      const guint32 begin = offsets[part].first_stream, end = begin + orr_program_n_streams(alone);
      guint n = 0;
      for (guint i = 0; i < found->len; i++) {
        const OrrSpan *span = &g_array_index(found, OrrSpan, i);
        if (span->stream < begin || span->stream >= end) continue;
        const OrrSpan own = orr_program_part_span(span, &offsets[part]);
        g_assert_cmpmem(&own, sizeof own, &g_array_index(expected, OrrSpan, n++), sizeof own);
      }
      g_assert_cmpuint(n, ==, expected->len);
    }
  }
}

static void wrong_slowdowns(void) {
  static const struct {
    double at_s, factor;
    guint32 lane;
  } cases[] = {{-1, 2, 0}, {0, 0, 0}, {0, 2, 9}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrProgram) program = sender(1);
    orr_program_slow_lane(program, cases[i].at_s, cases[i].lane, cases[i].factor);
    g_assert_false(orr_program_seal(program, &error));
    g_assert_nonnull(strstr(error->message, "slowdown 0 is of lane"));
  }
}

static const struct {
  const char *path;
  void (*body)(void);
} cases[] = {
    {"/program-merge/equal-jobs-halve-a-link", equal_jobs_halve_a_link},
    {"/program-merge/other-links-do-not-meet", other_links_do_not_meet},
    {"/program-merge/a-later-start", a_later_start},
    {"/program-merge/sealed-parts", sealed_parts},
    {"/program-merge/spans-are-those-of-the-part-alone", spans_are_those_of_the_part_alone},
    {"/program-merge/slow-lane", slow_lane},
    {"/program-merge/slow-for-a-while", slow_for_a_while},
};

static void run_case(gconstpointer index) { cases[GPOINTER_TO_UINT(index)].body(); }

static void run_forked(gconstpointer index) { forked(run_case, index); }

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    g_test_add_data_func(cases[i].path, GUINT_TO_POINTER(i), run_forked);
  g_test_add_func("/program-merge/wrong-slowdowns", wrong_slowdowns);
  return g_test_run();
}

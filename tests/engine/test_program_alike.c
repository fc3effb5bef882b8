/*
 * test_program_alike.c - programs that replay alike are found whatever their links are called and
 * numbered; a program that differs in anything a replay sees is not one of them.
 */
#include <math.h>

#include "sim/engine/executor.h"

typedef enum {
  NOTHING,
  NAMES,
  MORE_LINKS, /* that no path uses */
  BANDWIDTH,
  WEIGHT,
  DURATION,
  LATENCY,
  BYTES,
  TAG,
  MULTIPLICITY,
  TARGET,
  FAULT,
  N_CHANGES
} Change;

enum { N_LINKS = 6, N_STREAMS = 3, N_ROUNDS = 4 };

/* Streams that each work and send, over some of the links, and one comm that all of them join. */
static OrrProgram *build(guint32 seed, Change change) {
  g_autoptr(GRand) random = g_rand_new_with_seed(seed);
  OrrProgram *program = orr_program_new();
  guint32 links[N_LINKS], paths[N_STREAMS], streams[N_STREAMS];
  for (guint i = 0; change == MORE_LINKS && i < 3; i++) orr_program_link(program, "spare", 1);
  for (guint i = 0; i < N_LINKS; i++)
    links[i] =
        orr_program_link(program, change == NAMES ? "other" : "link",
                         g_rand_int_range(random, 1, 9) * (change == BANDWIDTH && i == 0 ? 2 : 1));
  const guint32 label = orr_program_label(program, "l", "c");
  for (guint s = 0; s < N_STREAMS; s++) {
    OrrLinkUse uses[N_LINKS];
    for (guint i = 0; i < N_LINKS; i++)
      uses[i] = (OrrLinkUse){links[i], (guint32)g_rand_int_range(random, 1, 7)};
    if (change == WEIGHT && s == 1) uses[0].weight += 7;
    paths[s] = orr_program_path(program, uses, N_LINKS);
    const guint32 lane =
        orr_program_lane(program, "lane", change == MULTIPLICITY && s == 0 ? 3 : 2);
    streams[s] = orr_program_stream(program, lane, "stream");
  }
  for (guint r = 0; r < N_ROUNDS; r++) {
    const gboolean last = r + 1 == N_ROUNDS;
    for (guint s = 0; s < N_STREAMS; s++) {
      const double duration_s = g_rand_double(random);
      const OrrPhase phase = {change == LATENCY && last ? 0.5 : 0.25,
                              g_rand_int_range(random, 1, 50) + (change == BYTES && last),
                              paths[change == TARGET && last ? (s + 1) % N_STREAMS : s]};
      orr_program_work(program, streams[s], duration_s + (change == DURATION && last), label,
                       change == TAG && last ? 1 : -1);
      orr_program_join(program, streams[s], orr_program_comm(program, 1, &phase, 1), label, -1);
    }
    const OrrPhase all = {0.1, 10, paths[0]};
    const guint32 comm = orr_program_comm(program, N_STREAMS, &all, 1);
    for (guint s = 0; s < N_STREAMS; s++) orr_program_join(program, streams[s], comm, label, -1);
  }
  if (change == FAULT) orr_program_fault(program, 1, links[0], 0.5);
  g_autoptr(GError) error = NULL;
  orr_program_seal(program, &error);
  g_assert_no_error(error);
  return program;
}

static void keep_end(const OrrSpan *span, void *user) {
  *(double *)user = fmax(*(double *)user, span->end_s);
}

static double replay(const OrrProgram *program) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_FAIR, &error);
  double end_s = 0;
  OrrReplay ignored;
  orr_executor_run(program, engine, keep_end, &end_s, NULL, &ignored, &error);
  g_assert_no_error(error);
  return end_s;
}

static void test_alike(void) {
  for (guint32 seed = 1; seed <= 30; seed++) {
    g_autoptr(OrrProgram) plain = build(seed, NOTHING);
    for (Change change = NOTHING; change <= MORE_LINKS; change++) {
      g_autoptr(OrrProgram) other = build(seed, change);
      if (!orr_program_replay_alike(plain, other) ||
          orr_program_replay_hash(plain) != orr_program_replay_hash(other))
        g_error("seed %u, change %d: not alike", seed, change);
      g_assert_true(replay(plain) == replay(other));
    }
  }
}

static void test_different(void) {
  for (guint32 seed = 1; seed <= 30; seed++) {
    g_autoptr(OrrProgram) plain = build(seed, NOTHING);
    for (Change change = BANDWIDTH; change < N_CHANGES; change++) {
      g_autoptr(OrrProgram) other = build(seed, change);
      /* a link that is never the slowest is folded away, whatever its bandwidth and weight */
      const gboolean is_folded =
          (change == BANDWIDTH || change == WEIGHT) && replay(plain) == replay(other);
      if (!is_folded && orr_program_replay_alike(plain, other))
        g_error("seed %u, change %d: alike", seed, change);
    }
    g_autoptr(OrrProgram) another = build(seed + 1000, NOTHING);
    g_assert_false(orr_program_replay_alike(plain, another));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/program-alike/alike", test_alike);
  g_test_add_func("/program-alike/different", test_different);
  return g_test_run();
}

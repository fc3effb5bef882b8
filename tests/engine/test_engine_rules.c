/*
 * Both engines: order at equal times, empty work, transfers held for ever, wrong arguments, life
 * cycle.
 */
#include "sim/base/fault.h"
#include "sim/engine/engine_private.h"
#include "tests/engine/engine_fixture.h"

static void now_again(void *user) {
  seen(user);
  orr_engine_after(engine, 0, seen, &watches[5]);
}

/* Everything falls on 1 s; it comes in the order of submission, what is submitted at 1 s for 1 s
 * comes last. */
static void equal_times(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 3, (double[]){G, 3 * G, 7 * G});
  orr_engine_after(engine, 1, now_again, &watches[0]);
  send(1, 7 * G, USES({2, 1}));
  orr_engine_after(engine, 1, seen, &watches[2]);
  send(3, 3 * G, USES({1, 1}));
  send(4, 1 * G, USES({0, 1}));
  run();
  for (guint i = 0; i <= 5; i++) {
    g_assert_cmpuint(watches[i].order, ==, i + 1);
    g_assert_cmpfloat(watches[i].at_s, ==, 1);
  }
  close_engine();
}

/* 0.1 added three times is not 0.3: a rounding apart is the same time, and the order is still the
 * order of submission. */
static void after_a_rounding(void *user) { orr_engine_after(engine, 0.1, seen, user); }

static void two_tenths(void *user) { orr_engine_after(engine, 0.1, after_a_rounding, user); }

static void equal_but_for_rounding(gconstpointer data) {
  g_assert_cmpfloat(0.1 + 0.1 + 0.1, !=, 0.3);
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){0.7 * G});
  send(0, 0.7 * G * (0.1 + 0.1 + 0.1), USES({0, 1}));
  orr_engine_after(engine, 0.3, seen, &watches[1]);
  orr_engine_after(engine, 0.1, two_tenths, &watches[2]);
  run();
  for (guint i = 0; i < 3; i++) g_assert_cmpuint(watches[i].order, ==, i + 1);
  close_engine();
}

/* Nothing to send, or nothing to send it over: no time, but never within the call that submits. */
static void no_bytes_no_links(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){G});
  orr_engine_set_up(engine, 0, FALSE);
  send(0, 0, USES({0, 1}));
  orr_engine_transfer(engine, 5 * G, NULL, 0, seen, &watches[1]);
  g_assert_cmpuint(n_seen, ==, 0);
  run();
  g_assert_cmpuint(n_seen, ==, 2);
  g_assert_cmpfloat(orr_engine_now(engine), ==, 0);
  close_engine();
}

static void nothing_to_do(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 0, NULL);
  run();
  g_assert_cmpfloat(orr_engine_now(engine), ==, 0);
  g_assert_cmpuint(orr_engine_n_events(engine), ==, 0);
  close_engine();
}

static void stays_down(gconstpointer data) {
  static const Step down = {UP, 0, 0, {{1, 1}, {0, 0}}};
  g_autoptr(GError) error = NULL;
  open_engine(*(const OrrEngineKind *)data, 2, (double[]){G, G});
  send(0, 10 * G, USES({0, 1}, {1, 1}));
  send(1, 10 * G, USES({1, 2}));
  orr_engine_after(engine, 2, take_step, (void *)&down);
  g_assert_false(orr_engine_run(engine, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_STUCK);
  g_assert_nonnull(strstr(error->message, "2 transfers"));
  g_assert_nonnull(strstr(error->message, "link 1"));
  close_engine();
}

static void expect_refused(OrrEngineKind kind, void (*misuse)(void)) {
  g_autoptr(GError) error = NULL;
  open_engine(kind, 1, (double[]){G});
  misuse();
  g_assert_false(orr_engine_run(engine, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
  close_engine();
}

static void call_in_the_past(void) { orr_engine_after(engine, -1, seen, &watches[0]); }
static void call_at_nan(void) { orr_engine_after(engine, NAN, seen, &watches[0]); }
static void negative_size(void) { send(0, -1, USES({0, 1})); }
static void endless_size(void) { send(0, INFINITY, USES({0, 1})); }
static void no_such_link(void) { send(0, 1, USES({7, 1})); }
static void zero_weight(void) {
  orr_engine_transfer(engine, 1, &(OrrLinkUse){0, 0}, 1, seen, &watches[0]);
}
static void negative_bandwidth(void) { orr_engine_set_bandwidth(engine, 0, -1); }
static void no_such_link_up(void) { orr_engine_set_up(engine, 1, TRUE); }

static void wrong_arguments(void) {
  void (*const misuses[])(void) = {call_in_the_past,   call_at_nan,    negative_size,
                                   endless_size,       no_such_link,   zero_weight,
                                   negative_bandwidth, no_such_link_up};
  for (guint i = 0; i < G_N_ELEMENTS(misuses); i++) expect_refused(ORR_ENGINE_IDEAL, misuses[i]);
  const double bad[] = {0, -1, NAN, INFINITY};
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autoptr(GError) error = NULL;
    OrrLink link = 77;
    open_engine(ORR_ENGINE_IDEAL, 0, NULL);
    g_assert_false(orr_engine_add_link(engine, "bad", bad[i], &link, &error));
    g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
    g_assert_cmpuint(link, ==, 77);
    close_engine();
  }
}

static void second_simgrid(gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) first = orr_engine_new(ORR_ENGINE_SIMGRID, &error);
  g_assert_no_error(error);
  g_assert_nonnull(first);
  g_assert_null(orr_engine_new(ORR_ENGINE_SIMGRID, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
}

/* An engine may go away with things still to happen. */
static void freed_early(gconstpointer data) {
  open_engine(*(const OrrEngineKind *)data, 1, (double[]){G});
  send(0, 1 * G, USES({0, 1}));
  orr_engine_after(engine, 3, seen, &watches[1]);
  close_engine();
  g_assert_cmpuint(n_seen, ==, 0);
}

static const Case cases[] = {
    {"equal-times", equal_times, TRUE, FALSE},
    {"equal-but-for-rounding", equal_but_for_rounding, TRUE, FALSE},
    {"no-bytes-no-links", no_bytes_no_links, TRUE, FALSE},
    {"nothing-to-do", nothing_to_do, TRUE, FALSE},
    {"stays-down", stays_down, TRUE, FALSE},
    {"second-simgrid", second_simgrid, FALSE, TRUE},
    {"freed-early", freed_early, TRUE, FALSE},
};

/* engine_private.h: all functions of an engine but its loop are mandatory. */
static void mandatory_functions(void) {
  const OrrEngineClass *const classes[] = {&orr_engine_fair_class, &orr_engine_ideal_class,
                                           orr_engine_load_simgrid(NULL)};
  for (guint i = 0; i < G_N_ELEMENTS(classes); i++) {
    const OrrEngineClass *one = classes[i];
    g_assert_nonnull(one->settings);
    if (!one->open || !one->close || !one->add_link || !one->start || !one->end || !one->hold ||
        !one->bandwidth_changed || !one->settle)
      g_error("the engine '%s' lacks a function", one->settings);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  add_cases(cases, G_N_ELEMENTS(cases));
  g_test_add_func("/engine/mandatory-functions", mandatory_functions);
  g_test_add_func("/engine/wrong-arguments", wrong_arguments);
  return g_test_run();
}

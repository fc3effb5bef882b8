/*
 * engine_fixture.h - one engine under test, what is watched on it, and the running of test bodies
 * on both kinds.
 *
 * A case's body opens an engine of the kind it is given, sends and calls, runs, and looks at
 * `watches`. Each runs in a child (forked.h), so the statics below are fresh every time.
 *
 * G is 1e9 bytes or 1e9 bytes/s, so that the numbers of the tests can be done in the head.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "sim/engine/engine.h"
#include "tests/engine/forked.h"

#define G 1e9
#define MAX_WATCHES 4096

/* One transfer or call that is watched: when and as the how-manieth it came. */
typedef struct {
  double at_s;
  guint order; /* from 1; 0: never */
} Watch;

static OrrEngine *engine;
static Watch watches[MAX_WATCHES];
static guint n_seen;

static inline void seen(void *user) {
  Watch *watch = user;
  g_assert_cmpuint(watch->order, ==, 0);
  watch->at_s = orr_engine_now(engine);
  watch->order = ++n_seen;
}

static inline void open_engine(OrrEngineKind kind, guint n_links, const double *bandwidths) {
  g_autoptr(GError) error = NULL;
  memset(watches, 0, sizeof watches);
  n_seen = 0;
  engine = orr_engine_new(kind, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < n_links; i++) {
    OrrLink link = G_MAXUINT32;
    g_autofree char *name = g_strdup_printf("link %u", i);
    g_assert_true(orr_engine_add_link(engine, name, bandwidths[i], &link, &error));
    g_assert_cmpuint(link, ==, i);
  }
}

static inline void run(void) {
  g_autoptr(GError) error = NULL;
  g_assert_true(orr_engine_run(engine, &error));
  g_assert_no_error(error);
}

static inline void close_engine(void) { g_clear_pointer(&engine, orr_engine_free); }

/* Starts a transfer that is watched as number @i; @uses ends with weight 0. */
static inline void send(guint i, double bytes, const OrrLinkUse *uses) {
  guint n = 0;
  while (uses[n].weight > 0) n++;
  orr_engine_transfer(engine, bytes, uses, n, seen, &watches[i]);
}

#define USES(...) ((const OrrLinkUse[]){__VA_ARGS__, {0, 0}})

static inline void assert_near(double value, double expected, double relative) {
  if (!(fabs(value - expected) <= relative * fabs(expected)))
    g_error("%.17g, expected %.17g (relative %g)", value, expected, relative);
}

/* Calls later in the run */

typedef struct {
  enum { SEND, BANDWIDTH, UP } what;
  guint watch;
  double value;
  OrrLinkUse uses[2];
} Step;

static inline void take_step(void *user) {
  const Step *step = user;
  if (step->what == SEND)
    send(step->watch, step->value, step->uses);
  else if (step->what == BANDWIDTH)
    orr_engine_set_bandwidth(engine, step->uses[0].link, step->value);
  else
    orr_engine_set_up(engine, step->uses[0].link, step->value > 0);
}

/* Each body in a child, on the engines it is for */

typedef struct {
  const char *name;
  void (*body)(gconstpointer kind);
  gboolean both;          /* on the ideal engine too */
  gboolean simgrid_alone; /* what holds for SimGrid only; else on the fair engine too */
} Case;

static inline void on_simgrid(gconstpointer data) {
  const OrrEngineKind kind = ORR_ENGINE_SIMGRID;
  forked(((const Case *)data)->body, &kind);
}

static inline void on_fair(gconstpointer data) {
  const OrrEngineKind kind = ORR_ENGINE_FAIR;
  forked(((const Case *)data)->body, &kind);
}

static inline void on_ideal(gconstpointer data) {
  const OrrEngineKind kind = ORR_ENGINE_IDEAL;
  forked(((const Case *)data)->body, &kind);
}

static inline void add_cases(const Case *cases, guint n) {
  for (guint i = 0; i < n; i++) {
    g_autofree char *path = g_strdup_printf("/engine/simgrid/%s", cases[i].name);
    g_test_add_data_func(path, &cases[i], on_simgrid);
    g_autofree char *fair_path = g_strdup_printf("/engine/fair/%s", cases[i].name);
    if (!cases[i].simgrid_alone) g_test_add_data_func(fair_path, &cases[i], on_fair);
    g_autofree char *ideal_path = g_strdup_printf("/engine/ideal/%s", cases[i].name);
    if (cases[i].both) g_test_add_data_func(ideal_path, &cases[i], on_ideal);
  }
}

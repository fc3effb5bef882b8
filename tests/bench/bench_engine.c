/*
 * The engines alone: transfers over three links each, with a fixed number in flight, and calls at
 * a date.
 *
 * Each transfer draws three neighbours out of all links: 16 in flight over 48 links meet all the
 * time, 1,000 over 300,000 hardly ever. The first is the price of solving the sharing, the second
 * the price of the engine's own lists.
 */
#include "sim/base/random.h"
#include "sim/engine/engine.h"
#include "tests/bench/benchmark.h"

typedef struct {
  OrrEngineKind kind;
  guint in_flight, n_links, n_things;
} Load;

static OrrEngine *engine;
static const Load *load;
static OrrRandom random_stream;
static guint left;

static void next_transfer(void *user) {
  if (left == 0) return;
  left--;
  OrrLinkUse uses[3];
  for (guint i = 0; i < 3; i++)
    uses[i] = (OrrLinkUse){(guint32)orr_random_below(&random_stream, load->n_links / 3) * 3 + i,
                           1 + i * 500};
  orr_engine_transfer(engine, 1e6 * (1 + orr_random_unit(&random_stream)), uses, 3, next_transfer,
                      user);
}

static void next_call(void *user) {
  if (left == 0) return;
  left--;
  orr_engine_after(engine, 1e-6 * (1 + orr_random_unit(&random_stream)), next_call, user);
}

/* Things a second: the first in_flight of them start at once, each end starts another. */
static double per_second(const Load *asked, OrrEngineCall start) {
  g_autoptr(GError) error = NULL;
  load = asked;
  left = load->n_things;
  random_stream = orr_random_stream(1, "load");
  engine = orr_engine_new(load->kind, &error);
  bench_check(error);
  for (guint i = 0; i < load->n_links; i++)
    orr_engine_add_link(engine, "link", 1e9, &(OrrLink){0}, &error);
  const gint64 begin_us = g_get_monotonic_time();
  for (guint i = 0; i < load->in_flight; i++) start(NULL);
  orr_engine_run(engine, &error);
  bench_check(error);
  const double rate = load->n_things / bench_since(begin_us);
  g_clear_pointer(&engine, orr_engine_free);
  return rate;
}

static double transfers(gconstpointer data) { return per_second(data, next_transfer); }
static double calls(gconstpointer data) { return per_second(data, next_call); }

int main(void) {
  const Load simgrid[] = {{ORR_ENGINE_SIMGRID, 16, 48, 100000},
                          {ORR_ENGINE_SIMGRID, 1000, 300000, 100000},
                          {ORR_ENGINE_SIMGRID, 8000, 300000, 100000}};
  const Load ideal[] = {{ORR_ENGINE_IDEAL, 16, 48, 1000000},
                        {ORR_ENGINE_IDEAL, 1000, 300000, 1000000}};
  const double fast = bench_figure(transfers, &simgrid[0]),
               large = bench_figure(transfers, &simgrid[1]);
  const double alone = bench_figure(transfers, &ideal[0]);
  bench_row("engine, SimGrid: transfers, 16 in flight over 48 links", fast, "transfers/s");
  bench_row("engine, SimGrid: transfers, 1,000 in flight over 300,000 links", large, "transfers/s");
  bench_row("engine, SimGrid: transfers, 8,000 in flight over 300,000 links",
            bench_figure(transfers, &simgrid[2]), "transfers/s");
  bench_row("engine, SimGrid: calls, 1,000 pending",
            bench_figure(calls, &(Load){ORR_ENGINE_SIMGRID, 1000, 1, 1000000}), "calls/s");
  bench_row("engine, ideal: transfers, 16 in flight", alone, "transfers/s");
  bench_row("engine, ideal: transfers, 1,000 in flight", bench_figure(transfers, &ideal[1]),
            "transfers/s");
  bench_row("engine, ideal: calls, 1,000 pending",
            bench_figure(calls, &(Load){ORR_ENGINE_IDEAL, 1000, 1, 1000000}), "calls/s");
  bench_row("engine: ideal over SimGrid, transfers, 16 in flight", alone / fast, "times");
  return 0;
}

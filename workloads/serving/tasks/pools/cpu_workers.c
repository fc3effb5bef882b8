/*
 * cpu_workers.c - CPU workers: sandboxes, browsers, tools.
 *
 * A job takes one worker for the time that its step draws, and `cores` cores of the hosts
 * meanwhile. With Poisson arrivals it is M/G/c.
 *
 *   pools: [{name: sandboxes, of: {kind: workers, workers: 64, cores: 2}}]
 *
 * Oracle: Erlang's C for exponential times (tests/workloads/serving/test_task_oracles.c).
 */
#include "workloads/serving/tasks/pools/task_pool.h"

typedef struct {
  gint64 workers;
  double cores;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "task-pool-workers", "CPU workers.", Params,
    ORR_FIELD_INT(Params, "workers", workers, "0",
                  "Jobs at once; others wait, first come first served. 0: no limit.", .min = 0,
                  .max = 1e9),
    ORR_FIELD_REAL(Params, "cores", cores, ORR_UNIT_NONE, "1",
                   "Cores of the hosts that a busy worker takes; 0: it only waits for others.",
                   .min = 0, .max = 1e6));

static gpointer open_pool(const void *params, const OrrTaskPoolHost *host, GError **error) {
  return orr_task_servers_new(host, ((const Params *)params)->workers);
}

static void add(gpointer state, OrrTaskJob *job) {
  orr_task_servers_add(state, job, job->service_s);
}

static gint64 servers(const void *params) { return ((const Params *)params)->workers; }

static double cores(const void *params) { return ((const Params *)params)->cores; }

const OrrTaskPoolKind orr_task_pool_workers = {
    .entry = {"workers", "CPU workers, each with one job at a time.", &table},
    .open = open_pool,
    .add = add,
    .servers = servers,
    .cores = cores,
    .close = orr_task_servers_free,
};

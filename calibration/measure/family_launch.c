/*
 * family_launch.c - the cost of launching a kernel that does nothing, `kernels` of them in a row.
 *
 *   stream   the host's clock around kernels launches, with no wait between: what the host needs
 *            for one
 *   graph    events around a graph of kernels nodes, on a stream that is held until the graph
 *            is launched: the gap that the device leaves between kernels
 *   wait     one launch and a wait for its end: the round trip
 *
 * The time is per kernel.
 */
#include "calibration/measure/family.h"

static const char *const ways[] = {"stream", "graph", "wait", NULL};
static const OrrShapeColumn columns[] = {
    {"way", ways, TRUE}, {"kernels", NULL, FALSE}, {NULL, NULL, FALSE}};

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  for (int way = 0; ways[way]; way++)
    for (gint64 kernels = 1; kernels <= (way == 2 ? 1 : 1024); kernels *= 4) {
      const gint64 values[] = {way, kernels};
      orr_family_add(family, shapes, values);
    }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  return (OrrShapeWork){.dtype = ORR_FP32};
}

const OrrMeasureFamily orr_family_launch = {
    .entry = {"launch", "Launch latency: one by one, from a graph, and with a wait for the end.",
              NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work};

/*
 * torus_rings.c - collectives on a torus: rings along its axes, one axis after another
 * (torus-ring), or along all axes at once (bucket); on open axes one ring through all chips
 * (torus-cycle).
 *
 *   torus-ring   axis x, then y, then z, in one direction: reduce-scatter along x over all of S,
 *                along y over what is left, S/X, along z over S/(X Y); then all-gather back, z, y,
 *                x. Only the links of one axis are in use at a time.
 *   bucket       the buffer in 2 d parts for d axes: each part runs with the axes rotated (x y z,
 *                y z x, z x y), once in positive and once in negative direction. All links of all
 *                axes are in use (Barnett, Littlefield, Payne, van de Geijn, "Global combine on
 *                mesh architectures with wormhole routing", IPPS 1993, bucket algorithms; Jain,
 *                Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus
 *                interconnects", ICS 2010)
 *
 * With D_1 .. D_d the sizes in the order of a part, and N_i = D_1 ... D_i (N_0 = 1), stage i moves
 *
 *   (D_i - 1)/D_i * part / N_(i-1)   along axis i, in D_i - 1 hops
 *   (n - 1)/n * part                 all stages of a reduce-scatter
 *
 *   torus-ring   all-gather, reduce-scatter   sum (D_i - 1) alpha + (n-1)/n S/B   B: one link's
 *   bucket       the same hops, sum over stages of max over parts; with equal axes (n-1)/n S/(2 d
 *                B)
 *   all-reduce   twice as much
 *
 * The group fills a slice, or the whole of some axes of one, in the order of its chips (fabric.h):
 * of 16x8x8, tensor parallelism over 16 chips has axis x, and each FSDP group over 64 axes y and
 * z. Rings of other groups then use other links. Stages follow one another, one phase each. On a
 * twisted torus, rings of a short axis close after two rounds; the model counts one round of D_i
 * chips.
 *
 * On an open axis (topologies/fabrics/torus.c) a ring comes back over the links of the other
 * direction: each link carries the rings of both, and the bucket takes twice as long, as a line's
 * bytes do. It still takes D - 1 rounds of hops between neighbours.
 *
 *   torus-cycle  a closed walk between neighbours through all chips of open axes, half of S in each
 *                direction; two of a chip's links are in use, however many axes there are:
 *
 *                  1 - 2 - 3      all-gather, reduce-scatter   (n-1) alpha + (n-1)/n S/(2 B)
 *                  |       |      all-reduce                   twice as much
 *                  0   5 - 4      the first axis X is longer than 2 only where n / X is even
 *                  |   |
 *                  7 - 6
 *
 * XLA's all-gathers on SparseCores of Ironwood take as long on 2x2x2 chips for each byte that a
 * chip receives as on 2x2x1, and n-1 steps (scenarios/validation/collectives-ici.yaml). It is the
 * choice of that device's profile alone, or forced.
 *
 * None is NCCL's: where the profile has rows of NCCL's algorithms (`nccl`), as on GPUs, they
 * must be forced. Elsewhere, as on TPUs, the planner chooses them where they are the fastest.
 * algorithm: bucket
 */
#include "workloads/collectives/collective_private.h"

enum { AXES = 3 };

typedef struct {
  const OrrCollectiveCall *call;
  gint64 size[AXES]; /* of the group; 1 for an axis that it does not extend along */
  gint64 axes[AXES]; /* the axes with more than one chip */
  guint n_axes;
  gboolean is_open; /* all of them are lines */
} Torus;

/* Whether the group is all chips that differ from its first one along the axes of @torus alone, in
 * rising order. */
static gboolean has_chips(const Torus *torus, const gint64 shape[AXES]) {
  const OrrCollectiveCall *call = torus->call;
  gint64 n = 1, stride = 1, first = call->gpus[0];
  for (int axis = 0; axis < AXES; axis++) {
    n *= torus->size[axis];
    if (torus->size[axis] > 1 && first % shape[axis] != 0) return FALSE;
    first /= shape[axis];
  }
  if (n != call->n) return FALSE;
  for (guint i = 0; i < call->n; i++) {
    gint64 rest = i, chip = call->gpus[0];
    stride = 1;
    for (int axis = 0; axis < AXES; axis++) {
      chip += rest % torus->size[axis] * stride;
      rest /= torus->size[axis];
      stride *= shape[axis];
    }
    if (call->gpus[i] != chip) return FALSE;
  }
  return TRUE;
}

/* Finds the axes that the group fills. */
static gboolean torus_init(Torus *torus, const OrrCollectiveContext *context,
                           const OrrCollectiveCall *call) {
  gint64 shape[AXES];
  gboolean open[AXES], found = FALSE;
  *torus = (Torus){.call = call, .is_open = TRUE};
  if (!orr_fabric_torus(context->fabric, shape, open)) return FALSE;
  for (guint chosen = 1; !found && chosen < 1 << AXES; chosen++) {
    for (int axis = 0; axis < AXES; axis++)
      torus->size[axis] = chosen >> axis & 1 ? shape[axis] : 1;
    found = has_chips(torus, shape);
  }
  for (int axis = 0; found && axis < AXES; axis++)
    if (torus->size[axis] > 1) {
      torus->axes[torus->n_axes++] = axis;
      torus->is_open &= open[axis];
    }
  return torus->n_axes > 0;
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  Torus torus;
  const gboolean does =
      call->op == ORR_ALL_REDUCE || call->op == ORR_ALL_GATHER || call->op == ORR_REDUCE_SCATTER;
  return does && torus_init(&torus, context, call);
}

static gint64 stride_of(const Torus *torus, gint64 axis) {
  gint64 stride = 1;
  for (gint64 i = 0; i < axis; i++) stride *= torus->size[i];
  return stride;
}

/* Adds all rings along @axis, with @weight units per hop; returns the latency of D - 1 hops between
 * neighbours. @back: in negative direction. */
static double add_axis(OrrCollectiveFlow *flow, const Torus *torus, gint64 axis, gboolean back,
                       guint32 weight) {
  const gint64 stride = stride_of(torus, axis), size = torus->size[axis];
  double least_s = INFINITY;
  for (gint64 chip = 0; chip < torus->call->n; chip++) {
    const gint64 at = chip / stride % size, step = back ? size - 1 : 1;
    const gint64 next = chip + ((at + step) % size - at) * stride;
    double hop_s =
        orr_collective_flow_edge(flow, torus->call->gpus[chip], torus->call->gpus[next], 0, weight);
    least_s = MIN(least_s, hop_s);
  }
  return (double)(size - 1) * least_s;
}

/* The bytes that a chip sends, of @bytes, in stage @i of a part whose axes begin with axis
 * @first. */
static double stage_bytes(const Torus *torus, guint first, guint i, double bytes) {
  for (guint before = 0; before < i; before++)
    bytes /= (double)torus->size[torus->axes[(first + before) % torus->n_axes]];
  const double size = (double)torus->size[torus->axes[(first + i) % torus->n_axes]];
  return bytes * (size - 1) / size;
}

/* Weights are whole numbers: the part that sends most gets this many units. */
enum { UNITS = 4096 };

/* Adds stage @i of @n_parts concurrent parts (1: torus-ring); every second part runs in negative
 * direction. */
static void add_stage(const OrrCollectiveContext *context, const Torus *torus, guint i,
                      guint n_parts, GArray *phases) {
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  double most = 0, latency_s = 0;
  for (guint part = 0; part < n_parts; part++) {
    double bytes = stage_bytes(torus, part / 2, i, torus->call->bytes / n_parts);
    most = MAX(most, bytes);
  }
  orr_collective_flow_fill(&flow, most, most);
  for (guint part = 0; part < n_parts; part++) {
    const guint32 weight =
        (guint32)(stage_bytes(torus, part / 2, i, torus->call->bytes / n_parts) / most * UNITS +
                  0.5);
    double hops_s = add_axis(&flow, torus, torus->axes[(part / 2 + i) % torus->n_axes],
                             part % 2 == 1, MAX(weight, 1));
    latency_s = MAX(latency_s, hops_s);
  }
  orr_collective_flow_finish(&flow, latency_s, most / UNITS, phases);
}

static void add_stages(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                       gboolean bucket, GArray *phases) {
  Torus torus;
  torus_init(&torus, context, call);
  const guint n_parts = bucket ? 2 * torus.n_axes : 1;
  for (guint i = 0; call->op != ORR_ALL_GATHER && i < torus.n_axes; i++)
    add_stage(context, &torus, i, n_parts, phases);
  for (guint i = torus.n_axes; call->op != ORR_REDUCE_SCATTER && i-- > 0;)
    add_stage(context, &torus, i, n_parts, phases);
}

static void plan_rings(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                       GArray *phases) {
  add_stages(context, call, FALSE, phases);
}

static void plan_bucket(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                        GArray *phases) {
  add_stages(context, call, TRUE, phases);
}

/* A stage of a part: rings along its axis, one round per hop. It begins when the chip has
 * received everything of the previous stage. */
typedef struct {
  const Torus *torus;
  OrrCollectiveSteps *steps;
  guint part;
  gboolean back;
  guint32 *last; /* by chip: the last send that it received */
  gboolean any;
} StepPart;

static void step_stage(StepPart *of, gint64 axis, double bytes) {
  const gint64 stride = stride_of(of->torus, axis), size = of->torus->size[axis],
               n = of->torus->call->n;
  g_autofree guint32 *got = g_new0(guint32, n);
  for (gint64 round = 0; round + 1 < size; round++) {
    for (gint64 chip = 0; chip < n; chip++) {
      const gint64 at = chip / stride % size, step = of->back ? size - 1 : 1;
      const gint64 next = chip + ((at + step) % size - at) * stride;
      got[next] = orr_collective_steps_send(
          of->steps, of->torus->call->gpus[chip], of->torus->call->gpus[next], of->part,
          bytes / (double)(size - 1), &of->last[chip], of->any ? 1 : 0);
    }
    memcpy(of->last, got, n * sizeof *got);
    of->any = TRUE;
  }
}

static void add_steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                      gboolean bucket, OrrCollectiveSteps *steps) {
  Torus torus;
  torus_init(&torus, context, call);
  const guint n_parts = bucket ? 2 * torus.n_axes : 1;
  g_autofree guint32 *last = g_new0(guint32, call->n);
  for (guint part = 0; part < n_parts; part++) {
    StepPart of = {
        .torus = &torus, .steps = steps, .part = part, .back = part % 2 == 1, .last = last};
    for (guint i = 0; call->op != ORR_ALL_GATHER && i < torus.n_axes; i++)
      step_stage(&of, torus.axes[(part / 2 + i) % torus.n_axes],
                 stage_bytes(&torus, part / 2, i, call->bytes / n_parts));
    for (guint i = torus.n_axes; call->op != ORR_REDUCE_SCATTER && i-- > 0;)
      step_stage(&of, torus.axes[(part / 2 + i) % torus.n_axes],
                 stage_bytes(&torus, part / 2, i, call->bytes / n_parts));
  }
}

static void steps_rings(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                        OrrCollectiveSteps *steps) {
  add_steps(context, call, FALSE, steps);
}

static void steps_bucket(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                         OrrCollectiveSteps *steps) {
  add_steps(context, call, TRUE, steps);
}

/* --- torus-cycle --- */

static gboolean supports_cycle(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  Torus torus;
  if (!supports(context, call)) return FALSE;
  torus_init(&torus, context, call);
  const gint64 first = torus.size[torus.axes[0]];
  return torus.is_open && torus.n_axes > 1 && (first == 2 || call->n / first % 2 == 0);
}

/* The chip at place @p of a walk between neighbours over all axes but the first, and at @x of the
 * first. */
static gint64 chip_at(const Torus *torus, gint64 x, gint64 p) {
  const gint64 size = torus->size[torus->axes[1]], line = p / size, at = p % size;
  const gint64 y = line % 2 == 1 ? size - 1 - at : at;
  return x * stride_of(torus, torus->axes[0]) + y * stride_of(torus, torus->axes[1]) +
         (torus->n_axes > 2 ? line * stride_of(torus, torus->axes[2]) : 0);
}

/* The GPUs round the cycle: back and forth along the first axis without its chips at 0, which are
 * the way back. */
static gint64 *cycle_of(const Torus *torus) {
  const gint64 first = torus->size[torus->axes[0]], n = torus->call->n, places = n / first;
  gint64 *gpus = g_new(gint64, n), i = 0;
  for (gint64 p = 0; p < places; p++)
    for (gint64 x = 1; x < first; x++)
      gpus[i++] = torus->call->gpus[chip_at(torus, p % 2 == 1 ? first - x : x, p)];
  for (gint64 p = places; p-- > 0;) gpus[i++] = torus->call->gpus[chip_at(torus, 0, p)];
  return gpus;
}

static void plan_cycle(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                       GArray *phases) {
  Torus torus;
  torus_init(&torus, context, call);
  g_autofree gint64 *gpus = cycle_of(&torus);
  const double bytes = call->bytes / 2 * (call->n - 1) / call->n;
  for (int pass = call->op == ORR_ALL_REDUCE ? 2 : 1; pass > 0; pass--) {
    g_auto(OrrCollectiveFlow) flow;
    double hop_s = INFINITY;
    orr_collective_flow_init(&flow, context);
    orr_collective_flow_fill(&flow, bytes, bytes);
    for (guint i = 0; i < call->n; i++) {
      const gint64 a = gpus[i], b = gpus[(i + 1) % call->n];
      const double on_s = orr_collective_flow_edge(&flow, a, b, 0, 1);
      const double back_s = orr_collective_flow_edge(&flow, b, a, 1, 1);
      hop_s = MIN(hop_s, MIN(on_s, back_s));
    }
    orr_collective_flow_finish(&flow, (call->n - 1) * hop_s, bytes, phases);
  }
}

static double oracle_cycle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return orr_ring.oracle(call, alpha_s, 2 * bytes_per_s);
}

/* For a torus of one axis, which is a ring; test_torus_rings.c covers the others. */
static double oracle_rings(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return orr_ring.oracle(call, alpha_s, bytes_per_s);
}

static double oracle_bucket(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return orr_ring.oracle(call, alpha_s, 2 * bytes_per_s);
}

const OrrCollectiveAlgorithm orr_torus_ring = {
    .entry = {.name = "torus-ring",
              .sentence = "Rings along the axes of a torus, one axis after another."},
    .chosen = ORR_CHOSEN_ALWAYS,
    .needs = "a group that fills whole axes of a torus",
    .supports = supports,
    .plan = plan_rings,
    .steps = steps_rings,
    .oracle = oracle_rings,
};

const OrrCollectiveAlgorithm orr_bucket = {
    .entry = {.name = "bucket",
              .sentence = "Rings along all axes of a torus and in both directions at once."},
    .chosen = ORR_CHOSEN_ALWAYS,
    .needs = "a group that fills whole axes of a torus",
    .supports = supports,
    .plan = plan_bucket,
    .steps = steps_bucket,
    .oracle = oracle_bucket,
};

const OrrCollectiveAlgorithm orr_torus_cycle = {
    .entry = {.name = "torus-cycle",
              .sentence = "One ring in both directions through all chips of a torus's open axes."},
    .chosen = ORR_CHOSEN_NEVER,
    .needs = "a group that fills two or three axes of a torus, all of them open",
    .supports = supports_cycle,
    .plan = plan_cycle,
    .oracle = oracle_cycle,
};

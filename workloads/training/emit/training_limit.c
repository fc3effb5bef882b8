/*
 * training_limit - refuses jobs whose replay needs too much memory, and names settings that help.
 *
 * training_size.c estimates the memory before anything is emitted; orr_memory_limit is what may be
 * used. The refusal says which of the job's sizes make the estimate, and what would bring it below
 * the limit. Each remedy is tried on the job (with a plan of its own where the classes of replicas
 * change). Only remedies that are enough are named, with what they lead to; what is already set is
 * never advised.
 *
 *   operations ~ classes of replicas * pp * micro-batches * (transfers + segments + gathers) *
 *   steps
 *                ^ fidelity, routing        ^ batch.global, batch.micro                        ^
 *                                           steps
 */
#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "workloads/training/cost/training_packing.h"
#include "workloads/training/emit/training_program.h"
#include "workloads/training/emit/training_loader.h"
#include "workloads/training/emit/training_emitter.h"

/* Counts the micro-batches of a shorter step with the same beginning, middle and end. They must
 * fill and drain the pipeline, and let all stages stand in its steady part at one time: the replay
 * repeats that (executor_rewind.c). The second attempt gives them more room; where that is not
 * enough, or hardly shorter, the step is emitted whole. */
gint64 orr_training_limit_micro_batches(const OrrJob *job) {
  const gint64 all = job->shape.micro_batches;
  const guint attempt = job->world->shorten;
  const gint64 period = job->schedule->period ? job->schedule->period(&job->shape) : 0;
  if (attempt == 0 || period == 0 || job->params->steps != 1 ||
      orr_training_noise_is_on(&job->params->noise) ||
      orr_training_packing_is_on(&job->params->packing) ||
      orr_training_loader_is_on(&job->params->loader))
    return all;
  const gint64 least =
      attempt == 1 ? MAX(job->pp + 6, 5 * period) : MAX(2 * job->pp + 6, 8 * period);
  if (attempt > 2 || least + 2 * period > all) return all;
  return all - (all - least) / period * period;
}

/* The refused job. */
typedef struct {
  const OrrJob *job;
  const OrrTrainingCosts *costs;
  const OrrTrainingPlan *plan;
} Refused;

/* @refused with other numbers of micro-batches and steps. */
static OrrTrainingSize size_with(const Refused *refused, gint64 micro_batches, gint64 steps) {
  OrrJob job = *refused->job; /* owns nothing itself */
  OrrTraining params = *job.params;
  params.steps = steps;
  job.params = &params;
  params.steps -= orr_training_steps_left_out(&job);
  job.shape.micro_batches = micro_batches;
  job.shape.micro_batches = orr_training_limit_micro_batches(&job);
  return orr_training_size(&job, refused->costs, refused->plan);
}

/* Bytes where alike replicas are folded, with routes of @routing; @ret_classes: how many classes
 * remain. */
static double bytes_folded(const Refused *refused, OrrRouting routing, guint *ret_classes) {
  OrrJob job = *refused->job;
  OrrWorld world = *job.world;
  OrrCluster cluster = *world.cluster;
  g_autoptr(OrrProgram) program = orr_program_new();
  OrrTrainingPlan plan;
  cluster.routing = routing;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&cluster, (guint64)world.seed, NULL);
  if (!fabric) return G_MAXDOUBLE;
  world.cluster = &cluster;
  world.fabric = fabric;
  world.fidelity = ORR_FIDELITY_FOLDED;
  job.world = &world;
  const gboolean is_planned =
      orr_training_plan_init(&plan, &job, refused->costs, ORR_FIDELITY_FOLDED, program, NULL);
  OrrTraining params = *job.params;
  params.steps -= orr_training_steps_left_out(&job);
  job.params = &params;
  const double bytes =
      is_planned ? orr_training_size(&job, refused->costs, &plan).bytes : G_MAXDOUBLE;
  *ret_classes = is_planned ? plan.fold.n : 0;
  orr_training_plan_clear(&plan);
  return bytes;
}

/* The largest number from 1 to @now, of steps or of micro-batches, that fits; 0: none. */
static gint64 most_that_fits(const Refused *refused, gint64 now, gboolean of_steps) {
  const gint64 micro_batches = refused->job->shape.micro_batches,
               steps = refused->job->params->steps;
  gint64 fits = 0, above = now;
  while (above - fits > 1) {
    const gint64 middle = fits + (above - fits) / 2;
    const OrrTrainingSize size =
        of_steps ? size_with(refused, micro_batches, middle) : size_with(refused, middle, steps);
    *(size.bytes <= orr_memory_limit() ? &fits : &above) = middle;
  }
  return fits;
}

static void G_GNUC_PRINTF(2, 3) add_remedy(GString *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_string_append(text, text->len ? "; or " : "");
  g_string_append_vprintf(text, format, arguments);
  va_end(arguments);
}

/* The section that makes replicas differ, whichever fidelity the document chooses; NULL: none. */
static const char *never_alike(const OrrJob *job) {
  if (orr_training_noise_is_on(&job->params->noise)) return "workload.noise";
  if (orr_training_packing_is_on(&job->params->packing)) return "workload.packing";
  if (job->world->is_faulty) return "faults";
  return job->world->is_shared ? "jobs" : NULL;
}

static void add_folding(const Refused *refused, GString *text) {
  const OrrRouting now = (OrrRouting)refused->job->world->cluster->routing;
  const gboolean is_full = refused->job->world->fidelity == ORR_FIDELITY_FULL;
  const double most = orr_memory_limit();
  guint classes = 0;
  if (refused->plan->fold.n == 1 || never_alike(refused->job)) return;
  double bytes = is_full ? bytes_folded(refused, now, &classes) : G_MAXDOUBLE;
  if (bytes <= most) {
    g_autofree char *size = orr_quantity_format(bytes, ORR_UNIT_BYTES);
    add_remedy(text, "fidelity auto or folded (now full), which replays %u: %s", classes, size);
  } else if (now != ORR_ROUTING_IDEAL) {
    bytes = bytes_folded(refused, ORR_ROUTING_IDEAL, &classes);
    g_autofree char *size = orr_quantity_format(bytes, ORR_UNIT_BYTES);
    if (bytes <= most)
      add_remedy(text, "cluster.routing ideal (now %s)%s, which replays %u: %s",
                 orr_routing_words[now], is_full ? " with fidelity auto (now full)" : "", classes,
                 size);
  }
}

/* What asks for the memory, and what grants it. */
static void add_memory(const Refused *refused, const OrrTrainingSize *size, GString *text) {
  OrrWorld world = *refused->job->world;
  OrrJob job = *refused->job;
  world.keeps_spans = FALSE;
  job.world = &world;
  const Refused without = {&job, refused->costs, refused->plan};
  const double bytes = size_with(&without, job.shape.micro_batches, job.params->steps).bytes;
  g_autofree char *less = orr_quantity_format(bytes, ORR_UNIT_BYTES);
  if (refused->job->world->keeps_spans && bytes <= orr_memory_limit())
    add_remedy(text, "no time line (--spans none): %s", less);
  if (size->bytes > orr_memory_of_machine()) return;
  g_autofree char *machine = orr_quantity_format(orr_memory_of_machine(), ORR_UNIT_BYTES);
  add_remedy(text, "--memory %.0fGiB or more (this machine has %s)", ceil(size->bytes / 0x1p30),
             machine);
}

/* Batch sizes that divide into whole micro-batches. */
static void add_batch(const Refused *refused, GString *text) {
  const OrrJob *job = refused->job;
  const gint64 micro = job->params->batch.micro, now = job->shape.micro_batches;
  const gint64 directions = orr_pipeline_n_directions(job->schedule),
               fits = most_that_fits(refused, now, FALSE);
  const gint64 most = fits / directions * directions; /* each direction has as many */
  if (most < job->pp) return;                         /* the pipeline would not fill */
  gint64 larger = micro * ((now + most - 1) / most);
  while (now * micro % larger) larger++;
  add_remedy(text, "workload.batch.global %ld or less (now %ld)", most * micro * job->dp,
             job->params->batch.global_size);
  add_remedy(text, "workload.batch.micro %ld or more (now %ld)", larger, micro);
}

static char *remedies(const Refused *refused, const OrrTrainingSize *size) {
  const gint64 steps = refused->job->params->steps;
  g_autoptr(GString) text = g_string_new(NULL);
  add_folding(refused, text);
  const gint64 fewer = steps > 1 ? most_that_fits(refused, steps, TRUE) : 0;
  if (fewer > 0) add_remedy(text, "workload.steps %ld or less (now %ld)", fewer, steps);
  add_batch(refused, text);
  add_memory(refused, size, text);
  if (text->len == 0)
    add_remedy(
        text,
        "fewer GPUs or stages: no single setting of fidelity, routing, batch or steps is enough");
  return g_string_free(g_steal_pointer(&text), FALSE);
}

gboolean orr_training_limit_check(const OrrJob *job, const OrrTrainingCosts *costs,
                                  const OrrTrainingPlan *plan, GError **error) {
  const Refused refused = {job, costs, plan};
  const OrrTrainingSize size = size_with(&refused, job->shape.micro_batches, job->params->steps);
  const double most = orr_memory_limit();
  if (size.bytes <= most) return TRUE;
  const char *cause = never_alike(job);
  g_autofree char *advice = remedies(&refused, &size),
                  *bytes = orr_quantity_format(size.bytes, ORR_UNIT_BYTES),
                  *limit = orr_quantity_format(most, ORR_UNIT_BYTES);
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "the replay would take about %s of memory, and the limit is %s: %.3g operations "
      "(replicas: %u of %ld%s%s, micro-batches: %ld, steps: %ld). What would help: %s",
      bytes, limit, size.ops, plan->fold.n, job->dp, cause ? ", all different because of " : "",
      cause ? cause : "", job->shape.micro_batches, job->params->steps, advice);
}

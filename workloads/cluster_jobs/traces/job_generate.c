/*
 * job_generate.c - draws jobs. The mean time between submissions follows from the load:
 *
 *   gap = mean run time x mean gang / (load x GPUs)
 *
 * Gangs, run times, models and gaps come from streams of their own, so that another load stretches
 * the same jobs in time, and a sweep over it compares like with like.
 *
 * Run times `philly` come from Gavel's simulator (utils.py, commit c4fa400: "Philly
 * distribution"), whose numbers and order of draws `numbers: python` repeats.
 */
#include "workloads/cluster_jobs/traces/job_trace.h"

#include "sim/base/random.h"

static const char *const arrival_words[] = {"poisson", "even", "at-once", NULL};
static const char *const duration_words[] = {"exponential", "lognormal", "constant", "philly",
                                             NULL};
static const char *const model_words[] = {"none", "throughputs", NULL};
static const char *const number_words[] = {"streams", "python", NULL};

const OrrFieldTable orr_job_generate_table = ORR_FIELDS(
    "cluster-generate", "Jobs drawn from distributions.", OrrJobGenerate,
    ORR_FIELD_INT(OrrJobGenerate, "n", n, "1000", "Jobs.", .min = 1, .max = 1e7),
    ORR_POSITIVE_REAL(OrrJobGenerate, "load", load, ORR_UNIT_FRACTION, "0.8",
                      "GPU time that jobs ask for, over the cluster's while they are submitted.",
                      .min = 1e-6, .max = 1e6),
    ORR_UNSIGNED_REAL(OrrJobGenerate, "gap", gap_s, ORR_UNIT_SECONDS, "0 s",
                      "The mean time between submissions; 0 s: it follows from the load.", .min = 0,
                      .max = 1e8),
    ORR_FIELD_WORD(OrrJobGenerate, "arrivals", arrivals, arrival_words, "poisson",
                   "Submissions: at random, evenly, or all at second 0."),
    ORR_FIELD_WORD(OrrJobGenerate, "durations", durations, duration_words, "lognormal",
                   "The distribution of run times; philly: as Gavel draws them, four of five jobs "
                   "log-uniform from 32 to 1,000 minutes, the others from there to 10,000, with a "
                   "mean of 16.8 h."),
    ORR_POSITIVE_REAL(OrrJobGenerate, "mean", mean_s, ORR_UNIT_SECONDS, "4 h", "The mean run time.",
                      .min = 1e-6, .max = 1e8),
    ORR_UNSIGNED_REAL(
        OrrJobGenerate, "sigma", sigma, ORR_UNIT_NONE, "2",
        "The standard deviation of the logarithm of run times, where they are lognormal.", .min = 0,
        .max = 5),
    ORR_FIELD_REALS(OrrJobGenerate, "gpus", gpus, ORR_UNIT_NONE, "[1, 2, 4, 8]", "Sizes of gangs.",
                    .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REALS(OrrJobGenerate, "weights", weights, ORR_UNIT_NONE, "[]",
                    "How often each size is drawn, relative to the others; none: equally often.",
                    .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_WORD(OrrJobGenerate, "models", models, model_words, "none",
                   "Models of jobs: none; or those that workload.throughputs has for the gang, "
                   "equally often; run times are then those on the first kind."),
    ORR_FIELD_WORD(OrrJobGenerate, "numbers", numbers, number_words, "streams",
                   "Random numbers: from streams of Orrery's own; or Python's, in the order "
                   "in which Gavel's simulator draws them, so that its jobs come out one by one."),
    ORR_FIELD_TEXTS(OrrJobGenerate, "queues", queues, "[]",
                    "Queues, drawn equally often; none: the jobs have no queue."));

static double value_at(const GArray *values, guint i) { return g_array_index(values, double, i); }

static double weight_of(const OrrJobGenerate *generate, guint i) {
  return generate->weights->len > 0 ? value_at(generate->weights, i) : 1;
}

static double weights_sum(const OrrJobGenerate *generate) {
  double sum = 0;
  for (guint i = 0; i < generate->gpus->len; i++) sum += weight_of(generate, i);
  return sum;
}

void orr_job_generate_check(const OrrJobGenerate *generate, OrrPlace place, OrrDiags *diags) {
  if (generate->gpus->len == 0) orr_diags_error(diags, place, "generate.gpus is empty");
  if (generate->numbers == ORR_JOB_NUMBERS_PYTHON && generate->durations == ORR_DURATIONS_LOGNORMAL)
    orr_diags_error(diags, place,
                    "generate.numbers python does not draw lognormal run times: want durations "
                    "philly, exponential or constant");
  if (generate->weights->len > 0 && generate->weights->len != generate->gpus->len)
    return orr_diags_error(diags, place, "generate has %u weights for %u sizes: want one for each",
                           generate->weights->len, generate->gpus->len);
  if (!(weights_sum(generate) > 0))
    orr_diags_error(diags, place, "generate.weights sum to 0: want one above 0");
  for (guint i = 0; i < generate->gpus->len; i++)
    if (value_at(generate->gpus, i) != floor(value_at(generate->gpus, i)))
      orr_diags_error(diags, place, "generate.gpus: %g is not a whole number",
                      value_at(generate->gpus, i));
}

/* --- Draws --- */

/* Gangs, run times, models and gaps have streams of their own; or, as in Gavel, the first three
 * come from one generator, of the seed + 2, in this order, and gaps from one of the seed + 3. */
typedef struct {
  const OrrJobGenerate *generate;
  const OrrJobGround *ground;
  OrrRandom gangs, durations, models, gaps, queues;
  OrrMersenne jobs, arrivals;
} Draws;

static void draws_init(Draws *draws, const OrrJobGenerate *generate, const OrrJobGround *ground) {
  const guint64 seed = ground->seed;
  draws->generate = generate;
  draws->ground = ground;
  draws->gangs = orr_random_stream(seed, "job-gangs");
  draws->durations = orr_random_stream(seed, "job-durations");
  draws->models = orr_random_stream(seed, "job-models");
  draws->gaps = orr_random_stream(seed, "job-gaps");
  draws->queues = orr_random_stream(seed, "job-queues");
  orr_mersenne_init(&draws->jobs, seed + 2);
  orr_mersenne_init(&draws->arrivals, seed + 3);
}

static double unit(Draws *draws, OrrRandom *own, OrrMersenne *python) {
  return draws->generate->numbers == ORR_JOB_NUMBERS_PYTHON ? orr_mersenne_unit(python)
                                                            : orr_random_unit(own);
}

static guint below(Draws *draws, OrrRandom *own, OrrMersenne *python, guint n) {
  return draws->generate->numbers == ORR_JOB_NUMBERS_PYTHON ? orr_mersenne_below(python, n)
                                                            : (guint)orr_random_below(own, n);
}

static double draw_gpus(Draws *draws) {
  const OrrJobGenerate *generate = draws->generate;
  double at = unit(draws, &draws->gangs, &draws->jobs) * weights_sum(generate);
  guint i = 0;
  while (i + 1 < generate->gpus->len && at >= weight_of(generate, i))
    at -= weight_of(generate, i++);
  return value_at(generate->gpus, i);
}

/* Minutes, as powers of ten: four of five jobs between the first two, the rest between the last. */
static const double philly[] = {1.5, 3, 4};
#define PHILLY_LONG 0.2

/* The mean of 10^u, u uniform from a to b: (10^b - 10^a) / ((b - a) ln 10). */
static double log_uniform_mean(double a, double b) {
  return (pow(10, b) - pow(10, a)) / ((b - a) * log(10));
}

static double mean_s(const OrrJobGenerate *generate) {
  if (generate->durations != ORR_DURATIONS_PHILLY) return generate->mean_s;
  return 60 * ((1 - PHILLY_LONG) * log_uniform_mean(philly[0], philly[1]) +
               PHILLY_LONG * log_uniform_mean(philly[1], philly[2]));
}

static double draw_philly_s(Draws *draws) {
  const guint part = unit(draws, &draws->durations, &draws->jobs) >= 1 - PHILLY_LONG ? 1 : 0;
  const double from = philly[part], width = philly[part + 1] - from;
  return 60 * pow(10, from + width * unit(draws, &draws->durations, &draws->jobs));
}

/* A lognormal of mean 1: exp(sigma z - sigma^2 / 2). */
static double draw_duration_s(Draws *draws) {
  const OrrJobGenerate *generate = draws->generate;
  double relative = 1;
  if (generate->durations == ORR_DURATIONS_PHILLY) return draw_philly_s(draws);
  if (generate->durations == ORR_DURATIONS_EXPONENTIAL)
    relative = -log1p(-unit(draws, &draws->durations, &draws->jobs));
  if (generate->durations == ORR_DURATIONS_LOGNORMAL)
    relative = exp(generate->sigma * orr_random_normal(&draws->durations) -
                   generate->sigma * generate->sigma / 2);
  return fmin(generate->mean_s * relative, 1e8);
}

/* Of all models with equal chances, again until one is drawn that the table has for the gang. Sets
 * the job's steps. */
static void draw_model(Draws *draws, guint n_models, OrrJobLine *job) {
  const OrrJobGround *ground = draws->ground;
  double speed = 0;
  while (!(speed > 0)) {
    const guint drawn = below(draws, &draws->models, &draws->jobs, n_models);
    job->model = orr_gang_throughputs_models(ground->speeds)[drawn];
    speed = orr_gang_throughputs_find(ground->speeds, job->model, (gint64)job->gpus, ground->kind);
  }
  job->steps = job->work_s * speed;
}

static double gap_s(const OrrJobGenerate *generate, gint64 n_gpus) {
  double mean_gpus = 0;
  if (generate->arrivals == ORR_ARRIVALS_AT_ONCE) return 0;
  if (generate->gap_s > 0) return generate->gap_s;
  for (guint i = 0; i < generate->gpus->len; i++)
    mean_gpus += value_at(generate->gpus, i) * weight_of(generate, i) / weights_sum(generate);
  return mean_s(generate) * mean_gpus / (generate->load * (double)n_gpus);
}

/* Whether each gang has a model that runs; otherwise no draw would ever end. */
static gboolean check_models(const OrrJobGenerate *generate, const OrrJobGround *ground,
                             GError **error) {
  for (guint i = 0; i < generate->gpus->len; i++) {
    const gint64 gpus = (gint64)value_at(generate->gpus, i);
    const char *const *models = orr_gang_throughputs_models(ground->speeds);
    while (*models && !(orr_gang_throughputs_find(ground->speeds, *models, gpus, ground->kind) > 0))
      models++;
    if (*models) continue;
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "workload.generate.models: the throughputs have no model for %ld GPUs of "
                         "kind '%s', in which run times are drawn",
                         gpus, ground->kind);
  }
  return TRUE;
}

OrrJobTrace *orr_job_generate(const OrrJobGenerate *generate, const OrrJobGround *ground,
                              GError **error) {
  const gboolean has_models = generate->models == ORR_JOB_MODELS_THROUGHPUTS;
  if (has_models && !check_models(generate, ground, error)) return NULL;
  const guint n_models =
      has_models ? g_strv_length((char **)orr_gang_throughputs_models(ground->speeds)) : 0;
  const double gap = gap_s(generate, ground->n_gpus);
  const guint n_queues = generate->queues ? g_strv_length(generate->queues) : 0;
  OrrJobTrace *trace = orr_job_trace_new();
  Draws draws;
  double now_s = 0;
  draws_init(&draws, generate, ground);
  for (gint64 i = 0; i < generate->n; i++) {
    g_autofree char *id = g_strdup_printf("%ld", i + 1);
    OrrJobLine line = {ORR_JOB_LINE_NONE, .id = id, .submit_s = now_s, .gpus = draw_gpus(&draws)};
    line.work_s = draw_duration_s(&draws);
    if (has_models) draw_model(&draws, n_models, &line);
    if (n_queues > 0) line.queue = generate->queues[orr_random_below(&draws.queues, n_queues)];
    orr_job_trace_add(trace, &line, (OrrPlace){0}, NULL);
    now_s += generate->arrivals == ORR_ARRIVALS_POISSON
                 ? gap * -log1p(-unit(&draws, &draws.gaps, &draws.arrivals))
                 : gap;
  }
  return trace;
}

/*
 * job_generate.c - draws jobs. The mean time between submissions follows from the load:
 *
 *   gap = mean run time x mean gang / (load x GPUs)
 *
 * Gangs, run times and gaps come from streams of their own, so that another load stretches the same
 * jobs in time, and a sweep over it compares like with like.
 */
#include "workloads/cluster_jobs/job_generate.h"

#include "sim/base/random.h"

static const char *const arrival_words[] = {"poisson", "even", "at-once", NULL};
static const char *const duration_words[] = {"exponential", "lognormal", "constant", NULL};

static const OrrField fields[] = {
    ORR_FIELD_INT(OrrJobGenerate, "n", n, "1000", "Jobs.", .min = 1, .max = 1e7),
    ORR_FIELD_REAL(OrrJobGenerate, "load", load, ORR_UNIT_FRACTION, "0.8",
                   "GPU time that jobs ask for, over that of the cluster while they are submitted.",
                   .flags = ORR_FIELD_POSITIVE, .min = 1e-6, .max = 1e6),
    ORR_FIELD_WORD(OrrJobGenerate, "arrivals", arrivals, arrival_words, "poisson",
                   "Submissions: at random, evenly, or all at second 0."),
    ORR_FIELD_WORD(OrrJobGenerate, "durations", durations, duration_words, "lognormal",
                   "The distribution of run times."),
    ORR_FIELD_REAL(OrrJobGenerate, "mean", mean_s, ORR_UNIT_SECONDS, "4 h", "The mean run time.",
                   .flags = ORR_FIELD_POSITIVE, .min = 1e-6, .max = 1e8),
    ORR_FIELD_REAL(
        OrrJobGenerate, "sigma", sigma, ORR_UNIT_NONE, "2",
        "The standard deviation of the logarithm of run times, where they are lognormal.",
        .flags = ORR_FIELD_UNSIGNED, .min = 0, .max = 5),
    ORR_FIELD_REALS(OrrJobGenerate, "gpus", gpus, ORR_UNIT_NONE, "[1, 2, 4, 8]", "Sizes of gangs.",
                    .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REALS(OrrJobGenerate, "weights", weights, ORR_UNIT_NONE, "[]",
                    "How often each size is drawn, relative to the others; none: equally often.",
                    .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_TEXTS(OrrJobGenerate, "queues", queues, "[]",
                    "Queues, drawn equally often; none: the jobs have no queue."),
};
const OrrFieldTable orr_job_generate_table =
    ORR_FIELD_TABLE("cluster-generate", "Jobs drawn from distributions.", OrrJobGenerate, fields);

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
  if (generate->weights->len > 0 && generate->weights->len != generate->gpus->len) {
    orr_diags_error(diags, place, "generate has %u weights for %u sizes: want one for each",
                    generate->weights->len, generate->gpus->len);
    return;
  }
  if (!(weights_sum(generate) > 0))
    orr_diags_error(diags, place, "generate.weights sum to 0: want one above 0");
  for (guint i = 0; i < generate->gpus->len; i++)
    if (value_at(generate->gpus, i) != floor(value_at(generate->gpus, i)))
      orr_diags_error(diags, place, "generate.gpus: %g is not a whole number",
                      value_at(generate->gpus, i));
}

static double draw_gpus(const OrrJobGenerate *generate, OrrRandom *random) {
  double at = orr_random_unit(random) * weights_sum(generate);
  guint i = 0;
  while (i + 1 < generate->gpus->len && at >= weight_of(generate, i))
    at -= weight_of(generate, i++);
  return value_at(generate->gpus, i);
}

static double exponential(OrrRandom *random) { return -log1p(-orr_random_unit(random)); }

/* A lognormal of mean 1: exp(sigma z - sigma^2 / 2). */
static double draw_duration_s(const OrrJobGenerate *generate, OrrRandom *random) {
  double relative = 1;
  if (generate->durations == ORR_DURATIONS_EXPONENTIAL) relative = exponential(random);
  if (generate->durations == ORR_DURATIONS_LOGNORMAL)
    relative =
        exp(generate->sigma * orr_random_normal(random) - generate->sigma * generate->sigma / 2);
  return fmin(generate->mean_s * relative, 1e8);
}

static double gap_s(const OrrJobGenerate *generate, gint64 n_gpus) {
  double mean_gpus = 0;
  for (guint i = 0; i < generate->gpus->len; i++)
    mean_gpus += value_at(generate->gpus, i) * weight_of(generate, i) / weights_sum(generate);
  return generate->mean_s * mean_gpus / (generate->load * (double)n_gpus);
}

OrrJobTrace *orr_job_generate(const OrrJobGenerate *generate, gint64 n_gpus, guint64 seed) {
  OrrRandom gangs = orr_random_stream(seed, "job-gangs"),
            durations = orr_random_stream(seed, "job-durations"),
            gaps = orr_random_stream(seed, "job-gaps"),
            queues = orr_random_stream(seed, "job-queues");
  const double gap = generate->arrivals == ORR_ARRIVALS_AT_ONCE ? 0 : gap_s(generate, n_gpus);
  const guint n_queues = generate->queues ? g_strv_length(generate->queues) : 0;
  OrrJobTrace *trace = orr_job_trace_new();
  double now_s = 0;
  for (gint64 i = 0; i < generate->n; i++) {
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, i + 1);
    const OrrJobLine line = {
        ORR_JOB_LINE_NONE,
        .id = id,
        .queue = n_queues > 0 ? generate->queues[orr_random_below(&queues, n_queues)] : NULL,
        .submit_s = now_s,
        .work_s = draw_duration_s(generate, &durations),
        .gpus = draw_gpus(generate, &gangs)};
    orr_job_trace_add(trace, &line, (OrrPlace){0}, NULL);
    now_s += generate->arrivals == ORR_ARRIVALS_POISSON ? gap * exponential(&gaps) : gap;
  }
  return trace;
}

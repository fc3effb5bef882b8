/*
 * training_noise - stragglers: GPUs and kernels that do not all take the same time.
 *
 * For the whole run, rank r's kernels take f_r times as long as in the profile. Each kernel of t
 * seconds takes t x, with x drawn anew each time:
 *
 *     f_r = 1 + noise.rank Z           x = 1 + noise.kernel Z               normal
 *     f_r = exp(s Z - s^2 / 2)         likewise, s^2 = ln(1 + sigma^2)      log-normal, mean 1
 *
 * Kernels between two collectives are drawn together: kernels of T = sum t seconds take T on
 * average, with variance noise.kernel^2 sum t^2. That is exact for normal kernels; else it is the
 * log-normal of equal mean and variance (Fenton 1960, IRE Trans. Comm. Systems 8, for sums of
 * log-normals; good for sigma below 1). Times are never negative.
 *
 * The ranks of a lane drift apart and meet in its collectives, at transfers between stages and at
 * the end of each piece of work: the last one counts. Lanes of other stages and replicas meet where
 * the program makes them communicate, so no two of them are equal any more.
 */
#include "workloads/training/emit/training_noise.h"

typedef struct {
  OrrRandom random;
  double *factor; /* by rank of the lane */
  double *late_s; /* by rank: later than expected, since they met */
} LaneNoise;

struct OrrNoiseDraws {
  const OrrNoise *params;
  guint n_lanes, n_ranks;
  LaneNoise *lanes;
};

static const char *const distribution_words[] = {"normal", "log-normal", NULL};
enum { NORMAL, LOG_NORMAL };

const OrrFieldTable orr_training_noise_table = ORR_FIELDS(
    "noise",
    "Stragglers: kernels and GPUs that do not all take the same time, seeded by the "
    "scenario's seed. Simulate several steps.",
    OrrNoise,
    ORR_FIELD_REAL(
        OrrNoise, "rank", rank, ORR_UNIT_FRACTION, "0",
        "Standard deviation of GPUs' speeds, as a fraction of the mean: drawn once for each GPU.",
        .flags = ORR_FIELD_UNSIGNED, .max = 1),
    ORR_FIELD_REAL(
        OrrNoise, "kernel", kernel, ORR_UNIT_FRACTION, "0",
        "Standard deviation of one kernel's time, as a fraction of its mean: drawn anew for "
        "each kernel of each GPU.",
        .flags = ORR_FIELD_UNSIGNED, .max = 1),
    ORR_FIELD_WORD(OrrNoise, "distribution", distribution, distribution_words, "log-normal",
                   "Distribution of both: normal, or log-normal (a longer tail of slow ones)."));

gboolean orr_training_noise_is_on(const OrrNoise *noise) {
  return noise->rank > 0 || noise->kernel > 0;
}

/* Mean 1, standard deviation @sigma. */
static double draw(OrrRandom *random, int distribution, double sigma) {
  if (sigma <= 0) return 1;
  const double z = orr_random_normal(random);
  if (distribution == NORMAL) return MAX(1 + sigma * z, 0);
  const double square = log1p(sigma * sigma);
  return exp(sqrt(square) * z - square / 2);
}

/* Streams are named by GPU and lane, so that draws do not depend on the order of emission. */
static void init_lane(LaneNoise *lane, const OrrJob *job, const OrrNoise *params, gint64 stage,
                      gint64 replica) {
  const gint64 n = orr_job_replica_ranks(job);
  g_autofree char *name = g_strdup_printf("noise-stage-%d-replica-%d", (int)stage, (int)replica);
  lane->random = orr_random_stream(job->world->seed, name);
  lane->factor = g_new(double, n);
  lane->late_s = g_new0(double, n);
  for (gint64 r = 0; r < n; r++) {
    g_autofree char *gpu =
        g_strdup_printf("noise-gpu-%d", (int)orr_job_gpu(job, stage, replica * n + r));
    OrrRandom random = orr_random_stream(job->world->seed, gpu);
    lane->factor[r] = draw(&random, params->distribution, params->rank);
  }
}

OrrNoiseDraws *orr_noise_draws_new(const OrrJob *job, const OrrFold *fold) {
  if (!orr_training_noise_is_on(&job->params->noise)) return NULL;
  OrrNoiseDraws *draws = g_new(OrrNoiseDraws, 1);
  *draws = (OrrNoiseDraws){&job->params->noise, job->pp * fold->n, orr_job_replica_ranks(job),
                           g_new0(LaneNoise, job->pp * fold->n)};
  for (guint l = 0; l < draws->n_lanes; l++)
    init_lane(&draws->lanes[l], job, draws->params, l / fold->n, fold->first[l % fold->n]);
  return draws;
}

void orr_noise_draws_free(OrrNoiseDraws *draws) {
  if (!draws) return;
  for (guint l = 0; l < draws->n_lanes; l++) {
    ORR_FREE(draws->lanes[l].factor, draws->lanes[l].late_s);
  }
  ORR_FREE(draws->lanes, draws);
}

void orr_noise_draws_work(OrrNoiseDraws *draws, guint lane, double work_s, double squares) {
  if (!draws || work_s <= 0) return;
  LaneNoise *l = &draws->lanes[lane];
  const double sigma = draws->params->kernel * sqrt(squares) / work_s;
  for (guint r = 0; r < draws->n_ranks; r++)
    l->late_s[r] +=
        work_s * (l->factor[r] * draw(&l->random, draws->params->distribution, sigma) - 1);
}

double orr_noise_draws_meet(OrrNoiseDraws *draws, guint lane) {
  if (!draws) return 0;
  LaneNoise *l = &draws->lanes[lane];
  double last_s = l->late_s[0];
  for (guint r = 0; r < draws->n_ranks; r++) {
    last_s = MAX(last_s, l->late_s[r]);
    l->late_s[r] = 0;
  }
  return last_s;
}

/*
 * service_pool.c - a queue before workers.
 */
#include "workloads/post_training/service_pool.h"

#include <math.h>

struct OrrServicePool {
  OrrServiceParams params;
  OrrRandom random;
  GQueue waiting;
  gint64 busy;
};

typedef struct {
  OrrServicePool *pool;
  void *request;
} Job;

OrrServicePool *orr_service_pool_new(const OrrServiceParams *params) {
  OrrServicePool *pool = g_new0(OrrServicePool, 1);
  pool->params = *params;
  pool->random = orr_random_stream(params->seed, "service");
  return pool;
}

void orr_service_pool_free(OrrServicePool *pool) {
  if (!pool) return;
  g_queue_clear(&pool->waiting);
  g_free(pool);
}

/* exp(m + s z) has the mean exp(m + s^2 / 2). */
static double draw(OrrServicePool *pool) {
  const double s = pool->params.spread;
  if (s <= 0) return pool->params.mean_s;
  return pool->params.mean_s * exp(s * orr_random_normal(&pool->random) - s * s / 2);
}

static void ended(void *user);

static void begin(OrrServicePool *pool, void *request) {
  Job *job = g_new(Job, 1);
  *job = (Job){pool, request};
  pool->busy++;
  orr_engine_after(pool->params.engine, draw(pool), ended, job);
}

static void ended(void *user) {
  const Job job = *(Job *)user;
  g_free(user);
  job.pool->busy--;
  if (job.pool->waiting.length > 0) begin(job.pool, g_queue_pop_head(&job.pool->waiting));
  job.pool->params.done(job.pool->params.user, job.request);
}

void orr_service_pool_add(OrrServicePool *pool, void *request) {
  const OrrServiceParams *params = &pool->params;
  if (params->mean_s <= 0)
    params->done(params->user, request);
  else if (params->workers > 0 && pool->busy >= params->workers)
    g_queue_push_tail(&pool->waiting, request);
  else
    begin(pool, request);
}

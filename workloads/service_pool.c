/*
 * service_pool.c - a queue before workers.
 */
#include "workloads/service_pool.h"

#include "sim/base/children.h"

struct OrrServicePool {
  OrrServiceParams params;
  OrrRandom random;
  GQueue waiting; /* Job* */
  OrrPool *jobs;
  gint64 busy;
};

typedef struct {
  OrrServicePool *pool;
  void *request;
  double service_s; /* below 0: drawn when it begins */
} Job;

OrrServicePool *orr_service_pool_new(const OrrServiceParams *params) {
  OrrServicePool *pool = g_new0(OrrServicePool, 1);
  pool->params = *params;
  pool->jobs = orr_pool_new(sizeof(Job), NULL);
  pool->random = orr_random_stream(params->seed, "service");
  return pool;
}

void orr_service_pool_free(OrrServicePool *pool) {
  if (!pool) return;
  g_queue_clear(&pool->waiting);
  orr_pool_free(pool->jobs);
  g_free(pool);
}

double orr_service_pool_draw(double mean_s, double spread, OrrRandom *random) {
  if (spread <= 0) return mean_s;
  return mean_s * exp(spread * orr_random_normal(random) - spread * spread / 2);
}

static void ended(void *user);

static void begin(Job *job) {
  OrrServicePool *pool = job->pool;
  const OrrServiceParams *params = &pool->params;
  pool->busy++;
  if (job->service_s < 0)
    job->service_s = orr_service_pool_draw(params->mean_s, params->spread, &pool->random);
  orr_engine_after(params->engine, job->service_s, ended, job);
}

static void ended(void *user) {
  const Job job = *(Job *)user;
  orr_pool_give(job.pool->jobs, user);
  job.pool->busy--;
  if (job.pool->waiting.length > 0) begin(g_queue_pop_head(&job.pool->waiting));
  job.pool->params.done(job.pool->params.user, job.request);
}

static void take(OrrServicePool *pool, void *request, double service_s) {
  Job *job = orr_pool_take(pool->jobs);
  *job = (Job){pool, request, service_s};
  if (pool->params.workers > 0 && pool->busy >= pool->params.workers)
    g_queue_push_tail(&pool->waiting, job);
  else
    begin(job);
}

void orr_service_pool_add(OrrServicePool *pool, void *request) {
  const OrrServiceParams *params = &pool->params;
  if (params->mean_s <= 0)
    params->done(params->user, request);
  else
    take(pool, request, -1);
}

void orr_service_pool_add_for(OrrServicePool *pool, void *request, double service_s) {
  take(pool, request, service_s);
}

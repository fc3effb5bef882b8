/*
 * service_pool.h - workers that answer one at a time: sandboxes of tools, verifiers of answers,
 * indexes of vectors.
 *
 * A request takes a worker for a time drawn from a log-normal distribution with a given mean, and
 * waits while all are busy, first come first served (M/G/c where requests are Poisson).
 */
#pragma once

#include "sim/base/random.h"
#include "sim/engine/engine.h"

typedef struct OrrServicePool OrrServicePool;

typedef struct {
  OrrEngine *engine;
  double mean_s, spread; /* spread: standard deviation of the logarithm; 0: always the mean */
  gint64 workers;        /* 0: no limit */
  void (*done)(void *user, void *request);
  void *user;
  guint64 seed;
} OrrServiceParams;

OrrServicePool *orr_service_pool_new(const OrrServiceParams *params);
void orr_service_pool_free(OrrServicePool *pool); /* NULL is fine */
/* With a mean of 0 s, @request is done at once, inside the call. */
void orr_service_pool_add(OrrServicePool *pool, void *request);
/* The same for a given time of service, @service_s >= 0; done is never called inside. */
void orr_service_pool_add_for(OrrServicePool *pool, void *request, double service_s);
/* A log-normal time of mean @mean_s; @spread: standard deviation of its logarithm, 0: the mean.
 * exp(m + s z) has the mean exp(m + s^2 / 2). */
double orr_service_pool_draw(double mean_s, double spread, OrrRandom *random);

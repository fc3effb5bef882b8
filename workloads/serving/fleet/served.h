/*
 * served.h - what the client of a request saw, and whether that met its objectives.
 */
#ifndef ORR_SERVED_H
#define ORR_SERVED_H

#include "workloads/serving/replica/serving_run.h"

G_BEGIN_DECLS

/* Of @request, whose last token is written; on the run's clock. */
OrrServedRequest orr_served_row(const OrrServingRun *run, const OrrRequest *request);

G_END_DECLS

#endif

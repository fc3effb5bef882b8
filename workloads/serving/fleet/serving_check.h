/*
 * serving_check.h - checks of a serving scenario that span fields, and its compilation.
 */
#ifndef ORR_SERVING_CHECK_H
#define ORR_SERVING_CHECK_H

#include "workloads/serving/serving.h"

G_BEGIN_DECLS

/* OrrWorkloadKind's. */
void orr_serving_check(const void *params, const OrrModel *model, const OrrCluster *cluster,
                       OrrPlace place, OrrDiags *diags);
const char *orr_serving_check_return(const void *params, const OrrCluster *cluster);
OrrWork *orr_serving_check_compile(const void *params, const OrrWorld *world, GError **error);
void orr_serving_check_free(OrrWork *work);

G_END_DECLS

#endif

/*
 * refusals.h - options of a serving workload that exclude each other.
 */
#ifndef ORR_REFUSALS_H
#define ORR_REFUSALS_H

#include "workloads/serving/serving.h"

G_BEGIN_DECLS

void orr_refusals_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                        OrrDiags *diags);

G_END_DECLS

#endif

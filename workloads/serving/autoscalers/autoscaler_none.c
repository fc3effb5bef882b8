/*
 * autoscaler_none.c - a fixed number of replicas throughout the run.
 *
 *   workload: {replicas: 4, autoscaling: {by: none}}
 */
#include "workloads/serving/autoscalers/autoscaler.h"

const OrrAutoscaler orr_autoscaler_none = {
    .entry = {"none", "A fixed number of replicas throughout the run.", NULL},
};

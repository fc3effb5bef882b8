/*
 * autoscaler_none.c - as many replicas as the document says, from beginning to end.
 *
 *   workload: {replicas: 4, autoscaling: {by: none}}
 */
#include "workloads/serving/autoscalers/autoscaler.h"

const OrrAutoscaler orr_autoscaler_none = {
    .entry = {"none", "All replicas are there from beginning to end.", NULL},
};

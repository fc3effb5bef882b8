/*
 * gang_order.c - the registry of orders.
 */
#include "workloads/cluster_jobs/core/gang_order.h"

extern const OrrGangOrder orr_gang_fair_share, orr_gang_fifo, orr_gang_las, orr_gang_multifactor,
    orr_gang_priority, orr_gang_priority_preempt, orr_gang_sjf, orr_gang_srsf, orr_gang_srtf,
    orr_gang_tiresias;

/* Alphabetical. To add one, see gang_order.h. */
static const OrrEntry *const entries[] = {
    &orr_gang_fair_share.entry,
    &orr_gang_fifo.entry,
    &orr_gang_las.entry,
    &orr_gang_multifactor.entry,
    &orr_gang_priority.entry,
    &orr_gang_priority_preempt.entry,
    &orr_gang_sjf.entry,
    &orr_gang_srsf.entry,
    &orr_gang_srtf.entry,
    &orr_gang_tiresias.entry,
    NULL,
};
const OrrRegistry orr_gang_order_registry = {"order of jobs", entries};

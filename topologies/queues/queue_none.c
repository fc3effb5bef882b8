/*
 * queue_none.c - none: max-min flows, as on a network whose senders always know their fair share.
 *
 *   queues: none
 */
#include "topologies/queue_model.h"

const OrrQueueKind orr_queue_none = {
    .entry = {"none", "Max-min flows alone: no queues, marks or pauses.", NULL},
};

/*
 * plan_launch.h - the launch line of a scenario: the way back from `orrery import launch`.
 */
#ifndef ORR_PLAN_LAUNCH_H
#define ORR_PLAN_LAUNCH_H

#include "sim/run/scenario.h"

G_BEGIN_DECLS

/* "torchrun ... pretrain_gpt.py ..." with Megatron-LM's arguments, in lines of at most 100 columns
 * with continuations. What no argument says (tokenizer, data, learning rate) is left out. Newly
 * allocated; NULL: the scenario is not a training job, or its stack's launcher is not known
 * (plan_launch.c lists them). `orrery import launch` reads it back as an equal job. */
char *orr_plan_launch(const OrrScenario *scenario);

G_END_DECLS

#endif

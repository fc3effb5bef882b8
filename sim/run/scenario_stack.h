/*
 * scenario_stack.h - lays the software stack of each workload under what the scenario says.
 *
 *   stack's settings without a condition  --+
 *   those whose condition holds           --+-> under --merge--> workload of the scenario
 *
 * Conditions see the scenario with the unconditional settings in it: workload.parallel.tp, or
 * cluster.device.memory. A condition on a key that the scenario does not have, such as a parameter
 * of another sharding, does not hold.
 */
#pragma once

#include "sim/base/library.h"
#include "sim/run/scenario.h"
#include "workloads/stack.h"

/* A copy of the unread scenario @tree in which the workload, and each job's, is complete:
 * `stack` holds the name of the stack that answers. A workload without one gets the default of its
 * kind; with `stack: none` it stays unchanged. Findings go to @diags; a workload with findings is
 * left unchanged. */
OrrNode *orr_scenario_stack_apply(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags);

/* The stack of a workload of @kind that names none. NULL: there is none. Newly allocated. */
char *orr_scenario_stack_default(OrrLibrary *library, const char *kind);

/* The name of the stack that supplied the defaults of a workload that has been read: "none" where
 * no stack did. */
const char *orr_scenario_stack_name(const OrrChoice *workload);

/* The stacks that answer for workloads of the unread scenario @tree that name none, the defaults of
 * their kinds: "vllm-0.21", "vllm-0.21, megatron-core-26.06". NULL: there are none. Newly
 * allocated. */
char *orr_scenario_stack_assumed(OrrLibrary *library, const OrrNode *tree);

/* The device whose value of @path ("engine.reserved") the stack gives the workload of @scenario,
 * where its cluster, or a group of its replicas, has another one. NULL: there is none, or the
 * scenario has a value of its own. Newly allocated. */
char *orr_scenario_stack_borrowed(OrrLibrary *library, const OrrScenario *scenario,
                                  const char *path);

/* The settings with which the stack gives the workload of @scenario a value that only some models'
 * rows determined (`fitted-to`): "engine.host.launch of qwen3-32b+driver.sample of a/b"; "": there
 * are none. Newly allocated. */
char *orr_scenario_stack_fitted(OrrLibrary *library, const OrrScenario *scenario);

/* Adds an error for each setting of @stack that its kind of workload does not have, and for each
 * path in a condition that no scenario has. */
void orr_scenario_stack_check(const OrrStack *stack, OrrDiags *diags);

/* Whether a condition of a stack of the unread scenario @tree refers to @path, so that another
 * value there can change other settings. */
gboolean orr_scenario_stack_uses(OrrLibrary *library, const OrrNode *tree, const char *path);

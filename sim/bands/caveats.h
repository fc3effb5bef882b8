/*
 * caveats.h - warnings that follow from a scenario alone, whatever the answer's numbers are. Every
 * verb that prints an answer prints the same words.
 *
 *   devices   costs that were not measured on the device: "optimistic: no measured kernels of x"
 *             (sim/run/machine.h)
 *   software  a stack on a device whose platform it does not run on
 *   models    features that a model's document cannot express (not-modelled:): sparse attention
 *   results   results that validation found far off (known_errors.h)
 *
 * `run` gets the warnings of devices from the world that it simulates in, and leaves them out here.
 */
#pragma once

#include "sim/run/scenario.h"

/* Caveats of any number of scenarios, each text once, in the order found. */
typedef struct OrrCaveats OrrCaveats;

OrrCaveats *orr_caveats_new(OrrLibrary *library);
void orr_caveats_free(OrrCaveats *caveats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCaveats, orr_caveats_free)

/* Adds the caveats of @scenario, which may have been read without its checks
 * (orr_scenario_read_fields). The first loads each device's profile once; the second leaves devices
 * out. */
void orr_caveats_add(OrrCaveats *caveats, const OrrScenario *scenario);
void orr_caveats_add_others(OrrCaveats *caveats, const OrrScenario *scenario);

/* Adds that uncertain inputs count at their values: for verbs that replay nothing. */
void orr_caveats_add_values(OrrCaveats *caveats, const OrrScenario *scenario);

/* Adds @text unless it is there. */
void orr_caveats_add_text(OrrCaveats *caveats, const char *text);

/* Of char *; owned by @caveats. */
const GPtrArray *orr_caveats_texts(const OrrCaveats *caveats);

/*
 * exchange.h - writes what a scenario's ranks do as files of other tools.
 */
#pragma once

#include "sim/run/scenario.h"

/* Whether @path names such a file: NAME.et, NAME.goal. */
gboolean orr_exchange_is_asked(const char *path);

/* Replays @scenario, which must be a training step, once more, rank by rank, and writes the Chakra
 * traces NAME.0.et, NAME.1.et, ... and NAME.groups.json, or the schedule NAME.goal. */
gboolean orr_exchange_write(OrrLibrary *library, const OrrScenario *scenario, const char *path,
                            GError **error);

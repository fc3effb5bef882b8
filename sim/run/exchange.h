/*
 * exchange.h - writes what a scenario's ranks do as files of other tools.
 */
#pragma once

#include "sim/run/scenario.h"

/* Whether @path names such a file: NAME.cm, NAME.et, NAME.goal, NAME.txt. */
gboolean orr_exchange_is_asked(const char *path);

/* Replays @scenario, which must be a training step, once more, rank by rank, and writes the Chakra
 * traces NAME.0.et, NAME.1.et, ... and NAME.groups.json, the schedule NAME.goal, layers as text
 * NAME.txt, or the connection matrix NAME.cm with its NAME.flows.csv. */
gboolean orr_exchange_write(OrrLibrary *library, const OrrScenario *scenario, const char *path,
                            GError **error);

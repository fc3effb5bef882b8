/*
 * training_loader.h - data that the hosts prepare: compute waits for each micro-batch.
 */
#pragma once

#include "workloads/training/emit/training_emitter.h"

extern const OrrFieldTable orr_training_loader_table;
gboolean orr_training_loader_is_on(const OrrLoader *loader);

/* A micro-batch enters the model: compute waits until it is prepared, and the loader begins the
 * next one. */
void orr_training_loader_take(OrrEmitter *e, const OrrLaneAt *lane, gint32 micro_batch);
/* At the end of a step: compute waits for the last step's replacements. */
void orr_training_loader_refill(OrrEmitter *e, const OrrLaneAt *lane);

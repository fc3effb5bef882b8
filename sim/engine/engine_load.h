/*
 * engine_load.h - the SimGrid engine, a module of its own, and what a program must have in common
 * with it.
 */
#pragma once

#include "sim/engine/sharing.h"

G_BEGIN_DECLS

/* Sizes of the structs that cross between program and module. */
typedef struct {
  gsize of_engine, of_transfer, of_link, of_class, of_event, of_system;
} OrrEngineLayout;
#define ORR_ENGINE_LAYOUT                                                                          \
  {                                                                                                \
    sizeof(OrrEngine), sizeof(OrrTransfer), sizeof(OrrEngineLink), sizeof(OrrEngineClass),         \
        sizeof(OrrEvent), sizeof(OrrSharingSystem)                                                 \
  }

/* Loads the engine once; NULL with ORR_FAULT_RESOURCE where it cannot be found or loaded. */
const OrrEngineClass *orr_engine_load_simgrid(GError **error);

G_END_DECLS

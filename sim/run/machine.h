/*
 * machine.h - a device with its profile: the source of all costs. Scenarios and commands find the
 * profile of a device here and nowhere else.
 *
 * A device's profile is the one that it names (`profile:`), else the one of its own name; without
 * either, its datasheet models all costs. Rows measured on another device are scaled by the ratio
 * of the two rooflines (orr_cost_model_new_scaled).
 *
 * A profile is read once for a library, and so are the tables of costs built that follow from it,
 * since reading and building take as long as a run does.
 */
#pragma once

#include "calibration/cost/cost.h"
#include "sim/base/library.h"

typedef struct {
  const OrrProfile *profile; /* the library's; NULL: the datasheet alone */
  const OrrDevice *device;
  OrrDevice *measured_on; /* of the profile's rows, where it may differ from @device; else NULL */
  OrrDevice *own;         /* @device, where it was loaded by name; else NULL */
  /* The library's device of @device's name, where the profile has rows of both; else NULL. */
  OrrDevice *named;
  OrrCostTables *tables; /* the library's, for all machines alike; NULL: each has its own */
} OrrMachine;

/* Loads @name, which can be a path: a device with its profile, or a profile with its device. The
 * device of a profile is the device of the same name; without one, the device that its rows were
 * measured on. FALSE with the reason in @diags. In both cases *@ret_machine is fit for
 * orr_machine_clear. */
gboolean orr_machine_load(OrrLibrary *library, const char *name, OrrMachine *ret_machine,
                          OrrDiags *diags);
/* The machine of @device, which must outlive it and may differ from the library's device of the
 * same name. */
gboolean orr_machine_of(OrrLibrary *library, const OrrDevice *device, OrrMachine *ret_machine,
                        OrrDiags *diags);
/* The device alone, where its profile does not exist yet. */
gboolean orr_machine_load_device(OrrLibrary *library, const char *name, OrrMachine *ret_machine,
                                 OrrDiags *diags);
void orr_machine_clear(OrrMachine *machine);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrMachine, orr_machine_clear)

/* The costs of @machine, which must outlive them. */
OrrCostModel *orr_machine_costs(const OrrMachine *machine, GError **error);
/* Appends a warning (char *, newly allocated) where costs are not measured on the device itself. */
void orr_machine_warn(const OrrMachine *machine, GPtrArray *warnings);

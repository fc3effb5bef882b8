/*
 * machine.h - a device with its profile: what questions about costs are asked of. There is this one
 * way to find the profile of a device, for scenarios and for commands that name a device or a
 * profile.
 *
 * A device's profile is the one that it names (`profile:`), else the one of its own name; without
 * either its datasheet answers. Rows of another device are carried over by the ratio of the two
 * rooflines (orr_cost_model_new_scaled).
 */
#ifndef ORR_MACHINE_H
#define ORR_MACHINE_H

#include "calibration/cost/cost.h"
#include "sim/base/library.h"

G_BEGIN_DECLS

typedef struct {
  OrrProfile *profile; /* NULL: the datasheet alone */
  const OrrDevice *device;
  OrrDevice *measured_on; /* of the profile's rows, where that may differ from @device; else NULL */
  OrrDevice *own;         /* @device, where it was loaded by name; else NULL */
} OrrMachine;

/* @name: a profile; or a device. A profile is of the device of its own name, whatever its rows
 * were measured on, and without such a device of the latter. FALSE with the reason in @diags.
 * @ret_machine is fit for orr_machine_clear either way. */
gboolean orr_machine_load(OrrLibrary *library, const char *name, OrrMachine *ret_machine,
                          OrrDiags *diags);
/* The machine of @device, which must outlive it and may differ from the library's device of that
 * name. */
gboolean orr_machine_of(OrrLibrary *library, const OrrDevice *device, OrrMachine *ret_machine,
                        OrrDiags *diags);
/* The device alone, for one whose profile is about to be made. */
gboolean orr_machine_load_device(OrrLibrary *library, const char *name, OrrMachine *ret_machine,
                                 OrrDiags *diags);
void orr_machine_clear(OrrMachine *machine);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrMachine, orr_machine_clear)

/* The costs of @machine, which must outlive them. */
OrrCostModel *orr_machine_costs(const OrrMachine *machine, GError **error);
/* Appends what the profile does not hold of the device's own (char *, newly allocated): told,
 * not hidden. */
void orr_machine_warn(const OrrMachine *machine, GPtrArray *warnings);

G_END_DECLS

#endif

/*
 * machine.h - a device with its profile, by the name of either: what questions about costs are asked of.
 */
#ifndef ORR_MACHINE_H
#define ORR_MACHINE_H

#include "calibration/cost.h"
#include "sim/base/library.h"

G_BEGIN_DECLS

typedef struct {
  OrrProfile *profile; /* NULL: the datasheet alone */
  OrrDevice *device;
  OrrDevice *measured_on; /* of the profile's rows, where that is another one; else NULL */
} OrrMachine;

/* @name: a profile; or a device that names one; or one that has none, which is answered from its datasheet. A profile is
 * of the device of its own name, whatever its rows were measured on, and without such a device of the latter. FALSE with
 * the reason in @diags. @ret_machine is fit for orr_machine_clear either way. */
gboolean orr_machine_load(OrrLibrary *library, const char *name, OrrMachine *ret_machine, OrrDiags *diags);
/* The costs of @machine, which must outlive them. */
OrrCostModel *orr_machine_costs(const OrrMachine *machine, GError **error);
/* The device alone, for one whose profile is about to be made. */
gboolean orr_machine_load_device(OrrLibrary *library, const char *name, OrrMachine *ret_machine, OrrDiags *diags);
void orr_machine_clear(OrrMachine *machine);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrMachine, orr_machine_clear)

G_END_DECLS

#endif

/*
 * products.h - whether a device multiplies the format that a workload asks for.
 */
#ifndef ORR_PRODUCTS_H
#define ORR_PRODUCTS_H

#include "sim/base/diag.h"
#include "topologies/device.h"

G_BEGIN_DECLS

/* Refuses @products, which the key @what has as @word, where @device does not multiply it: it would
 * run as something else. @advice ends the sentence; "": none. */
void orr_products_check(const OrrDevice *device, const char *what, const char *word,
                        OrrDtype products, const char *advice, OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif

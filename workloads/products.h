/*
 * products.h - whether a device multiplies the format that a workload asks for.
 */
#pragma once

#include "sim/base/diag.h"
#include "topologies/device.h"

/* Refuses @products, which the key @what has as @word, where @device does not multiply it: it would
 * run as something else. @advice ends the sentence; "": none. */
void orr_products_check(const OrrDevice *device, const char *what, const char *word,
                        OrrDtype products, const char *advice, OrrPlace place, OrrDiags *diags);

/*
 * products.c - refuses formats that a device does not multiply, in one sentence for all workloads.
 */
#include "workloads/products.h"

void orr_products_check(const OrrDevice *device, const char *what, const char *word,
                        OrrDtype products, const char *advice, OrrPlace place, OrrDiags *diags) {
  if (orr_device_peak_flops(device, products) <= 0)
    orr_diags_error(diags, place, "%s %s: device %s does not multiply %s%s", what, word,
                    device->name, orr_dtype_names[products], advice);
}

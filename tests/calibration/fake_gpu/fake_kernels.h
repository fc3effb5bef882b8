/*
 * fake_kernels.h - constants in the fake machine's memory, which collectives read and write: a
 * buffer that was filled with one value needs no more than that value to be summed.
 */
#pragma once

#include <glib.h>

/* TRUE if the newest write of the place filled it with a constant. */
gboolean fake_kernels_constant(const void *at, double *ret_value);
void fake_kernels_write_constant(void *out, int format, gsize n, double value);

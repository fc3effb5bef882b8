/*
 * latin.h - Latin hypercube designs (McKay, Beckman, Conover 1979): points that spread over every
 * axis, whatever the other axes do.
 */
#pragma once

#include "sim/base/random.h"

/* Deals @n points: values[r * n_axes + a], from 0 to n_values[a] - 1, is the value of axis a at
 * point r. Each value of an axis occurs n / n_values[a] times, give or take one; so where an axis
 * has @n values, each occurs once. */
void orr_latin_deal(const guint *n_values, guint n_axes, guint n, guint *values, OrrRandom *random);

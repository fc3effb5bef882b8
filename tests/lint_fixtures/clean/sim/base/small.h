/*
 * small.h - a header that breaks no rule of the lint.
 */
#ifndef ORR_SMALL_H
#define ORR_SMALL_H

#include "sim/base/ground.h"

gint64 orr_small(gint64 a);

#endif

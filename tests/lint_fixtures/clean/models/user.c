/*
 * user.c - uses a header from the floor below it.
 */
#include "sim/base/small.h"

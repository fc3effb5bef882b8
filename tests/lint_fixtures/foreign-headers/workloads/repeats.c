/*
 * repeats.c - includes a header that sim/base/ground.h brings.
 */
#include <string.h>

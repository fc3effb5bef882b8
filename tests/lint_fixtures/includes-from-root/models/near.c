/*
 * near.c - includes a header by its bare name.
 */
#include "near.h"

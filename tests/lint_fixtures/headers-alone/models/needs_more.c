/*
 * needs_more.c - has the header first, but a compiled glib.h before it would hide what that lacks.
 */
#include "models/needs_more.h"

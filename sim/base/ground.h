/*
 * ground.h - what nearly every file uses: GLib, the C library's numbers and texts, and faults. A
 * header that needs GLib includes this one; a source gets it with its first header.
 */
#pragma once

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/fault.h"

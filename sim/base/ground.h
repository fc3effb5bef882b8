/*
 * ground.h - what nearly every file uses: GLib, and the C library's numbers and texts. A header
 * that needs GLib includes this one; a source gets it with its first header.
 */
#pragma once

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

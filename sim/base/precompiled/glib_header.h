/* glib_header.h - what nearly every file includes, for the option `precompiled`
 * (meson_options.txt). */
#include "sim/base/ground.h"

/*
 * ground.h - the one header that includes GLib's.
 */
#pragma once

#include <glib.h>

/*
 * installation.h - where the program runs, and what belongs to it: in its build folder the source
 * tree, elsewhere the installed files.
 *
 * The program holds no path of the machine that built it: on another machine that path can belong
 * to a user who would then choose what the program loads (CWE-427). meson writes the path of the
 * source tree into a file of the build folder instead, which is read where it lies in the program's
 * folder, or one folder above a test program (tests/), and has the program's owner.
 */
#pragma once

#include "sim/base/ground.h"

/* The folder of the running program. Newly allocated. */
char *orr_installation_program(void);

/* The build folder that the program runs in, and its source tree; NULL where it is installed. Newly
 * allocated. */
char *orr_installation_build(char **ret_source);

/* Folders to search, best first: @relative ("../share/orrery") from the program, then @installed,
 * where `meson install` put it; absolute, each once. Strv, newly allocated. */
char **orr_installation_folders(const char *relative, const char *installed);

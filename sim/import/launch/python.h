/*
 * python.h - statements and calls of Python as text, for configs that are Python programs.
 * Nothing is executed.
 */
#pragma once

#include "sim/base/ground.h"

/* The logical line at *@c, which moves behind it: brackets may span lines; comments are left out.
 * @line counts. Newly allocated. */
char *orr_python_line(const char **c, int *line);
/* Where @letter stands in @text outside of brackets and quotes; NULL: nowhere. */
const char *orr_python_find(const char *text, char letter);
/* The parts of @text between commas, stripped. Newly allocated. */
char **orr_python_parts(const char *text);
/* "f(a, b)": the function's name; @ret_arguments without the brackets. NULL: not a call. Both newly
 * allocated. */
char *orr_python_call(const char *text, char **ret_arguments);

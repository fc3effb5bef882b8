/*
 * main.c - nothing but main: all else is in the library, where tests reach it.
 */
#include "sim/cli/cli.h"

int main(int argc, char **argv) { return orr_cli_main(argc, argv); }

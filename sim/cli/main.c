/*
 * main.c - only main(): everything else is in the library, so that tests can call it.
 */
#include "sim/cli/cli.h"

int main(int argc, char **argv) { return orr_cli_main(argc, argv); }

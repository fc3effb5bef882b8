/*
 * long_file.c - a file that lint_test.sh makes 601 lines long.
 */

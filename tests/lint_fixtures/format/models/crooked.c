/*
 * crooked.c - code that clang-format would write otherwise.
 */
int orr_crooked( int a );

/*
 * chatty.c - library code that prints to standard output.
 */
#include <stdio.h>

void orr_chatty(void);

/* A comment may say printf("x"), and so may a text. */
void orr_chatty(void) { printf("printf(\"x\")"); }

/*
 * chatty.c - library code that prints to standard output.
 */
void orr_chatty(void);

/* A comment may say printf("x"), and so may a text. */
void orr_chatty(void) { printf("printf(\"x\")"); }

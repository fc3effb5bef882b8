/*
 * silent.c - see silent.h.
 */

/*
 * near.h - the header that near.c includes.
 */
/* Included by its bare name below. */

/*
 * shape.c - the first of two files of one name.
 */

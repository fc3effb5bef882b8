/*
 * shape.c - the second of two files of one name.
 */

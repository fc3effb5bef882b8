/*
 * wide.c - this comment goes on and on and on, and does not end before it has more than 100 columns.
 */

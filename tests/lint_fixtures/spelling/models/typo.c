/*
 * typo.c - a comment with an erorr in it.
 */

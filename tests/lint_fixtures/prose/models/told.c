/*
 * told.c - a comment in which a model told somebody how long a step takes.
 */

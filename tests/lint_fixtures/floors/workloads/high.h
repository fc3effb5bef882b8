/*
 * high.h - a header on a floor above models.
 */
/* A model that knows of a workload: the wrong way up. */

/*
 * low.c - a model that includes a workload: the wrong way up.
 */
#include "workloads/high.h"

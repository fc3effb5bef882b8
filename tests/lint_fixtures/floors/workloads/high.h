/* A model that knows of a workload: the wrong way up. */

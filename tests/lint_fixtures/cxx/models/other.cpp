/* A second C++ file. */

/*
 * other.cpp - C++ outside of the one file that may be.
 */

/*
 * relative.h - paths of the command line inside documents that lie elsewhere.
 *
 * A relative path in a document counts from the folder of that document; one on the command line
 * counts from the working directory. A verb that puts such a path into a document (`plan -o`,
 * `import launch -o`, `--set`) rewrites the paths in between:
 *
 *   --cluster ./machines/mine.yaml -o jobs/x.yaml        cluster: {base: ../machines/mine.yaml}
 *
 * What names a file: a scalar that ends in .yaml (library.h), and has a '/' or is a file; and a
 * relative path with a '/', or with the ending of a table or trace, to a file that exists.
 */
#pragma once

#include "sim/base/ground.h"

/* The YAML text @text with its paths as a document at @document says them; the rest is unchanged,
 * comments too. @document NULL, or a text that cannot be parsed: a copy. Newly allocated. */
char *orr_relative_text(const char *text, const char *document);

/* The same for a value of --set, but names of documents stay: they count from the working
 * directory wherever they are set (sim/base/library.c). */
char *orr_relative_value(const char *text, const char *document);

/*
 * phrases.c - a sentence for each phrase that tests/prose.txt bans.
 *
 * The run told how long it takes. The two points cannot be told apart.
 * The time of a step is that of the kernel.
 * The rows are those of the table.
 * Three rows, of which one is missing.
 * The clock runs as it has it.
 * It fails for whoever asks.
 * A group of those who wait.
 * The width is that of it.
 * The key is there twice. The keys are there twice.
 * It skips what is there.
 * It takes so many steps.
 * The order stays as it is.
 * Who asks for it does so at once. They do so at once. It did so at once.
 * The cell is none of these.
 * The word is no unit. The cells are no units. The cells are none.
 * It moves 12 bytes a second.
 * It takes 3 seconds a step.
 * It counts tokens a second and GPU.
 * The row belongs into the table.
 * The table knows the time.
 * The column says more.
 * It crosses the wire. It crosses a comb of ranks. It lies on a shelf. The harm is small.
 * A spell of rain. The twin engine. It is one or two as the case may be.
 * The closed form stands beside the result.
 * The traffic beside it is slow.
 * The two stay apart.
 * The row was set aside.
 * The crew stops.
 * The odd row goes.
 * The share is as of a GPU.
 */

# Tokens a second against GPUs; the ideal is dashed. Both axes double from line to line.
set logscale xy 2
set format y "%.1s%c"
set xlabel "GPUs"
set ylabel "tokens a second"
set key tmargin center horizontal maxcols 2
set grid
# A scenario and its ideal have one colour: the ideals come after the scenarios, in the same order.
half = (blocks + 1) / 2
plot for [i = 0:half - 1] data index i using 1:2 with linespoints linecolor 1 + i pointtype 7 linewidth 2 title columnheader(1), \
  for [i = half:blocks - 1] data index i using 1:2 with lines linecolor 1 + i - half dashtype 3 title columnheader(1)

# Tokens per second over GPUs; the ideal is dashed, whiskers are error bands. Both axes are logarithmic, with base 2.
# A cross marks what measurements would most likely show, where the point lies outside its band.
outside(y, low, high) = y < low || y > high
set logscale xy 2
set format y "%.1s%c"
set xlabel "GPUs"
set ylabel "tokens per second"
set key tmargin center horizontal maxcols 2
set grid
set errorbars 0.6
set offsets graph 0.04, graph 0.04, 0, 0
# A scenario and its ideal share a colour. The ideals follow the scenarios, in the same order.
half = (blocks + 1) / 2
plot for [i = 0:half - 1] data index i using 1:2:4:5 with yerrorbars linecolor 1 + i linewidth 1.5 pointsize 0 notitle, \
  for [i = 0:half - 1] data index i using 1:6:(outside($2, $4, $5) ? 0.8 : 0) with points pointtype 2 pointsize variable linecolor 1 + i notitle, \
  for [i = 0:half - 1] data index i using 1:2 with linespoints linecolor 1 + i pointtype 7 linewidth 2 title columnheader(1), \
  for [i = half:blocks - 1] data index i using 1:2 with lines linecolor 1 + i - half dashtype 3 title columnheader(1)

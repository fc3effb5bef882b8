# On the diagonal the simulation is right; the dotted lines are 20 % off.
set logscale xy
set xlabel "measured"
set ylabel "simulated"
set key outside bottom center horizontal maxcols 3
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with points pointtype 7 pointsize 0.6 title columnheader(1), \
  x with lines linecolor "black" notitle, \
  1.2 * x with lines dashtype 3 linecolor "black" notitle, \
  x / 1.2 with lines dashtype 3 linecolor "black" notitle

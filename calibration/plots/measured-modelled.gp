# measured-modelled.gp DATA OUTPUT TERMINAL TITLE BLOCKS - kernels on shapes that a profile has not seen: on the diagonal
# the model is right, the dotted lines are 20 % off. `orrery describe profile NAME --plot FILE.svg` runs it.
data = ARG1
set output ARG2
set terminal ARG3 size 900, 600 noenhanced
if (ARG3 eq "pdfcairo") set terminal pdfcairo size 9in, 6in noenhanced
set title ARG4
set xlabel "measured, microseconds"
set ylabel "modelled, microseconds"
set logscale xy
set key outside bottom center horizontal maxcols 2
set grid
plot for [i = 0:ARG5 - 1] data index i using 1:2 with points pointtype 7 pointsize 0.25 title columnheader(1), \
  x with lines linecolor "black" notitle, \
  1.2 * x with lines dashtype 3 linecolor "black" notitle, \
  x / 1.2 with lines dashtype 3 linecolor "black" notitle

# Simulated against measured values. The solid line is equality; the dotted lines are 20 % off.
stats data using 1:2 nooutput
low = (STATS_min_x < STATS_min_y ? STATS_min_x : STATS_min_y) / 1.3
high = (STATS_max_x > STATS_max_y ? STATS_max_x : STATS_max_y) * 1.3
set logscale xy
set xrange [low:high]
set yrange [low:high]
set xtics ()
set ytics ()
do for [decade = floor(log10(low)):floor(log10(high))] {
  do for [digit in high / low < 300 ? "1 2 5" : "1"] {
    set xtics add (short(digit * 10.0 ** decade) digit * 10.0 ** decade)
    set ytics add (short(digit * 10.0 ** decade) digit * 10.0 ** decade)
  }
}
set xlabel "measured"
set ylabel "simulated"
set key tmargin center horizontal maxcols 3
set grid
plot for [i = 0:blocks - 1] data index i using 1:2 with points pointtype dot(i) pointsize 1 title columnheader(1), \
  x with lines linecolor "black" notitle, \
  1.2 * x with lines dashtype 3 linecolor "black" notitle, \
  x / 1.2 with lines dashtype 3 linecolor "black" notitle

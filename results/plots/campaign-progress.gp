# Tokens trained and kept over time, next to a job without failures; on the right axis, the hours lost by phase.
set xlabel "days"
set ylabel "trillion tokens"
set y2label "hours lost"
set xrange [0:*]
set yrange [0:*]
set y2range [0:*]
set ytics nomirror
set y2tics
set key tmargin center horizontal maxcols 3
set grid
plot data index 0 using 1:2 with lines linewidth 2 title columnheader(1), \
  data index 1 using 1:2 with lines dashtype 3 linewidth 1.5 title columnheader(1), \
  for [i = 2:blocks - 1] data index i using 1:3 axes x1y2 with steps title columnheader(1)." (right)"

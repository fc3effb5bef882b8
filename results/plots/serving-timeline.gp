# Running and waiting requests over time, and the part of the cache in use.
set xlabel "seconds"
set ylabel "requests on a replica"
set y2label "percent of the cache"
set yrange [0:*]
set y2range [0:*]
set ytics nomirror
set y2tics
set key tmargin center horizontal
set grid
plot data index 0 using 1:7 with steps linewidth 2 title "running", \
  data index 0 using 1:8 with steps linewidth 2 title "waiting", \
  data index 0 using 1:9 axes x1y2 with steps linewidth 2 dashtype 2 title "cache in use (right)"

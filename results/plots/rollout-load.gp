# Responses that are written and that wait over time, and the percentage of the engines that run.
set xlabel "seconds"
set ylabel "responses"
set y2label "percent of the engines"
set yrange [0:*]
set y2range [0:105]
set ytics nomirror
set y2tics
set key tmargin center horizontal
set grid
plot data index 0 using 1:3 with steps linewidth 2 title "written", \
  data index 0 using 1:4 with steps linewidth 2 title "waiting", \
  data index 0 using 1:5 with steps linewidth 2 title "at tools", \
  data index 0 using 1:2 axes x1y2 with steps linewidth 2 dashtype 2 title "engines busy (right)"

#!/usr/bin/env python3
"""dump.py DB - every row of every table of a results database, but for when it was written and how long it took; doubles
to 17 digits. Two databases with the same rows print the same text."""
import sqlite3, sys

db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
names = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
for name in names:
    columns = [r[1] for r in db.execute(f"PRAGMA table_info('{name}')") if r[1] not in ("started_at", "wall_time_s")]
    print("--", name, columns)
    for row in sorted(map(repr, db.execute(f"SELECT {', '.join(columns)} FROM \"{name}\""))):
        print(row)

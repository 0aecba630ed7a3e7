"""Metrics of running engines: what their caches did, and what looks wrong.

scrape.py      a file or a URL -> text         exposition.py  text -> samples
sheets.py      which metric means what, one data file an engine in engines/
readings.py    counters and gauges over the samples
symptoms.py    what looks wrong in one sample  leaks.py       ... and only over several
run.py         all of it
"""

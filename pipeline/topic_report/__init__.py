"""Figures of topics: size, rates over time, sizes of values, spread of keys, late records.

measures.py      DataFrames of rows in, small DataFrames of figures out
report.py        the figures as JSON
figures_page.py  the figures as charts and as an HTML page
"""

"""What topics are made of: how much, when, how large, how the keys are spread, what is late.

measures.py      DataFrames of rows in, small DataFrames of figures out
report.py        the figures as JSON
figures_page.py  the same as charts and as a page
"""

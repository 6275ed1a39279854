"""Charts and HTML pages of the reports.

charts.py       charts as plain values
page.py         pages of HTML with tables, and charts drawn as SVG
png_charts.py   charts drawn as PNG files, by matplotlib
"""

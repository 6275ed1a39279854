"""Regular expressions of clients, in the syntax of RE2: matching takes linear time, whatever the expression is."""

"""Where groups of a joint round run or could run, and why jobs with plans find no room."""

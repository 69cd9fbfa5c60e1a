"""Numbers for a round: how fast plans are (``plan_speed``) and how long jobs take (``job_length``)."""

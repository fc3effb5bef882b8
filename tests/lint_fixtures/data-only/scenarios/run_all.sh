# A script among the scenarios.

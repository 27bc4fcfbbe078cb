"""From subjects to a report: each check is asked, causes are put in order, fixes are tried."""

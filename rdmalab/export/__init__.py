"""OTHER PEOPLE'S FORMATS: what happened, as the bytes of a file that another program reads."""

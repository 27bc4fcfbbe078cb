"""Commands of the experimenter: time, faults, views, why, files. Programs have none of them."""

"""A scenario played with many values of its parameters: points, measures, tables, plots."""

"""Rows as cells, and what each meaning looks like. No screen is known here."""

"""Plays scenarios from outside, in a real browser against a live server, and writes a report. Needs Playwright."""

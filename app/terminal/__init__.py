"""Printed output of the commands."""

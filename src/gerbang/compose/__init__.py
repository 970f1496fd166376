"""Putting the parts together: what a program that uses Gerbang starts from."""

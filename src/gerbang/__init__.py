"""Gerbang: the trusted runtime between a language model and everything it could change or leak."""

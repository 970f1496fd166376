"""The digest chain."""

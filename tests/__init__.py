"""The tests, as a package: modules of the same name in different folders stay apart."""

"""Are the tests good enough? Small mistakes are made in the package, one at a time, and the tests must notice each."""

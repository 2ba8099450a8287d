"""Mutation testing: the tests must fail for each small change (mutant) of the package."""

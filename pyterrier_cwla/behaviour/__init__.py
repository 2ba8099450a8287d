"""From behaviour to numbers and back: what logs say of users, and what users of a metric would live through."""

"""What is wrong, where, and the way out: findings as data, their codes, suggestions and their text form."""

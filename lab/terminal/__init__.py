"""The game in a terminal: boards as text, commands as lines, advice on the next move."""

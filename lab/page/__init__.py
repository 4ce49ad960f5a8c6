"""The teaching page: lessons of the game in one HTML file, and the grading of plays."""

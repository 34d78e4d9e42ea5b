"""Sign-in, and the page of people."""

"""Tables, functions, projections and views, as .sql files, and what applies them."""

-- Callers who wait for a session learn whether its failed turn is to continue.
GRANT SELECT ON turn_continuations TO hawser_app;

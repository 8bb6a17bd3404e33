-- Previews: exposures of a server that a session runs.
ALTER TABLE exposures
  -- The port on the host on which the server listens; null for an exposure of opencode. "port" is the public side's.
  ADD COLUMN preview_port integer CHECK (preview_port BETWEEN 1 AND 65535),
  ADD CONSTRAINT exposures_preview_of_session CHECK (preview_port IS NULL OR session_id IS NOT NULL);

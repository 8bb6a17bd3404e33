-- Repositories whose own configuration the agents of an organization may use, and what sessions use of it.
ALTER TABLE organizations ADD COLUMN trusted_repositories jsonb NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN trusted_parts text[] NOT NULL DEFAULT '{}';

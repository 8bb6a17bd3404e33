-- Modes: what the agent of a session may do without asking a person.

ALTER TABLE organizations
  ADD COLUMN default_mode text NOT NULL DEFAULT 'ask',
  ADD COLUMN highest_mode text NOT NULL DEFAULT 'unattended';

ALTER TABLE sessions ADD COLUMN mode text NOT NULL DEFAULT 'ask';

-- Why a person is asked; null if the host did not say.
ALTER TABLE requests ADD COLUMN rule text;

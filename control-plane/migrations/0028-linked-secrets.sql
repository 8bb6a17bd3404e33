-- Accounts that members link with a secret instead of a login. The secret is only on the host.

-- Secrets of members are allowed unless an owner forbids them; only subscriptions depend on the terms of their
-- maker. Existing rows first: the update takes long, and the statements after it lock their tables.
UPDATE organizations SET allowed_logins = allowed_logins || '{api_key,gateway,cloud}'::text[];
ALTER TABLE organizations ALTER COLUMN allowed_logins SET DEFAULT '{api_key,gateway,cloud}'::text[];

-- How the account is used; null if the host has not reported it.
ALTER TABLE agent_accounts ADD COLUMN way text;

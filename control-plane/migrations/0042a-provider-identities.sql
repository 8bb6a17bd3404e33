-- Which members of an organization the people of its provider are (decision 0083).

-- The key that calls with a provider's sign-in are made with. It has no secret. It is not `sign_in_key`: whoever
-- manages the provider must not act as the person's account.
ALTER TABLE memberships ADD COLUMN provider_key uuid;
GRANT UPDATE (provider_key) ON memberships TO hawser_sign_in;

CREATE TABLE sign_in.identities (
  organization_id uuid NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  user_id uuid NOT NULL,
  -- The role that a group last gave; null if no group did.
  group_role text,
  created_at timestamptz NOT NULL DEFAULT public.hawser_now(),
  PRIMARY KEY (organization_id, issuer, subject),
  FOREIGN KEY (organization_id, user_id) REFERENCES public.memberships ON DELETE CASCADE
);
CREATE INDEX identities_of_member ON sign_in.identities (organization_id, user_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in.identities TO hawser_sign_in;

-- People who sign in: accounts, their sign-ins, and invitations (decision 0080).
--
-- Accounts and sign-ins belong to a person and not to an organization, so they are in a schema and under a
-- role of their own: neither hawser_app nor hawser_system can read them. A sign-in reaches an organization
-- only through a membership whose `sign_in_key` is set, which happens when the person accepts an invitation
-- of that organization. So nobody who can add members gains what a person may do elsewhere.

DO $$
DECLARE
  login regrole;
BEGIN
  BEGIN
    CREATE ROLE hawser_sign_in NOLOGIN;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
  END;
  GRANT hawser_sign_in TO CURRENT_USER;
  -- The logins of nodes, whatever their names are.
  FOR login IN SELECT member FROM pg_auth_members WHERE roleid = 'hawser_system'::regrole LOOP
    IF NOT pg_has_role(login, 'hawser_sign_in', 'MEMBER') THEN
      EXECUTE format('GRANT hawser_sign_in TO %s', login);
    END IF;
  END LOOP;
END $$;

CREATE SCHEMA sign_in;
GRANT USAGE ON SCHEMA sign_in TO hawser_sign_in, hawser_app;

CREATE TABLE sign_in.accounts (
  user_id uuid PRIMARY KEY REFERENCES public.users,
  -- Argon2id, with its parameters and salt. Null if the person signs in otherwise.
  password_hash text,
  created_at timestamptz NOT NULL DEFAULT public.hawser_now()
);

CREATE TABLE sign_in.sign_ins (
  sign_in_id uuid PRIMARY KEY DEFAULT public.hawser_new_id(),
  -- SHA-256 of the cookie.
  token_hash bytea NOT NULL UNIQUE,
  user_id uuid NOT NULL REFERENCES sign_in.accounts,
  way text NOT NULL CHECK (way IN ('password', 'invitation', 'passkey')),
  -- The browser, as its user agent names itself.
  device text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT public.hawser_now(),
  -- When the person last proved who they are.
  authenticated_at timestamptz NOT NULL DEFAULT public.hawser_now(),
  expires_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL DEFAULT public.hawser_now(),
  ended_at timestamptz
);
CREATE INDEX sign_ins_of_user ON sign_in.sign_ins (user_id, sign_in_id) WHERE ended_at IS NULL;
CREATE INDEX sign_ins_by_expiry ON sign_in.sign_ins (expires_at);

-- Wrong passwords of unknown browsers, counted by a secret digest of the address, whether it has an account or not.
CREATE TABLE sign_in.wrong_passwords (
  bucket int PRIMARY KEY CHECK (bucket BETWEEN 0 AND 65535),
  wrong int NOT NULL,
  since timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON sign_in.wrong_passwords TO hawser_sign_in;

CREATE TABLE sign_in.passkeys (
  -- In base64url, as browsers name it.
  credential_id text PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES sign_in.accounts,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  -- The browser with which it was made.
  device text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT public.hawser_now(),
  last_used_at timestamptz
);
CREATE INDEX passkeys_of_user ON sign_in.passkeys (user_id, created_at);

-- Challenges that a browser has answered, until they are too old to be answered again.
CREATE TABLE sign_in.spent_challenges (
  -- SHA-256 of the challenge.
  challenge_hash bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX spent_challenges_by_expiry ON sign_in.spent_challenges (expires_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in.passkeys TO hawser_sign_in;
GRANT SELECT, INSERT, DELETE ON sign_in.spent_challenges TO hawser_sign_in;
GRANT SELECT, INSERT, UPDATE ON sign_in.accounts TO hawser_sign_in;
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in.sign_ins TO hawser_sign_in;

-- The key that calls of a signed-in member are made with. It has no secret, so nobody can send it. Schedules,
-- webhooks and exposures that the member creates act with it.
-- A sign-in from before `sign_ins_from` does not reach the organization: the member's role has changed since.
ALTER TABLE memberships ADD COLUMN sign_in_key uuid, ADD COLUMN sign_ins_from timestamptz;
ALTER TABLE api_keys ALTER COLUMN secret_hash DROP NOT NULL;

-- Invitations let a person create an account, or let an account reach one more organization.
CREATE TABLE invitations (
  organization_id uuid NOT NULL REFERENCES organizations,
  invitation_id uuid NOT NULL DEFAULT hawser_new_id(),
  -- SHA-256 of the secret, which has 256 random bits.
  secret_hash bytea NOT NULL UNIQUE,
  email text COLLATE "C" NOT NULL,
  name text,
  -- Its name, of a built-in role or of one of the organization's own.
  role text NOT NULL,
  created_by jsonb NOT NULL,
  -- The invitation is good as long as this key may grant its role.
  creator_key_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT hawser_now(),
  expires_at timestamptz NOT NULL,
  accepted_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (organization_id, invitation_id)
);
CREATE INDEX invitations_by_end ON invitations (expires_at);
ALTER TABLE invitations ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON invitations TO hawser_app
  USING (organization_id = hawser_organization())
  WITH CHECK (organization_id = hawser_organization());
CREATE POLICY agent_reach ON invitations AS RESTRICTIVE TO hawser_app USING (hawser_agent_session() IS NULL);
CREATE POLICY every_tenant ON invitations TO hawser_system, hawser_sign_in USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON invitations TO hawser_app;
GRANT SELECT, DELETE ON invitations TO hawser_system;
GRANT SELECT, INSERT, UPDATE ON invitations TO hawser_sign_in;

-- What a sign-in reads to know its caller, and what the acceptance of an invitation writes.
CREATE POLICY every_tenant_sign_in ON organizations TO hawser_sign_in USING (true);
CREATE POLICY every_tenant_sign_in ON session_grants TO hawser_sign_in USING (true);
CREATE POLICY every_tenant_sign_in ON roles TO hawser_sign_in USING (true);
CREATE POLICY every_tenant_sign_in ON memberships TO hawser_sign_in USING (true) WITH CHECK (true);
CREATE POLICY every_tenant_sign_in ON api_keys TO hawser_sign_in USING (true) WITH CHECK (true);
CREATE POLICY every_tenant_sign_in ON audit_entries TO hawser_sign_in USING (true) WITH CHECK (true);
GRANT SELECT ON organizations, roles, session_grants, users TO hawser_sign_in;
GRANT SELECT, INSERT, UPDATE (sign_in_key) ON memberships TO hawser_sign_in;
GRANT SELECT, INSERT ON api_keys TO hawser_sign_in;
GRANT INSERT ON audit_entries TO hawser_sign_in;
GRANT EXECUTE ON FUNCTION hawser_user_for_email TO hawser_sign_in;

-- The sign-in of an entry's caller; null if a key called.
ALTER TABLE audit_entries ADD COLUMN sign_in_id uuid;

-- What the actions of a signed-in person may see and end of that person's sign-ins.
CREATE FUNCTION sign_in.sign_ins_of(person uuid)
  RETURNS TABLE (sign_in_id uuid, way text, device text, created_at timestamptz, last_used_at timestamptz,
                 expires_at timestamptz)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  SELECT s.sign_in_id, s.way, s.device, s.created_at, s.last_used_at, s.expires_at
    FROM sign_in.sign_ins s
   WHERE s.user_id = person AND s.ended_at IS NULL AND s.expires_at > hawser_now()
$$;
CREATE FUNCTION sign_in.end_sign_in(person uuid, ended uuid) RETURNS SETOF uuid
  LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
  UPDATE sign_in.sign_ins SET ended_at = coalesce(ended_at, hawser_now())
   WHERE user_id = person AND sign_in_id = ended
  RETURNING sign_in_id
$$;

-- A person whose role changes, or gets other permissions, signs in again, so that a cookie that somebody has stolen
-- gains no right. Only this organization's sign-ins end.
CREATE FUNCTION hawser_end_sign_ins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sign_ins_from := hawser_now();
  RETURN NEW;
END $$;
CREATE TRIGGER sign_ins_end BEFORE UPDATE OF role, own_role ON memberships FOR EACH ROW
  WHEN ((OLD.role, OLD.own_role) IS DISTINCT FROM (NEW.role, NEW.own_role))
  EXECUTE FUNCTION hawser_end_sign_ins();
CREATE FUNCTION hawser_end_sign_ins_with_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE memberships SET sign_ins_from = hawser_now()
   WHERE organization_id = NEW.organization_id AND own_role = NEW.name;
  RETURN NULL;
END $$;
CREATE TRIGGER sign_ins_end AFTER UPDATE OF permissions ON roles FOR EACH ROW
  WHEN (OLD.permissions IS DISTINCT FROM NEW.permissions)
  EXECUTE FUNCTION hawser_end_sign_ins_with_role();

REVOKE EXECUTE ON FUNCTION sign_in.sign_ins_of, sign_in.end_sign_in FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sign_in.sign_ins_of, sign_in.end_sign_in TO hawser_app;
